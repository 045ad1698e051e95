/* liar_run [--seconds N] [--seed N] [--masters N]
 *
 * Real masters, the last of them behind a liar (tests/lib/liar.h); a real pawld; clients that
 * acquire, extend and release by HTTP. Now and then the liar says something else than what its
 * Redis answered. Held are: pawld lives, each answer is JSON of a known status, the other masters
 * go on granting, and memory does not grow.
 *
 * Exit status: 0 all held; 1 something did not, and is told; 2 bad options. */
#include "fence/protocol/decimal.h"
#include "tests/lib/case.h"
#include "tests/lib/http.h"
#include "tests/lib/liar.h"
#include "tests/lib/pawl.h"
#include "tests/lib/process.h"
#include "tests/lib/wait.h"
#include "tests/sim/world/rng.h"
#include "tests/system/usage.h"

#include <argp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LIES_PERMILLE = 30, /* share of the answers */
    RESOURCES = 4,
    TTL_MS = 2000,
    WARM_UP_MS = 5000, /* until memory is what it is to be compared with */
    GROWTH_MAX_KB = 96 * 1024,
    SILENCE_MAX_MS = 5000, /* without any grant */
    SOME_BYTES_MAX = 64,
    WEEK_S = 604800,
};

static struct options {
    unsigned seconds;
    uint64_t seed;
    unsigned masters;
} options = {30, 1, 3};

static struct {
    struct sim_rng rng;     /* the liar's thread alone draws from it */
    _Atomic uint64_t heard; /* written by the liar's thread, read by the clients' */
    _Atomic uint64_t told;
} lies;

static uint32_t below(uint32_t bound)
{
    return sim_rng_below(&lies.rng, bound);
}

#define TEXT(text)                                                                                 \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }

static const struct text {
    const char *bytes;
    size_t len;
} made_up[] = {
    TEXT("+OK\r\n"),
    TEXT("+\r\n"),
    TEXT("-\r\n"),
    TEXT("-ERR \x9b\x31mred \x80\x9f\x00\xff\r\n"),
    TEXT("-LOADING Redis is loading the dataset in memory\r\n"),
    TEXT("-NOSCRIPT No matching script\r\n"),
    TEXT("-PAWLGONE Its marker is gone\r\n"),
    TEXT("-PAWLFORGOT \x1b[2J\r\n"),
    TEXT("-PAWLVIEW 9000000000000000,9000000000000000,9000000000000000\r\n"),
    TEXT("-PAWLVIEW 9000000000000000,9000000000000000,9000000000000000,9000000000000000,"
         "9000000000000000\r\n"),
    TEXT("-PAWLVIEW 1,2\r\n"),
    TEXT("-PAWLVIEW 99999999999999999999,-1,x\r\n"),
    TEXT("-READONLY You can't write against a read only replica.\r\n"),
    TEXT(":0\r\n"),
    TEXT(":1\r\n"),
    TEXT(":-9223372036854775808\r\n"),
    TEXT(":9223372036854775807\r\n"),
    TEXT(":99999999999999999999999\r\n"),
    TEXT("$-1\r\n"),
    TEXT("$-2\r\n"),
    TEXT("$0\r\n\r\n"),
    TEXT("$5\r\nhello\r\n"),
    TEXT("$2147483647\r\n"),
    TEXT("$9223372036854775807\r\n"),
    TEXT("*-1\r\n"),
    TEXT("*-2\r\n"),
    TEXT("*0\r\n"),
    TEXT("*1\r\n:-3\r\n"),
    TEXT("*1\r\n$-1\r\n"),
    TEXT("*1\r\n*2\r\n:9223372036854775807\r\n$9\r\nx.y:1:1::\x9b\r\n"),
    TEXT("*1\r\n*3\r\n:1\r\n:9223372036854775807\r\n:0\r\n"),
    TEXT("*2147483647\r\n"),
    TEXT("*2\r\n*2147483647\r\n"),
    TEXT("*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n"),
    TEXT("*3\r\n$7\r\nmessage\r\n$10\r\npawl:freed\r\n$3\r\na:b\r\n"),
    TEXT("*3\r\n$11\r\nunsubscribe\r\n$10\r\npawl:freed\r\n:0\r\n"),
    TEXT("*2\r\n$11\r\nunsubscribe\r\n$10\r\npawl:freed\r\n"),
    TEXT("*1\r\n$7\r\nmessage\r\n"),
    TEXT("*3\r\n:1\r\n:2\r\n:3\r\n"),
    TEXT(">2\r\n+push\r\n+x\r\n"),
    TEXT("%1\r\n+a\r\n+b\r\n"),
    TEXT("_\r\n"),
    TEXT("HTTP/1.1 200 OK\r\n\r\n"),
    TEXT("\x00\x01\x02"),
    TEXT("\r\n"),
};

static void replace(struct liar_lie *lie)
{
    const struct text *text = &made_up[below(sizeof(made_up) / sizeof(made_up[0]))];
    memcpy(lie->bytes, text->bytes, text->len);
    lie->len = text->len;
}

static void prepend(struct liar_lie *lie)
{
    const struct text *text = &made_up[below(sizeof(made_up) / sizeof(made_up[0]))];
    memmove(lie->bytes + text->len, lie->bytes, lie->len);
    memcpy(lie->bytes, text->bytes, text->len);
    lie->len += text->len;
}

static void append(struct liar_lie *lie)
{
    const struct text *text = &made_up[below(sizeof(made_up) / sizeof(made_up[0]))];
    memcpy(lie->bytes + lie->len, text->bytes, text->len);
    lie->len += text->len;
}

static void say_twice(struct liar_lie *lie)
{
    if (2 * lie->len > LIAR_SAYS_MAX)
        return;
    memcpy(lie->bytes + lie->len, lie->bytes, lie->len);
    lie->len *= 2;
}

static void cut_off(struct liar_lie *lie)
{
    lie->len = below((uint32_t)lie->len);
    lie->hang_up = below(2) == 0;
}

static void change_bytes(struct liar_lie *lie)
{
    for (uint32_t changes = 1 + below(8); changes > 0 && lie->len > 0; changes--)
        lie->bytes[below((uint32_t)lie->len)] = (char)below(256);
}

/* Numbers stay numbers, and become others. One does not: tokens that are used up are no lie to
 * survive, but the end of a counter. So digits are changed within what they are. */
static void change_digits(struct liar_lie *lie)
{
    for (uint32_t tries = 1 + below(SOME_BYTES_MAX); tries > 0 && lie->len > 0; tries--) {
        char *byte = &lie->bytes[below((uint32_t)lie->len)];
        if (*byte >= '0' && *byte <= '9')
            *byte = (char)('0' + below(10));
    }
}

static void say_for_ever(struct liar_lie *lie)
{
    static const char *const begins[] = {
        "+", "-ERR ", ":1", "$1", "*1", "$2147483647\r\n", "*2\r\n$99999999\r\n"};
    const char *begin = begins[below(sizeof(begins) / sizeof(begins[0]))];
    size_t len = strlen(begin);
    memcpy(lie->bytes, begin, len);
    memset(lie->bytes + len, (int)('0' + below(10)), LIAR_SAYS_MAX / 16);
    lie->len = len + LIAR_SAYS_MAX / 16;
    lie->endless = true;
}

static void tell(void *unused, const struct liar_heard *heard, struct liar_lie *lie)
{
    static void (*const kinds[])(struct liar_lie *) = {
        replace,   replace, replace,      prepend,       append,
        say_twice, cut_off, change_bytes, change_digits, say_for_ever,
    };
    lies.heard++;
    if (!sim_rng_chance(&lies.rng, LIES_PERMILLE) || lie->len > LIAR_SAYS_MAX / 2)
        return;
    lies.told++;
    uint32_t kind = below((uint32_t)(sizeof(kinds) / sizeof(kinds[0])) + 2);
    if (kind < sizeof(kinds) / sizeof(kinds[0]))
        kinds[kind](lie);
    else if (kind % 2 == 0)
        lie->delay_ms = below(100);
    else
        lie->piece = 1 + below(7);
}

static struct {
    uint64_t asked;
    uint64_t granted;
    uint64_t last_grant_ms;
} clients;

static bool is_known(int status)
{
    static const int known[] = {200, 201, 400, 404, 409, 410, 422, 423, 429, 503, 504};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (known[i] == status)
            return true;
    return false;
}

/* The response, which is whole, JSON, and of a known status. */
static void ask(struct pawl_service service, const char *method, const char *path,
                const char *headers, const char *body, struct http_response *response)
{
    http_once(service.port, method, path, headers, body, response);
    clients.asked++;
    if (!process_alive(service.process))
        fail_msg("pawld ended, after %" PRIu64 " lies", (uint64_t)lies.told);
    if (!is_known(response->status) || (!response->json && response->body_len > 0))
        fail_msg("%s %s: %d %s", method, path, response->status, response->body);
}

static void extend_and_release(struct pawl_service service, const char *path,
                               const struct http_response *granted)
{
    char body[64];
    char headers[256];
    struct http_response response;
    snprintf(body, sizeof(body), "{\"ttl_ms\":%d}", TTL_MS);
    snprintf(headers, sizeof(headers), "Lock-Id: %s\r\nFencing-Token: %" PRId64 "\r\n",
             http_string(granted, "lock_id"), http_integer(granted, "token"));
    ask(service, "PATCH", path, headers, body, &response);
    http_response_fini(&response);
    snprintf(headers, sizeof(headers), "Lock-Id: %s\r\n", http_string(granted, "lock_id"));
    ask(service, "DELETE", path, headers, NULL, &response);
    http_response_fini(&response);
}

static void take_turn(struct pawl_service service, uint64_t turn)
{
    char path[64];
    char body[64];
    struct http_response response;
    snprintf(path, sizeof(path), "/v1/locks/liar%u", (unsigned)(turn % RESOURCES));
    snprintf(body, sizeof(body), "{\"ttl_ms\":%d}", TTL_MS);
    ask(service, "POST", path, NULL, body, &response);
    if (response.status == 201) {
        clients.granted++;
        clients.last_grant_ms = wait_now_ms();
        extend_and_release(service, path, &response);
    }
    http_response_fini(&response);
    static const char *const looks[] = {"/v1/fleet", "/readyz", "/v1/locks/liar0", "/v1/locks"};
    if (turn % 8 == 0) {
        ask(service, "GET", looks[turn / 8 % 4], NULL, NULL, &response);
        http_response_fini(&response);
    }
    if (wait_now_ms() - clients.last_grant_ms > SILENCE_MAX_MS)
        fail_msg("nothing was granted for %d ms, while %u of %u masters say the truth",
                 SILENCE_MAX_MS, options.masters - 1, options.masters);
}

static void run(void **state)
{
    char url[64];
    unsigned last = options.masters - 1;
    sim_rng_init(&lies.rng, options.seed, 0);
    struct redis_fleet *fleet = redis_fleet_new(options.masters, REDIS_VOLATILE);
    pawl_init_new(fleet);
    struct liar *liar = liar_start(fleet->master[last].port, tell, NULL);
    snprintf(url, sizeof(url), "redis://127.0.0.1:%u", (unsigned)liar_port(liar));
    redis_fleet_readdress(fleet, last, url);
    const struct pawl_service service = pawld_start(fleet, NULL);
    pawl_wait_ready(service);

    const uint64_t began_ms = wait_now_ms();
    const uint64_t end_ms = began_ms + (uint64_t)options.seconds * 1000;
    long before_kb = 0;
    clients.last_grant_ms = began_ms;
    for (uint64_t turn = 0; wait_now_ms() < end_ms; turn++) {
        take_turn(service, turn);
        if (before_kb == 0 && wait_now_ms() > began_ms + WARM_UP_MS)
            before_kb = usage_memory_kb(service.process, "VmRSS:");
    }
    long after_kb = usage_memory_kb(service.process, "VmRSS:");
    printf("%u s, seed %" PRIu64 ": %" PRIu64 " answers of the liar, %" PRIu64 " of them lies; "
           "%" PRIu64 " requests, %" PRIu64 " grants; memory %ld kB, then %ld kB\n",
           options.seconds, options.seed, (uint64_t)lies.heard, (uint64_t)lies.told, clients.asked,
           clients.granted, before_kb, after_kb);
    liar_stop(liar);
    assert_true(lies.told > 0 && clients.granted > 0);
    assert_true(before_kb == 0 || after_kb - before_kb < GROWTH_MAX_KB);
    assert_int_equal(process_stop(service.process), 0);
    redis_fleet_free(fleet);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    uint64_t value = 0;
    if (key == ARGP_KEY_ARG || (arg && !fence_decimal_read(arg, strlen(arg), WEEK_S, &value)))
        argp_error(state, "a number is wanted, not: %s", arg);
    else if (key == 's')
        options.seconds = (unsigned)value;
    else if (key == 'r')
        options.seed = value;
    else if (key == 'm' && (value == 3 || value == 5))
        options.masters = (unsigned)value;
    else if (key == 'm')
        argp_error(state, "--masters is 3 or 5");
    else
        return ARGP_ERR_UNKNOWN;
    return 0;
}

int main(int argc, char **argv)
{
    static const struct argp_option known[] = {
        {"seconds", 's', "N", 0, "how long (30)", 0},
        {"seed", 'r', "N", 0, "of the lies (1)", 0},
        {"masters", 'm', "N", 0, "3 or 5 (3)", 0},
        {0},
    };
    static const struct argp argp = {known, parse, NULL, "Has one master lie to pawld.", 0, 0, 0};
    const struct CMUnitTest cases[] = {cmocka_unit_test(run)};
    argp_err_exit_status = 2;
    /* Freed memory is kept for a while by the address sanitizer: that is no growth. */
    setenv("ASAN_OPTIONS", "quarantine_size_mb=16", 0);
    argp_parse(&argp, argc, argv, 0, 0, NULL);
    return cmocka_run_group_tests_name("liar", cases, NULL, NULL) == 0 ? 0 : 1;
}
