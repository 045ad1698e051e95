#include "server/loop/metrics.h"
#include "tests/lib/case.h"

#include <stdio.h>
#include <stdlib.h>

#define LOCK_ID "AAAAAAAAAAAAAAAAAAAAAAAAAAA"
#define OTHER   "BBBBBBBBBBBBBBBBBBBBBBBBBBB"

static struct server_metrics *metrics;

static int setup(void **state)
{
    metrics = server_metrics_new(2);
    return metrics ? 0 : -1;
}

static int teardown(void **state)
{
    free(metrics);
    return 0;
}

static const struct api_worker_metrics *of(void)
{
    return &metrics[0].counters.of;
}

static uint64_t total(const struct api_histogram *histogram)
{
    uint64_t count = 0;
    for (unsigned i = 0; i < API_BUCKETS_MAX; i++)
        count += api_counter_get(&histogram->bucket[i]);
    return count;
}

static struct fence_answer answer_of(enum fence_call_kind kind)
{
    return (struct fence_answer){.kind = kind, .lock_id = LOCK_ID, .resource = "a", .token = 34};
}

static void grants_count_by_their_path(void **state)
{
    struct fence_answer answer = answer_of(FENCE_CALL_ACQUIRE);
    server_metrics_answered(metrics, &answer, 1);
    answer.acquire.confirmed = true;
    server_metrics_answered(metrics, &answer, 1);
    answer.acquire.found = true;
    server_metrics_answered(metrics, &answer, 1);
    answer.error = FENCE_EHELD;
    server_metrics_answered(metrics, &answer, 1);
    for (unsigned path = 0; path < API_GRANT_PATHS; path++)
        assert_int_equal(api_counter_get(&of()->grants[path]), 1);
    assert_int_equal(total(&of()->acquire), 3);
}

static void acquire_that_waited_is_a_wait_to_its_end(void **state)
{
    struct fence_answer answer = answer_of(FENCE_CALL_ACQUIRE);
    answer.waited = true;
    answer.served_us = 1500000;
    server_metrics_answered(metrics, &answer, 1);
    answer.error = FENCE_EWAITTIMEOUT;
    server_metrics_answered(metrics, &answer, 1);
    assert_int_equal(total(&of()->wait), 2);
    assert_int_equal(api_counter_get(&of()->wait.sum), 3000000);
    assert_int_equal(total(&of()->acquire), 0);
}

static void extensions_count_by_what_they_came_to(void **state)
{
    struct fence_answer answer = answer_of(FENCE_CALL_EXTEND);
    server_metrics_answered(metrics, &answer, 1);
    answer.extend.anew = true;
    server_metrics_answered(metrics, &answer, 1);
    static const int errors[] = {FENCE_ELOCKLOST, FENCE_EEXHAUSTED, FENCE_ENOQUORUM};
    for (unsigned i = 0; i < 3; i++) {
        answer.error = errors[i];
        server_metrics_answered(metrics, &answer, 1);
    }
    assert_int_equal(api_counter_get(&of()->extensions), 1);
    assert_int_equal(api_counter_get(&of()->regrants), 1);
    assert_int_equal(api_counter_get(&of()->lost), 1);
    assert_int_equal(api_counter_get(&of()->exhausted), 1);
}

static void hold_lasts_from_the_grant_to_its_release(void **state)
{
    const struct fence_answer grant = answer_of(FENCE_CALL_ACQUIRE);
    struct fence_answer release = answer_of(FENCE_CALL_RELEASE);
    release.release.released = true;
    server_metrics_answered(metrics, &grant, 1000);
    server_metrics_answered(metrics, &release, 251000);
    assert_int_equal(total(&of()->hold), 1);
    assert_int_equal(api_counter_get(&of()->hold.sum), 250000);
    server_metrics_answered(metrics, &release, 252000); /* a repeated one is no hold */
    assert_int_equal(total(&of()->hold), 1);
}

static void release_of_an_unknown_grant_is_no_hold(void **state)
{
    const struct fence_answer grant = answer_of(FENCE_CALL_ACQUIRE);
    struct fence_answer release = answer_of(FENCE_CALL_RELEASE);
    server_metrics_answered(metrics, &grant, 1000);
    release.release.released = true;
    release.lock_id = OTHER;
    server_metrics_answered(metrics, &release, 2000);
    release.lock_id = LOCK_ID;
    release.resource = "b";
    server_metrics_answered(metrics, &release, 2000);
    release.resource = "a";
    release.release.released = false; /* it was no longer held */
    server_metrics_answered(metrics, &release, 2000);
    assert_int_equal(total(&of()->hold), 0);
}

static void each_of_several_is_held_by_itself(void **state)
{
    static struct fence_group group = {.count = 2, .locks = {{.resource = "a"}, {.resource = "b"}}};
    struct fence_answer grant = answer_of(FENCE_CALL_ACQUIRE);
    struct fence_answer release = answer_of(FENCE_CALL_RELEASE);
    grant.acquire.group = &group;
    release.release.released = true;
    server_metrics_answered(metrics, &grant, 1000);
    server_metrics_answered(metrics, &release, 2000);
    release.resource = "b";
    server_metrics_answered(metrics, &release, 3000);
    assert_int_equal(total(&of()->hold), 2);
    assert_int_equal(api_counter_get(&of()->hold.sum), 3000);
}

/* More grants than there are places: the latest are known, and memory does not grow. */
static void table_of_holds_keeps_the_latest(void **state)
{
    struct server_holds *holds = &metrics[0].holds;
    char resource[16];
    uint64_t held_us = 0;
    unsigned known = 0;
    for (unsigned i = 0; i < 4 * SERVER_HOLDS; i++) {
        (void)snprintf(resource, sizeof(resource), "r%u", i);
        server_holds_granted(holds, LOCK_ID, resource, i);
    }
    assert_true(server_holds_ended(holds, LOCK_ID, resource, UINT64_C(4) * SERVER_HOLDS, &held_us));
    assert_int_equal(held_us, 1);
    for (unsigned i = 0; i < 4 * SERVER_HOLDS; i++) {
        (void)snprintf(resource, sizeof(resource), "r%u", i);
        known += server_holds_ended(holds, LOCK_ID, resource, 0, &held_us);
    }
    assert_in_range(known, SERVER_HOLDS / 2, SERVER_HOLDS);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest cases[] = {
    CASE(grants_count_by_their_path),
    CASE(acquire_that_waited_is_a_wait_to_its_end),
    CASE(extensions_count_by_what_they_came_to),
    CASE(hold_lasts_from_the_grant_to_its_release),
    CASE(release_of_an_unknown_grant_is_no_hold),
    CASE(each_of_several_is_held_by_itself),
    CASE(table_of_holds_keeps_the_latest),
};

CASE_MAIN(cases, NULL, NULL)
