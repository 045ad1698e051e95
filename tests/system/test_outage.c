/* Masters that die, freeze and come back, under a service that goes on as long as it may. */
#include "tests/lib/case.h"
#include "tests/lib/clock.h"
#include "tests/lib/wait.h"
#include "tests/system/calls.h"
#include "tests/system/copies.h"
#include "tests/system/fleet.h"
#include "tests/system/masters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MASTERS = 5,
    MAJORITY = 3,
    SAMPLES = 21,
    NOTICED_MS = 4000, /* from what happened to what /readyz says */
    MASTER_DEADLINE_MS = FENCE_MASTER_DEADLINE_US / 1000,
};

static uint16_t port;

static int start(void **state)
{
    fleet_start(MASTERS, REDIS_ALWAYS);
    pawl_init_new(fleet);
    port = fleet_serve().port;
    masters_wait_all_active(port, MASTERS);
    return 0;
}

static void kill_masters(unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++)
        redis_fleet_kill(fleet, i);
}

static void restart_masters(unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++)
        redis_fleet_restart(fleet, i, true);
}

static double now_ms(void)
{
    return (double)clock_us() / 1e3;
}

static int by_size(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static double median(double samples[SAMPLES])
{
    qsort(samples, SAMPLES, sizeof(samples[0]), by_size);
    return samples[SAMPLES / 2];
}

/* The median time of acquiring a free lock, which has to succeed. */
static double acquire_ms(const char *prefix)
{
    double samples[SAMPLES];
    for (int i = 0; i < SAMPLES; i++) {
        char resource[64];
        snprintf(resource, sizeof(resource), "%s/%d", prefix, i);
        const double began_ms = now_ms();
        struct grant grant = call_grant(port, resource, NULL);
        samples[i] = now_ms() - began_ms;
        call_give_back(port, resource, &grant);
    }
    return median(samples);
}

/* The least that a lock stands on. */
static struct grant grant_at_majority(const char *resource, const char *body)
{
    struct grant grant = call_grant(port, resource, body);
    copies_wait(resource, MAJORITY, MASTERS);
    return grant;
}

/* A master that is killed before it has the release keeps the lock. This waits for all. */
static struct grant given_back_everywhere(const char *resource)
{
    struct grant grant = call_grant(port, resource, NULL);
    call_give_back(port, resource, &grant);
    copies_wait(resource, 0, 0);
    return grant;
}

/* The lock that is held stands on one of those that are left, at least. It is no other caller's,
 * and its holder brings it to the others. */
static void expect_all_goes_on(const unsigned killed[2])
{
    struct grant held = grant_at_majority("held", NULL);
    for (unsigned k = 0; k < 2; k++)
        redis_fleet_kill(fleet, killed[k]);
    assert_int_not_equal(call_acquire(port, "held", NULL)->status, 201);
    call_expect_held(port, "held", &held);
    call_keep(port, "held", &held, NULL);
    copies_wait("held", MAJORITY, MAJORITY);
    EXPECT_PROBLEM(call_acquire(port, "held", NULL), 409, "held", 3);
    call_expect_held(port, "held", &held);
    call_give_back(port, "held", &held);
    assert_false(http_boolean(call_inspect(port, "held"), "held"));

    struct grant next = call_grant(port, "held", NULL);
    assert_true(next.token > held.token);
    expect_masters(call_keep(port, "held", &next, NULL), MAJORITY, MASTERS);
    masters_wait(port, killed[0], "down", "unreachable");
    assert_int_equal(masters_active(port), 3);
    assert_int_equal(call(port, "GET", "/readyz", NULL, NULL)->status, 200);
}

static void all_goes_on_with_two_of_five_killed(void **state)
{
    expect_all_goes_on((const unsigned[]){3, 4});
}

static void all_goes_on_with_two_killed_that_have_the_lock(void **state)
{
    expect_all_goes_on((const unsigned[]){0, 1});
}

static void any_two_of_five_may_be_down_in_turn(void **state)
{
    int64_t token = 0;
    for (unsigned i = 0; i < MASTERS; i++) {
        const unsigned other = (i + 2) % MASTERS;
        redis_fleet_kill(fleet, i);
        redis_fleet_kill(fleet, other);
        struct grant grant = call_grant(port, "turns", NULL);
        assert_true(grant.token > token);
        token = grant.token;
        call_give_back(port, "turns", &grant);
        redis_fleet_restart(fleet, i, true);
        redis_fleet_restart(fleet, other, true);
        masters_wait_all_active(port, MASTERS);
    }
}

static void frozen_master_delays_nobody_and_is_taken_back(void **state)
{
    redis_fleet_pause(fleet, 2);
    const double one_ms = acquire_ms("frozen/one");
    redis_fleet_pause(fleet, 4);
    const double two_ms = acquire_ms("frozen/two");
    print_message("median acquire: %.1f ms with one of five frozen, %.1f ms with two\n", one_ms,
                  two_ms);
    assert_true(one_ms < MASTER_DEADLINE_MS); /* which it takes at least where it is waited for */
    assert_true(two_ms < MASTER_DEADLINE_MS);
    masters_wait(port, 2, "down", "silent");

    redis_fleet_resume(fleet, 2);
    redis_fleet_resume(fleet, 4);
    masters_wait_all_active(port, MASTERS);
}

struct outage {
    unsigned from, to; /* the masters in [from, to) are gone */
};

/* Refused as no-quorum, naming what became of each master. A busy machine may have a living master
 * named as silent for a moment. */
static bool is_named(void *arg)
{
    const struct outage *outage = arg;
    const struct http_response *response = call_acquire_once(port, "refused", NULL);
    EXPECT_PROBLEM(response, 503, "no-quorum", 2);
    EXPECT_HEADER(response, "Retry-After", "1");
    const json_t *parts = json_object_get(response->json, "masters");
    assert_int_equal(json_array_size(parts), MASTERS);
    for (unsigned i = 0; i < MASTERS; i++) {
        const char *part = json_string_value(json_array_get(parts, i));
        const bool gone = strcmp(part, "down") == 0 || strcmp(part, "timeout") == 0;
        if (gone != (i >= outage->from && i < outage->to)) {
            print_message("master %u is \"%s\" in %s\n", i + 1, part, response->body);
            return false;
        }
    }
    return true;
}

static void expect_no_quorum(unsigned from, unsigned to)
{
    struct outage outage = {from, to};
    assert_true(wait_until(is_named, &outage, 3000));
}

/* The time until @resource is refused for want of a majority. */
static double no_quorum_ms(const char *resource, const char *body)
{
    const double began_ms = now_ms();
    EXPECT_PROBLEM(call_acquire_once(port, resource, body), 503, "no-quorum", 2);
    return now_ms() - began_ms;
}

static double refusal_ms(void)
{
    double samples[SAMPLES];
    for (int i = 0; i < SAMPLES; i++)
        samples[i] = no_quorum_ms("refused", NULL);
    return median(samples);
}

struct recovery {
    const char *resource;
    const struct grant *before;
};

/* Granted again, with a later token. */
static bool is_granted(void *arg)
{
    struct recovery *recovery = arg;
    const struct http_response *response = call_acquire_once(port, recovery->resource, NULL);
    if (response->status != 201) {
        EXPECT_PROBLEM(response, 503, "no-quorum", 2);
        return false;
    }
    assert_true(grant_of(response).token > recovery->before->token);
    return true;
}

static void three_of_five_killed_is_no_quorum_until_they_return(void **state)
{
    struct grant held = grant_at_majority("held", "{\"ttl_ms\": 60000}");
    struct grant before = given_back_everywhere("before");
    kill_masters(1, 4);
    expect_no_quorum(1, 4);
    const double ms = refusal_ms();
    print_message("median refusal with three of five killed: %.1f ms\n", ms);
    assert_true(ms < 2.0 * MASTER_DEADLINE_MS);
    EXPECT_PROBLEM(call_extend(port, "held", &held, NULL), 503, "no-quorum", 2);
    EXPECT_PROBLEM(call_release(port, "held", &held), 503, "no-quorum", 2);
    EXPECT_PROBLEM(call_inspect(port, "held"), 503, "no-quorum", 2);
    EXPECT_PROBLEM(call(port, "GET", "/readyz", NULL, NULL), 503, "not-ready", 0);
    assert_int_equal(call(port, "GET", "/livez", NULL, NULL)->status, 200);

    restart_masters(1, 4);
    struct recovery recovery = {"before", &before};
    const double began_ms = now_ms();
    assert_true(wait_until(is_granted, &recovery, 3000));
    print_message("granting again %.0f ms after their return\n", now_ms() - began_ms);
}

static void release_during_an_outage_may_be_repeated(void **state)
{
    struct grant held = grant_at_majority("again", "{\"ttl_ms\": 60000}");
    kill_masters(0, 3);
    EXPECT_PROBLEM(call_release(port, "again", &held), 503, "no-quorum", 2);
    restart_masters(0, 3);
    masters_wait_all_active(port, MASTERS);
    EXPECT_JSON(call_release(port, "again", &held), 200, 2); /* the first one did a part of it */
    copies_wait("again", 0, 0);
    call_grant(port, "again", NULL);
}

static void extend_during_an_outage_releases_nothing(void **state)
{
    struct grant held = grant_at_majority("kept", "{\"ttl_ms\": 60000}");
    kill_masters(0, 3);
    EXPECT_PROBLEM(call_extend(port, "kept", &held, NULL), 503, "no-quorum", 2);
    restart_masters(0, 3);
    masters_wait_all_active(port, MASTERS);
    EXPECT_PROBLEM(call_acquire(port, "kept", NULL), 409, "held", 3);
    call_keep(port, "kept", &held, NULL);
    call_give_back(port, "kept", &held);
}

static void three_of_five_frozen_is_no_quorum_within_twice_the_deadline(void **state)
{
    struct grant before = given_back_everywhere("before");
    for (unsigned i = 2; i < MASTERS; i++)
        redis_fleet_pause(fleet, i);
    const double first_ms = no_quorum_ms("first", NULL);
    print_message("first refusal with three of five frozen: %.1f ms\n", first_ms);
    expect_no_quorum(2, MASTERS);
    assert_true(refusal_ms() < 2.0 * MASTER_DEADLINE_MS);

    for (unsigned i = 2; i < MASTERS; i++)
        redis_fleet_resume(fleet, i);
    struct recovery recovery = {"before", &before};
    assert_true(wait_until(is_granted, &recovery, 3000));
}

static void what_a_failed_attempt_left_on_frozen_masters_is_taken_back(void **state)
{
    for (unsigned i = 0; i < 3; i++)
        redis_fleet_pause(fleet, i);
    no_quorum_ms("remains", "{\"ttl_ms\": 300000}");
    for (unsigned i = 0; i < 3;
         i++) /* the time while the request waits in the socket, and is carried out */
        redis_fleet_resume(fleet, i);
    masters_wait_all_active(port, MASTERS);
    struct grant grant = call_grant(port, "remains", "{\"wait_ms\": 2000}");
    call_give_back(port, "remains", &grant);
}

static bool is_not_ready(void *unused)
{
    return call(port, "GET", "/readyz", NULL, NULL)->status == 503;
}

static void masters_that_take_no_writes_do_not_vote_until_they_do(void **state)
{
    struct grant held = grant_at_majority("held", "{\"ttl_ms\": 60000}");
    for (unsigned i = 0; i < 3; i++)
        fleet_command(i, "CONFIG SET min-replicas-to-write 1");
    EXPECT_PROBLEM(call_acquire_once(port, "wanted", NULL), 503, "no-quorum", 2);
    for (unsigned i = 0; i < 3; i++)
        masters_wait(port, i, "down", "unwilling");
    assert_true(is_not_ready(NULL));
    wait_ms(500); /* it does not rejoin by handshakes either */
    assert_int_equal(masters_active(port), 2);

    for (unsigned i = 0; i < 3; i++)
        fleet_command(i, "CONFIG SET min-replicas-to-write 0");
    masters_wait_all_active(port, MASTERS);
    call_keep(port, "held", &held, NULL);
    call_grant(port, "wanted", NULL);
}

/* A held connection has to end, to make room. */
static void locks_are_released_while_memory_is_out_on_a_majority(void **state)
{
    struct grant held = grant_at_majority("held", "{\"ttl_ms\": 60000}");
    for (unsigned i = 0; i < 3; i++)
        fleet_command(i, "CONFIG SET maxmemory 1");
    EXPECT_PROBLEM(call_acquire_once(port, "wanted", NULL), 503, "no-quorum", 2);
    assert_int_equal(http_integer(call_inspect(port, "held"), "token"), held.token);
    assert_true(http_boolean(call_release(port, "held", &held), "released"));
    assert_int_equal(masters_active(port), MASTERS);

    for (unsigned i = 0; i < 3; i++)
        fleet_command(i, "CONFIG SET maxmemory 0");
    call_grant(port, "wanted", NULL);
}

static void a_silent_majority_is_not_ready_though_nobody_asks(void **state)
{
    for (unsigned i = 2; i < MASTERS; i++)
        redis_fleet_pause(fleet, i);
    assert_true(wait_until(is_not_ready, NULL, NOTICED_MS));
    for (unsigned i = 2; i < MASTERS; i++)
        redis_fleet_resume(fleet, i);
    masters_wait_all_active(port, MASTERS);
}

static void lock_survives_the_restart_of_all_masters(void **state)
{
    struct grant held = grant_at_majority("durable", "{\"ttl_ms\": 60000, \"owner\": \"me\"}");
    kill_masters(0, MASTERS);
    restart_masters(0, MASTERS);
    masters_wait_all_active(port, MASTERS);
    const struct http_response *response = call_acquire(port, "durable", NULL);
    EXPECT_PROBLEM(response, 409, "held", 3);
    assert_string_equal(http_string(response, "owner"), "me");
    call_keep(port, "durable", &held, NULL);
    call_give_back(port, "durable", &held);
    assert_true(call_grant(port, "durable", NULL).token > held.token);
}

static void lock_survives_the_restart_of_the_service(void **state)
{
    struct grant held = grant_at_majority("service", "{\"ttl_ms\": 60000}");
    struct pawl_service second = fleet_serve();
    EXPECT_PROBLEM(call_acquire(second.port, "service", NULL), 409, "held", 3);
    EXPECT_JSON(call_extend(second.port, "service", &held, NULL), 200, 6);
    call_give_back(second.port, "service", &held);
}

#define OUTAGE_CASE(name) cmocka_unit_test_setup_teardown(name, start, fleet_teardown)

static const struct CMUnitTest cases[] = {
    OUTAGE_CASE(all_goes_on_with_two_of_five_killed),
    OUTAGE_CASE(all_goes_on_with_two_killed_that_have_the_lock),
    OUTAGE_CASE(any_two_of_five_may_be_down_in_turn),
    OUTAGE_CASE(frozen_master_delays_nobody_and_is_taken_back),
    OUTAGE_CASE(three_of_five_killed_is_no_quorum_until_they_return),
    OUTAGE_CASE(release_during_an_outage_may_be_repeated),
    OUTAGE_CASE(extend_during_an_outage_releases_nothing),
    OUTAGE_CASE(three_of_five_frozen_is_no_quorum_within_twice_the_deadline),
    OUTAGE_CASE(what_a_failed_attempt_left_on_frozen_masters_is_taken_back),
    OUTAGE_CASE(masters_that_take_no_writes_do_not_vote_until_they_do),
    OUTAGE_CASE(locks_are_released_while_memory_is_out_on_a_majority),
    OUTAGE_CASE(a_silent_majority_is_not_ready_though_nobody_asks),
    OUTAGE_CASE(lock_survives_the_restart_of_all_masters),
    OUTAGE_CASE(lock_survives_the_restart_of_the_service),
};

CASE_MAIN(cases, NULL, NULL)
