#include "tests/chaos/put_back_load.h"

#include "tests/chaos/call.h"
#include "tests/lib/case.h"
#include "tests/lib/wait.h"

#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    CLIENTS = 3,
    NAMES_EACH = 2,
    NAMES = CLIENTS * NAMES_EACH,
    CALL_MS = 3000,
    PATIENCE_MS = 10000,
    NAME_BYTES = 24,
    PATH_BYTES = 64,
    HEADERS_BYTES = 256,
};

#define SHORT_TTL "{\"ttl_ms\": 200}"
#define LONG_TTL  "{\"ttl_ms\": 300000}"

/* For all processes. */
static struct answered {
    _Atomic uint64_t grants;
    _Atomic unsigned repeats;
    _Atomic int64_t highest[NAMES];
    _Atomic bool held;
} * answered;

static pid_t clients[CLIENTS];

static int acquire(uint16_t port, const char *name, const char *body, struct call_answer *answer)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof(path), "/v1/locks/%.*s", NAME_BYTES, name);
    const struct call_request request = {
        .port = port, .method = "POST", .path = path, .body = body, .timeout_ms = CALL_MS};
    call(&request, answer);
    return answer->status;
}

static void release(uint16_t port, const char *name, const struct call_answer *grant)
{
    char path[PATH_BYTES], headers[HEADERS_BYTES];
    struct call_answer answer;
    const char *lock_id = call_string(grant, "lock_id");
    snprintf(path, sizeof(path), "/v1/locks/%.*s", NAME_BYTES, name);
    snprintf(headers, sizeof(headers), "Lock-Id: %s\r\nFencing-Token: %" PRId64 "\r\n",
             lock_id ? lock_id : "", call_integer(grant, "token"));
    const struct call_request request = {
        .port = port, .method = "DELETE", .path = path, .headers = headers, .timeout_ms = CALL_MS};
    call(&request, &answer);
    call_answer_fini(&answer);
}

/* One grant of name @k; false: there was none. */
static bool take(uint16_t port, unsigned k)
{
    char name[NAME_BYTES];
    struct call_answer answer;
    snprintf(name, sizeof(name), "name-%u", k);
    bool granted = acquire(port, name, SHORT_TTL, &answer) == 201;
    if (granted) {
        int64_t token = call_integer(&answer, "token");
        if (token <= answered->highest[k]) {
            print_message("%s: token %" PRId64 " after %" PRId64 "\n", name, token,
                          (int64_t)answered->highest[k]);
            answered->repeats++;
        }
        answered->highest[k] = token;
        answered->grants++;
        release(port, name, &answer);
    }
    call_answer_fini(&answer);
    return granted;
}

static void be_client(uint16_t port, unsigned client)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (unsigned i = 0;; i++)
        if (!take(port, client * NAMES_EACH + i % NAMES_EACH))
            wait_ms(5);
}

void load_begin(uint16_t port)
{
    if (!answered)
        answered = mmap(NULL, sizeof(*answered), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                        -1, 0);
    assert_ptr_not_equal(answered, MAP_FAILED);
    memset((void *)answered, 0, sizeof(*answered));
    for (unsigned i = 0; i < CLIENTS; i++) {
        clients[i] = fork();
        assert_true(clients[i] >= 0);
        if (clients[i] == 0)
            be_client(port, i);
    }
}

void load_end(void)
{
    for (unsigned i = 0; i < CLIENTS; i++) {
        if (clients[i] > 0 && kill(clients[i], SIGKILL) == 0)
            (void)waitpid(clients[i], NULL, 0);
        clients[i] = 0;
    }
}

uint64_t load_grants(void)
{
    return answered->grants;
}

unsigned load_repeats(void)
{
    return answered->repeats;
}

void load_hold(uint16_t port)
{
    struct call_answer answer;
    answered->held = acquire(port, "held", LONG_TTL, &answer) == 201;
    call_answer_fini(&answer);
}

/* A busy disk may answer 503, which says nothing. */
static bool is_held(uint16_t port)
{
    struct call_answer answer;
    const uint64_t end_ms = wait_now_ms() + PATIENCE_MS;
    int status = 0;
    while (status != 409 && status != 201) {
        assert_true(wait_now_ms() < end_ms);
        status = acquire(port, "held", SHORT_TTL, &answer);
        call_answer_fini(&answer);
    }
    if (status == 201)
        print_message("the lock that is held was granted again\n");
    return status == 409;
}

unsigned load_check(uint16_t port)
{
    const unsigned before = answered->repeats;
    const uint64_t end_ms = wait_now_ms() + PATIENCE_MS;
    for (unsigned k = 0; k < NAMES; k++) {
        while (!take(port, k)) {
            assert_true(wait_now_ms() < end_ms);
            wait_ms(10);
        }
    }
    return answered->repeats - before + (answered->held && !is_held(port));
}
