/* A master, or somebody on the way to it, that says what no Redis says. */
#include "tests/lib/case.h"
#include "tests/lib/liar.h"
#include "tests/lib/process.h"
#include "tests/lib/wait.h"
#include "tests/system/calls.h"
#include "tests/system/fleet.h"
#include "tests/system/masters.h"
#include "tests/system/usage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MASTERS = 3,
    LIES = 2,            /* which of them is behind the liar */
    READ_MAX = 32 << 20, /* bytes that pawld may read of one reply, with what sockets hold */
    GROWTH_MAX_KB = 64 * 1024,
    FAILURE_MAX = 512,
};

static struct liar *liar;
static struct pawl_service service;

struct lie {
    const char *bytes;
    size_t len;
    enum {
        INSTEAD,
        BEFORE,
        BEHIND,
        ENDLESS, /* instead, and then the same letter for ever */
    } where;
    const char *asked; /* only where this is in the question; NULL: anywhere */
    bool listener;     /* on the connection for what is published, instead of the other one */
};

#define LIE(where, text)                                                                           \
    {                                                                                              \
        text, sizeof(text) - 1, where, NULL, false                                                 \
    }
#define LIE_TO(asked, text)                                                                        \
    {                                                                                              \
        text, sizeof(text) - 1, INSTEAD, asked, false                                              \
    }
#define LIE_PUBLISHED(text)                                                                        \
    {                                                                                              \
        text, sizeof(text) - 1, INSTEAD, NULL, true                                                \
    }
#define LIE_ENDLESS(text)                                                                          \
    {                                                                                              \
        text, sizeof(text) - 1, ENDLESS, NULL, false                                               \
    }
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static void tell(void *context, const struct liar_heard *heard, struct liar_lie *told)
{
    const struct lie *lie = context;
    if (heard->listener != lie->listener || (lie->asked && !strstr(heard->asked, lie->asked)))
        return;
    size_t before = lie->where == BEHIND ? heard->len : 0;
    memcpy(told->bytes + before, lie->bytes, lie->len);
    told->len = before + lie->len;
    if (lie->where == BEFORE) {
        memcpy(told->bytes + lie->len, heard->bytes, heard->len);
        told->len += heard->len;
    }
    if (lie->where != ENDLESS)
        return;
    memset(told->bytes + lie->len, 'a', LIAR_SAYS_MAX / 2);
    told->len += LIAR_SAYS_MAX / 2;
    told->endless = true;
}

static int start(void **state)
{
    char url[64];
    fleet_start(MASTERS, REDIS_VOLATILE);
    pawl_init_new(fleet);
    liar = liar_start(fleet->master[LIES].port, NULL, NULL);
    snprintf(url, sizeof(url), "redis://127.0.0.1:%u", (unsigned)liar_port(liar));
    redis_fleet_readdress(fleet, LIES, url);
    service = fleet_serve_early();
    masters_wait_all_active(service.port, MASTERS);
    return 0;
}

/* The address sanitizer keeps 256 MB of freed memory; here the memory of pawld is measured. */
static int start_measured(void **state)
{
    setenv("ASAN_OPTIONS", "quarantine_size_mb=1", 1);
    int error = start(state);
    unsetenv("ASAN_OPTIONS");
    return error;
}

static int stop(void **state)
{
    liar_stop(liar);
    liar = NULL;
    return fleet_teardown(state);
}

static void expect_alive(const struct lie *lie)
{
    if (!process_alive(service.process))
        fail_msg("pawld ended when it heard %.40s", lie->bytes);
}

static void take_and_give_back(void)
{
    const struct grant grant = call_grant(service.port, "orders", NULL);
    call_give_back(service.port, "orders", &grant);
}

/* Reports whether @words are in what is told of the last failure of the master; @ret_failure has it
 * all. */
static bool failed_with(const char *words, char ret_failure[static FAILURE_MAX])
{
    const json_t *masters =
        json_object_get(call(service.port, "GET", "/v1/fleet", NULL, NULL)->json, "masters");
    const json_t *failure = json_object_get(json_array_get(masters, LIES), "last_failure");
    snprintf(ret_failure, FAILURE_MAX, "%s", failure ? json_string_value(failure) : "");
    return strstr(ret_failure, words) != NULL;
}

static void tell_until_it_failed_with(const char *words, const struct lie *lie, liar_fn *tells)
{
    char failure[FAILURE_MAX] = "";
    liar_tells(liar, tells, (void *)lie);
    for (uint64_t end_ms = wait_now_ms() + MASTERS_WAIT_LONG_MS; !failed_with(words, failure);) {
        expect_alive(lie);
        take_and_give_back();
        if (lie->listener)
            fleet_command(LIES, "PUBLISH pawl:freed somebody:orders");
        if (wait_now_ms() > end_ms)
            fail_msg("of %.40s it is said: %s", lie->bytes, failure);
    }
}

static void hang_up(void *unused, const struct liar_heard *heard, struct liar_lie *told)
{
    told->len = 0;
    told->hang_up = true;
}

/* The master is out, for @words, and all others serve; it is back with the truth. */
static void expect_dropped(const struct lie *lie, const char *words)
{
    char before[FAILURE_MAX];
    if (failed_with(words, before))
        tell_until_it_failed_with("closed", lie, hang_up);
    tell_until_it_failed_with(words, lie, tell);
    take_and_give_back();
    liar_tells(liar, NULL, NULL);
    masters_wait_within(service.port, LIES, "active", NULL, MASTERS_WAIT_LONG_MS);
    expect_alive(lie);
}

static void a_reply_that_nobody_asked_for_ends_its_connection_alone(void **state)
{
    static const struct lie lies[] = {
        LIE(BEHIND, "+OK\r\n"),
        LIE(BEHIND, ":1\r\n"),
        LIE(BEHIND, "$-1\r\n"),
        LIE(BEHIND, "*-1\r\n"),
        LIE(BEHIND, "*0\r\n"),
        LIE(BEHIND, "-ERR max number of clients reached\r\n"),
        LIE(BEHIND, "*3\r\n$7\r\nmessage\r\n$10\r\npawl:freed\r\n$1\r\nx\r\n"),
        LIE(BEHIND, "*2\r\n*1\r\n:1\r\n+\x9b\x31\x33mred\r\n"),
    };
    for (size_t i = 0; i < COUNT_OF(lies); i++)
        expect_dropped(&lies[i], "no request waits");
}

static void a_reply_of_no_known_type_ends_its_connection_alone(void **state)
{
    static const struct lie lies[] = {
        LIE(INSTEAD, ">3\r\n+message\r\n+a\r\n+b\r\n"),
        LIE(INSTEAD, "%1\r\n+a\r\n+b\r\n"),
        LIE(INSTEAD, "\x9b\x00\x01HTTP/1.1 400 Bad Request\r\n\r\n"),
        LIE(INSTEAD, "*2\r\n:1\r\n?\r\n"),
    };
    for (size_t i = 0; i < COUNT_OF(lies); i++)
        expect_dropped(&lies[i], "Protocol error");
}

static void a_reply_of_another_shape_does_no_harm(void **state)
{
    static const struct lie lies[] = {
        LIE(INSTEAD, "*0\r\n"),
        LIE(INSTEAD, "*-1\r\n"),
        LIE(INSTEAD, "$-1\r\n"),
        LIE(INSTEAD, "$0\r\n\r\n"),
        LIE(INSTEAD, "+\r\n"),
        LIE(INSTEAD, ":-9223372036854775808\r\n"),
        LIE(INSTEAD, "*1\r\n*1\r\n*1\r\n$-1\r\n"),
        LIE(INSTEAD, "*2\r\n:9223372036854775807\r\n$-1\r\n"),
        LIE(INSTEAD, "-\r\n"),
        LIE(INSTEAD, "-ERR \x9b\x31mred\x00 and \xff\xfe more\r\n"),
        LIE(BEFORE, "+OK\r\n"),
        LIE(BEFORE, "*1\r\n*3\r\n:1\r\n:9223372036854775807\r\n:9007199254740991\r\n"),
        LIE_TO("HMGET",
               "*17\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1"
               "\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n"),
        LIE_TO("INFO", "$5\r\nhello\r\n"),
        LIE_TO("CONFIG", "*3\r\n:1\r\n*1\r\n:2\r\n$-1\r\n"),
        LIE_TO("TIME", "*2\r\n$3\r\n-12\r\n$2\r\nxx\r\n"),
    };
    for (size_t i = 0; i < COUNT_OF(lies); i++) {
        liar_tells(liar, tell, (void *)&lies[i]);
        for (unsigned round = 0; round < 3; round++) {
            take_and_give_back();
            wait_ms(20);
            expect_alive(&lies[i]);
        }
    }
    liar_tells(liar, NULL, NULL);
    masters_wait_within(service.port, LIES, "active", NULL, MASTERS_WAIT_LONG_MS);
}

/* The question whether a lock would be taken, which comes with each probe. */
#define OF_NO_LOCK "\r\n$1\r\n1\r\n"

static void an_answer_of_another_shape_to_a_probe_ends_its_connection_alone(void **state)
{
    static const struct lie lies[] = {
        LIE_TO(OF_NO_LOCK, "*0\r\n"),
        LIE_TO(OF_NO_LOCK, "$-1\r\n"),
        LIE_TO(OF_NO_LOCK, ":2\r\n"),
        LIE_TO(OF_NO_LOCK, "$0\r\n\r\n"),
    };
    for (size_t i = 0; i < COUNT_OF(lies); i++) {
        liar_tells(liar, tell, (void *)&lies[i]);
        masters_wait(service.port, LIES, "down", "error");
        expect_alive(&lies[i]);
        liar_tells(liar, NULL, NULL);
        masters_wait_within(service.port, LIES, "active", NULL, MASTERS_WAIT_LONG_MS);
    }
    take_and_give_back();
}

static void a_message_of_another_shape_ends_its_connection_alone(void **state)
{
    static const struct lie lies[] = {
        LIE_PUBLISHED("*1\r\n$7\r\nmessage\r\n"),
        LIE_PUBLISHED("*0\r\n"),
        LIE_PUBLISHED("*3\r\n:1\r\n:2\r\n:3\r\n"),
        LIE_PUBLISHED("*3\r\n$7\r\nmessage\r\n:2\r\n:3\r\n"),
        LIE_PUBLISHED("*3\r\n$7\r\nmessage\r\n$-1\r\n$-1\r\n"),
        LIE_PUBLISHED("*2\r\n$11\r\nunsubscribe\r\n$10\r\npawl:freed\r\n"),
        LIE_PUBLISHED("*3\r\n$11\r\nunsubscribe\r\n$10\r\npawl:freed\r\n$1\r\n0\r\n"),
        LIE_PUBLISHED("*3\r\n$11\r\nunsubscribe\r\n$10\r\npawl:freed\r\n:0\r\n"),
        LIE_PUBLISHED("*3\r\n$12\r\npunsubscribe\r\n$10\r\npawl:freed\r\n:0\r\n"),
        LIE_PUBLISHED("*3\r\n$7\r\nmessage\r\n$5\r\nother\r\n$1\r\nx\r\n"),
        LIE_PUBLISHED("*3\r\n$7\r\nmessage\r\n$10\r\npawl:freed\r\n*1\r\n:1\r\n"),
        LIE_PUBLISHED("+OK\r\n"),
        LIE_PUBLISHED(":1\r\n"),
        LIE_PUBLISHED("*2147483647\r\n"),
    };
    for (size_t i = 0; i < COUNT_OF(lies); i++)
        expect_dropped(&lies[i], "published");
}

/* A word without a second master is not believed of those that are there. */
static void incarnations_that_one_master_makes_up_put_nobody_out(void **state)
{
    static const struct lie lies[] = {
        LIE_TO("EVALSHA", "-PAWLVIEW 9000000000000000,9000000000000000,9000000000000000\r\n"),
        LIE_TO("EVALSHA", "-PAWLVIEW 9000000000000000,4294967296,4294967296\r\n"),
    };
    for (size_t i = 0; i < COUNT_OF(lies); i++) {
        liar_tells(liar, tell, (void *)&lies[i]);
        for (unsigned round = 0; round < 10; round++)
            take_and_give_back();
        liar_tells(liar, NULL, NULL);
        for (unsigned m = 0; m < MASTERS; m++)
            masters_wait_within(service.port, m, "active", NULL, MASTERS_WAIT_LONG_MS);
        const struct grant grant = call_grant(service.port, "orders", NULL);
        call_give_back(service.port, "orders", &grant);
    }
}

static void a_reply_of_enormous_size_is_not_begun(void **state)
{
    static const struct lie lies[] = {
        LIE(INSTEAD, "*2147483647\r\n"),
        LIE(INSTEAD, "*1\r\n*1\r\n*2147483647\r\n"),
        LIE(INSTEAD, "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n"),
        LIE_ENDLESS("$2147483647\r\n"),
        LIE_ENDLESS("*2\r\n$536870912\r\n"),
        LIE_ENDLESS("+"),
        LIE_ENDLESS("-ERR "),
        LIE_ENDLESS(":1"),
        LIE_ENDLESS("$1"),
        LIE_ENDLESS("*1"),
    };
    const long before_kb = usage_memory_kb(service.process, "VmHWM:");
    for (size_t i = 0; i < COUNT_OF(lies); i++) {
        expect_dropped(&lies[i], "the limit is");
        if (liar_longest(liar) > READ_MAX)
            fail_msg("pawld read %zu bytes of %.20s", liar_longest(liar), lies[i].bytes);
    }
    assert_in_range(usage_memory_kb(service.process, "VmHWM:") - before_kb, 0, GROWTH_MAX_KB);
}

/* A connection of pawld init reads nothing but replies, one for each question. */
static void init_refuses_a_master_that_says_what_no_redis_says(void **state)
{
    static const struct lie lies[] = {
        LIE(BEHIND, "+OK\r\n"),
        LIE(INSTEAD, "*2147483647\r\n"),
        LIE(INSTEAD, "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n"),
        LIE_ENDLESS("$2147483647\r\n"),
        LIE_ENDLESS("+"),
        LIE_TO("SCRIPT", "*-1\r\n"),
        LIE(INSTEAD, ":1\r\n"),
        LIE(INSTEAD, "-ERR \x9b\x31mred\r\n"),
    };
    for (unsigned i = 0; i < MASTERS; i++)
        fleet_command(i, "FLUSHALL");
    for (size_t i = 0; i < COUNT_OF(lies); i++) {
        liar_tells(liar, tell, (void *)&lies[i]);
        assert_int_equal(pawl_init(fleet, (const char *const[]){"--new", NULL}), 1);
        assert_true(liar_longest(liar) < READ_MAX);
    }
    liar_tells(liar, NULL, NULL);
    pawl_init_new(fleet);
}

static void init_refuses_counters_that_no_redis_has(void **state)
{
    static const struct lie lies[] = {
        LIE_TO("TOKEN_MAX", "*2\r\n:1\r\n:2\r\n"),
        LIE_TO("TOKEN_MAX", "$1\r\nx\r\n"),
        LIE_TO("TOKEN_MAX", "$17\r\n90071992547409920\r\n"),
        LIE_TO("TOKEN_MAX", "$-1\r\n"),
    };
    process_stop(service.process);
    fleet_command(0, "FLUSHALL");
    fleet_command(1, "FLUSHALL");
    for (size_t i = 0; i < COUNT_OF(lies); i++) {
        liar_tells(liar, tell, (void *)&lies[i]);
        assert_int_equal(pawl_init(fleet, (const char *const[]){"--token-floor", "9", NULL}), 1);
    }
}

#define LIAR_CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)

static const struct CMUnitTest cases[] = {
    LIAR_CASE(a_reply_that_nobody_asked_for_ends_its_connection_alone),
    LIAR_CASE(a_reply_of_no_known_type_ends_its_connection_alone),
    LIAR_CASE(a_reply_of_another_shape_does_no_harm),
    LIAR_CASE(an_answer_of_another_shape_to_a_probe_ends_its_connection_alone),
    LIAR_CASE(a_message_of_another_shape_ends_its_connection_alone),
    LIAR_CASE(incarnations_that_one_master_makes_up_put_nobody_out),
    cmocka_unit_test_setup_teardown(a_reply_of_enormous_size_is_not_begun, start_measured, stop),
    LIAR_CASE(init_refuses_a_master_that_says_what_no_redis_says),
    LIAR_CASE(init_refuses_counters_that_no_redis_has),
};

CASE_MAIN(cases, NULL, NULL)
