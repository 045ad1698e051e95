/* Two extensions of one grant over two services, and a request to lock that arrives a lease late.
 *
 * The grant stands on the first two masters. Just before it runs out the first master hangs. The
 * one service asks the third master, which has no lock. Then the late request brings the lock
 * there. The other service finds it on the second and the third, and extends. The lease on the
 * first master runs out, and the one service hears of two masters without the lock. If it takes
 * that for lost, and drops what is left, two hold at once. */
#include "tests/chaos/proxy.h"
#include "tests/lib/case.h"
#include "tests/lib/wait.h"
#include "tests/system/calls.h"
#include "tests/system/fleet.h"
#include "tests/system/masters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MASTERS = 3,
    TTL_MS = 600,  /* a master's deadline is 50 ms, and never more than a tenth of this */
    HANGS_MS = 33, /* before the lease runs out, the first master hangs */
    STEP_MS = 5,   /* between what comes one after the other */
    WAKES_MS = 4,  /* after the lease ran out, the first master wakes */
    ROUNDS = 5,    /* as a busy machine does not keep such times */
};

#define LEASE "{\"ttl_ms\":600}"

static struct proxy *proxy;
static uint16_t asks, extends, takes; /* three services */

static int teardown(void **state)
{
    const int status = fleet_teardown(state);
    proxy_free(proxy);
    proxy = NULL;
    return status;
}

/* The service that takes the lock reaches the third master through a link that can be held. */
static void serve(void)
{
    fleet_init(TTL_MS);
    asks = fleet_serve().port;
    extends = fleet_serve().port;
    proxy = proxy_new();
    char url[64];
    snprintf(url, sizeof(url), "redis://127.0.0.1:%u",
             (unsigned)proxy_port(proxy, proxy_add(proxy, fleet->master[2].port)));
    redis_fleet_readdress(fleet, 2, url);
    takes = fleet_serve().port;
}

static void wait_active(void)
{
    masters_wait_all_active(asks, MASTERS);
    masters_wait_all_active(extends, MASTERS);
    masters_wait_all_active(takes, MASTERS);
}

static void send_extend(struct http *http, const char *name, const struct grant *grant)
{
    char *request = NULL;
    const int len = asprintf(&request,
                             "PATCH /v1/locks/%s HTTP/1.1\r\nHost: localhost\r\nLock-Id: %s\r\n"
                             "Fencing-Token: %lld\r\nContent-Length: %zu\r\n\r\n%s",
                             name, grant->lock_id, (long long)grant->token, strlen(LEASE), LEASE);
    assert_true(len > 0);
    assert_true(http_send(http, request, (size_t)len));
    free(request);
}

static int status_of(struct http *http, int64_t *ret_validity_ms)
{
    struct http_response response;
    http_receive(http, false, &response);
    const int status = response.status;
    *ret_validity_ms = status == 200 ? http_integer(&response, "validity_ms") : 0;
    http_response_fini(&response);
    http_close(http);
    return status;
}

static void sleep_until(uint64_t at_ms)
{
    const uint64_t now_ms = wait_now_ms();
    if (now_ms < at_ms)
        wait_ms((unsigned)(at_ms - now_ms));
}

static void play(const char *name)
{
    wait_active();
    struct http *first = http_connect(asks), *second = http_connect(extends);
    proxy_hold(proxy, 0, PROXY_THERE);
    wait_ms(STEP_MS);
    const struct grant grant = call_grant(takes, name, LEASE);
    const uint64_t ends_ms = wait_now_ms() + TTL_MS; /* or a moment before */

    sleep_until(ends_ms - HANGS_MS);
    redis_fleet_pause(fleet, 0);
    send_extend(first, name, &grant);
    wait_ms(STEP_MS);
    proxy_hold(proxy, 0, 0); /* the late request arrives */
    wait_ms(STEP_MS);
    const uint64_t extended_ms = wait_now_ms();
    send_extend(second, name, &grant);
    sleep_until(ends_ms + WAKES_MS);
    redis_fleet_resume(fleet, 0);

    int64_t validity_ms, none;
    const int status = status_of(second, &validity_ms), other = status_of(first, &none);
    const struct http_response *contender = call_acquire_once(takes, name, LEASE);
    if (status == 200 && contender->status == 201 &&
        wait_now_ms() < extended_ms + (uint64_t)validity_ms)
        fail_msg(
            "two holders at once: token %lld was granted beside token %lld, which was extended "
            "for %lld ms; the other extension heard %d",
            (long long)http_integer(contender, "token"), (long long)grant.token,
            (long long)validity_ms, other);
}

static void extension_that_misses_the_lock_drops_nothing_that_another_one_extended(void **state)
{
    serve();
    for (int round = 0; round < ROUNDS; round++) {
        char name[32];
        snprintf(name, sizeof(name), "late/%d", round);
        play(name);
    }
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test_prestate_setup_teardown(
        extension_that_misses_the_lock_drops_nothing_that_another_one_extended, fleet_setup,
        teardown, &((struct fleet_wanted){MASTERS, REDIS_ALWAYS})),
};

CASE_MAIN(cases, NULL, NULL)
