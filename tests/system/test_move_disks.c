/* A fleet that was moved, and disks of before the move that return on masters which belong to the
 * old fleet and to the new fleet. */
#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/lib/wait.h"
#include "tests/system/calls.h"
#include "tests/system/fleet.h"
#include "tests/system/masters.h"
#include "tests/system/moving.h"

#include <stdio.h>
#include <string.h>

enum {
    ALL_MASTERS = 6,
    TRIES = 5,
    TRY_MS = 20,
    PATIENCE_MS = 2500, /* longer than a pawld waits for what other servers know */
};

/* The floor is far above what a move adds: tokens that go back are found. */
#define FAR_FLOOR "1000000000000"

struct story {
    struct moving_masters from;
    struct moving_masters to;
    uint32_t old_disks; /* a set: a majority of @from, but not all of its masters */
    bool new_serves;    /* a majority of @to has the data of @to */
    const char *options[3];
};

static const struct story more_masters = {{.n = 3}, {.n = 5}, 1U << 0 | 1U << 1, true, {NULL}};
static const struct story fewer_masters = {
    {.n = 5}, {.n = 3}, 1U << 2 | 1U << 3 | 1U << 4, true, {NULL}};
static const struct story shifted_masters = {
    {.n = 3}, {.first = 1, .n = 3}, 1U << 0 | 1U << 2, true, {NULL}};
static const struct story replaced_master = {
    {.n = 3}, {.n = 3, .last = 5}, 1U << 0 | 1U << 1, false, {NULL}};
static const struct story same_masters = {
    {.n = 3}, {.n = 3}, 1U << 0 | 1U << 1, false, {"--max-ttl-ms", "2000", NULL}};

static int64_t last_token;

static void expect_higher_token(uint16_t port)
{
    const struct grant grant = call_grant(port, "moved", NULL);
    call_give_back(port, "moved", &grant);
    if (grant.token <= last_token)
        fail_msg("token %lld after %lld", (long long)grant.token, (long long)last_token);
    last_token = grant.token;
}

/* The old fleet, which has granted tokens. Its pawld runs on. */
static struct pawl_service begin(const struct story *story, struct moving_kept *ret_kept)
{
    moving_init(&story->from, "1000");
    for (unsigned i = 0; i < story->from.n; i++)
        fleet_command(i, "HSET pawl:fleet floor " FAR_FLOOR);
    last_token = 0;
    const struct pawl_service service = moving_serve(&story->from);
    expect_higher_token(service.port);
    *ret_kept = moving_keep(story->from.n);
    expect_higher_token(service.port);
    return service;
}

static void move_and_use(const struct story *story)
{
    assert_int_equal(moving_run(&story->from, &story->to, story->options), 0);
    const struct pawl_service service = moving_serve(&story->to);
    expect_higher_token(service.port);
    assert_int_equal(process_stop(service.process), 0);
}

static void expect_nothing_granted(uint16_t port)
{
    for (unsigned i = 0; i < TRIES; i++, wait_ms(TRY_MS))
        assert_int_equal(call_acquire_once(port, "moved", NULL)->status, 503);
}

/* Each master with an old disk that has a place in the list of this pawld says why it has no vote.
 */
static void expect_moved(uint16_t port, const struct moving_masters *list, uint32_t old_disks)
{
    expect_nothing_granted(port);
    for (unsigned i = 0; i < list->n; i++)
        if ((old_disks & 1U << (list->first + i)) != 0)
            masters_wait_within(port, i, "refused", "moved", MASTERS_WAIT_LONG_MS);
}

static void expect_new_fleet(const struct story *story)
{
    const struct pawl_service service = moving_serve_early(&story->to);
    if (story->new_serves) {
        pawl_wait_ready(service);
        expect_higher_token(service.port);
    } else {
        expect_moved(service.port, &story->to, story->old_disks);
    }
    assert_int_equal(process_stop(service.process), 0);
}

/* A pawld of the old fleet starts before the disks return, and another after. Both know nothing of
 * the old fleet but what masters tell. */
static void expect_closed_for_good(const struct story *story, const struct moving_kept *kept)
{
    const struct pawl_service before = moving_serve_early(&story->from);
    moving_put_back(kept, story->old_disks);
    const struct pawl_service after = moving_serve_early(&story->from);
    wait_ms(PATIENCE_MS);
    expect_moved(after.port, &story->from, story->old_disks);
    expect_moved(before.port, &story->from, story->old_disks);
    expect_new_fleet(story);
    assert_int_equal(process_stop(before.process), 0);
    assert_int_equal(process_stop(after.process), 0);
}

static struct moving_kept begin_and_stop(const struct story *story)
{
    struct moving_kept kept;
    assert_int_equal(process_stop(begin(story, &kept).process), 0);
    return kept;
}

static void tell(const struct story *story)
{
    const struct moving_kept kept = begin_and_stop(story);
    move_and_use(story);
    expect_closed_for_good(story, &kept);
}

static void old_fleet_stays_closed_after_a_move_to_more_masters(void **state)
{
    tell(&more_masters);
}

static void old_fleet_stays_closed_after_a_move_to_fewer_masters(void **state)
{
    tell(&fewer_masters);
}

static void old_fleet_stays_closed_after_a_move_that_shifts_its_masters(void **state)
{
    tell(&shifted_masters);
}

/* The list of the new fleet has the old disks in their old places. Only a master that was never in
 * the old fleet knows better. */
static void old_fleet_stays_closed_after_a_move_that_replaces_one_master(void **state)
{
    tell(&replaced_master);
}

static void old_fleet_stays_closed_after_a_move_to_the_same_masters(void **state)
{
    tell(&same_masters);
}

/* It runs through the move, and is not restarted after. */
static void pawld_of_the_old_fleet_that_runs_on_grants_nothing(void **state)
{
    struct moving_kept kept;
    const struct pawl_service running = begin(&more_masters, &kept);
    move_and_use(&more_masters);
    moving_put_back(&kept, more_masters.old_disks);
    wait_ms(PATIENCE_MS);
    expect_moved(running.port, &more_masters.from, more_masters.old_disks);
    expect_new_fleet(&more_masters);
}

/* A master that was wiped since has it from its new fleet. */
static void master_that_rejoined_the_new_fleet_still_knows_of_the_old_one(void **state)
{
    const struct moving_kept kept = begin_and_stop(&more_masters);
    move_and_use(&more_masters);
    fleet_command(2, "FLUSHALL");
    const struct pawl_service service = moving_serve(&more_masters.to);
    masters_wait_within(service.port, 2, "active", NULL, MASTERS_WAIT_LONG_MS);
    assert_int_equal(process_stop(service.process), 0);
    expect_closed_for_good(&more_masters, &kept);
}

/* A second move goes back to the first list, and the disks are of before both. */
static void fleet_that_was_moved_there_and_back_knows_of_its_first(void **state)
{
    static const struct story back = {{.n = 5}, {.n = 3}, 0, false, {NULL}};
    static const struct story both = {{.n = 3}, {.n = 3}, 1U << 0 | 1U << 1, false, {NULL}};
    const struct moving_kept kept = begin_and_stop(&more_masters);
    move_and_use(&more_masters);
    move_and_use(&back);
    expect_closed_for_good(&both, &kept);
}

/* The operator wipes the masters with old disks, as the reason says. */
static void wiped_masters_rejoin_the_new_fleet(void **state)
{
    const struct moving_kept kept = begin_and_stop(&more_masters);
    move_and_use(&more_masters);
    moving_put_back(&kept, more_masters.old_disks);
    const struct pawl_service service = moving_serve(&more_masters.to);
    fleet_command(0, "FLUSHALL");
    fleet_command(1, "FLUSHALL");
    masters_wait_within(service.port, 0, "active", NULL, MASTERS_WAIT_LONG_MS);
    masters_wait_within(service.port, 1, "active", NULL, MASTERS_WAIT_LONG_MS);
    expect_higher_token(service.port);
}

/* No majority has the data of the new fleet, so that it needs a floor. The old fleet cannot go on.
 */
static void token_floor_does_not_revive_the_old_fleet(void **state)
{
    static const char *const floor[] = {"--token-floor", "2000000000000", NULL};
    const struct moving_kept kept = begin_and_stop(&same_masters);
    move_and_use(&same_masters);
    moving_put_back(&kept, same_masters.old_disks);
    assert_int_equal(moving_run_init(&same_masters.to, floor), 1);
    fleet_command(0, "FLUSHALL");
    fleet_command(1, "FLUSHALL");
    assert_int_equal(moving_run_init(&same_masters.to, floor), 0);
    last_token = 2000000000000;
    expect_higher_token(moving_serve(&same_masters.to).port);
}

#define DISKS_CASE(name) FLEET_CASE(name, ALL_MASTERS, REDIS_ALWAYS)

static const struct CMUnitTest cases[] = {
    DISKS_CASE(old_fleet_stays_closed_after_a_move_to_more_masters),
    DISKS_CASE(old_fleet_stays_closed_after_a_move_to_fewer_masters),
    DISKS_CASE(old_fleet_stays_closed_after_a_move_that_shifts_its_masters),
    DISKS_CASE(old_fleet_stays_closed_after_a_move_that_replaces_one_master),
    DISKS_CASE(old_fleet_stays_closed_after_a_move_to_the_same_masters),
    DISKS_CASE(pawld_of_the_old_fleet_that_runs_on_grants_nothing),
    DISKS_CASE(master_that_rejoined_the_new_fleet_still_knows_of_the_old_one),
    DISKS_CASE(fleet_that_was_moved_there_and_back_knows_of_its_first),
    DISKS_CASE(wiped_masters_rejoin_the_new_fleet),
    DISKS_CASE(token_floor_does_not_revive_the_old_fleet),
};

CASE_MAIN(cases, NULL, NULL)
