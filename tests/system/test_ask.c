/* Which masters a call asks: a majority, the same for each name or by its slot, and others where
 * that does not settle it; or all. */
#include "fence/base/set.h"
#include "fence/protocol/name.h"
#include "tests/lib/case.h"
#include "tests/lib/process.h"
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
    TTL_MAX_MS = 60000,
    NAMES = 20,
};

static uint16_t port;

static void serve(void)
{
    port = fleet_init_and_serve(TTL_MAX_MS).port;
}

/* Some name, another one for each @k. */
static const char *name_of(unsigned k)
{
    static char name[32];
    snprintf(name, sizeof(name), "ask/%u", k);
    return name;
}

/* A master that is late has another one asked for it. So this is tried with more than one name. */
static void expect_most_on(uint32_t (*majority_of)(const char *name))
{
    unsigned there = 0;
    for (unsigned k = 0; k < NAMES; k++) {
        call_grant(port, name_of(k), NULL);
        copies_wait(name_of(k), MAJORITY, MAJORITY);
        there += copies_at(name_of(k)) == majority_of(name_of(k));
    }
    assert_in_range(there, NAMES / 2, NAMES);
}

static uint32_t first_majority(const char *name)
{
    return fence_set_below(MAJORITY);
}

static void locks_stand_on_the_first_majority(void **state)
{
    serve();
    expect_most_on(first_majority);
}

static uint32_t majority_of_slot(const char *name)
{
    return copies_ring(name, MAJORITY);
}

static void locks_stand_on_majorities_by_their_slots_where_they_spread(void **state)
{
    fleet_init(TTL_MAX_MS);
    port = pawld_start(fleet, (const char *const[]){FLEET_PROBE, "--ask", "spread", NULL}).port;
    masters_wait_all_active(port, MASTERS);
    expect_most_on(majority_of_slot);
}

static void lock_stands_on_all_where_all_are_asked(void **state)
{
    fleet_init(TTL_MAX_MS);
    port = fleet_serve_all().port;
    for (unsigned k = 0; k < NAMES; k++) {
        struct grant grant = call_grant(port, name_of(k), NULL);
        copies_wait(name_of(k), MASTERS, MASTERS);
        call_give_back(port, name_of(k), &grant);
        copies_wait(name_of(k), 0, 0);
    }
    assert_int_equal(http_integer(call(port, "GET", "/v1/fleet", NULL, NULL), "hedges"), 0);
}

/* Until it is found silent, another one is asked for it; then it is not asked first any more. */
static void stopped_master_has_another_one_asked(void **state)
{
    serve();
    redis_fleet_pause(fleet, 0);
    for (unsigned k = 0; k < NAMES; k++) {
        struct grant grant = call_grant(port, name_of(k), NULL);
        call_give_back(port, name_of(k), &grant);
    }
    const struct http_response *response = call(port, "GET", "/v1/fleet", NULL, NULL);
    assert_in_range(http_integer(response, "hedges"), 1, INT64_MAX);
}

static void replace(unsigned i)
{
    redis_fleet_kill(fleet, i);
    masters_wait(port, i, "down", "unreachable");
    redis_fleet_restart(fleet, i, false);
    masters_wait_within(port, i, "active", NULL, MASTERS_WAIT_LONG_MS);
}

/* The lock came to masters that its acquire had not asked. */
static void release_of_a_lock_that_was_joined_leaves_it_nowhere(void **state)
{
    serve();
    struct grant grant = call_grant(port, "joined", NULL);
    const uint32_t before = copies_at("joined");
    const unsigned i = copies_master("joined", 1);
    redis_fleet_kill(fleet, i);
    call_keep(port, "joined", &grant, NULL);
    copies_wait("joined", MAJORITY, MASTERS);
    assert_int_not_equal(copies_at("joined"), before);
    redis_fleet_restart(fleet, i, true);
    masters_wait_within(port, i, "active", NULL, MASTERS_WAIT_LONG_MS);
    call_give_back(port, "joined", &grant);
    copies_wait("joined", 0, 0);
    assert_false(http_boolean(call_inspect(port, "joined"), "held"));
}

/* A master that its acquire did not ask forgets, and imports the lock. */
static void have_imported(const char *resource)
{
    const unsigned i = fence_set_first(fence_set_below(MASTERS) & ~copies_at(resource));
    replace(i);
    assert_true(fence_set_has(copies_at(resource), i));
}

static void release_of_a_lock_that_was_imported_leaves_it_nowhere(void **state)
{
    serve();
    struct grant grant = call_grant(port, "imported", NULL);
    have_imported("imported");
    call_give_back(port, "imported", &grant);
    copies_wait("imported", 0, 0);
}

/* It was not there when the master rejoined. */
static void release_through_a_later_server_leaves_an_imported_lock_nowhere(void **state)
{
    serve();
    struct grant grant = call_grant(port, "imported", NULL);
    have_imported("imported");
    const uint16_t later = fleet_serve().port;
    masters_wait_all_active(later, MASTERS); /* one that it cannot ask keeps its copy */
    call_give_back(later, "imported", &grant);
    copies_wait("imported", 0, 0);
}

static void token_that_nobody_was_given_raises_no_counter(void **state)
{
    serve();
    struct grant grant = call_grant(port, "claimed", NULL);
    struct grant claimed = grant;
    claimed.token = FENCE_TOKEN_MAX;
    (void)call_extend(port, "claimed", &claimed, NULL);
    fleet_command(copies_master("claimed", 0), "DEL pawl:lock:claimed");
    (void)call_extend(port, "claimed", &claimed, NULL); /* which may not bring it to others */
    call_release(port, "claimed", &grant);
    (void)call_extend(port, "claimed", &claimed, NULL);
    copies_wait("claimed", 0, 0);
    for (unsigned i = 0; i < MASTERS; i++) {
        redisReply *reply = redis_fleet_command(fleet, i, "HGET pawl:fleet %u",
                                                fence_slot("claimed", strlen("claimed")));
        assert_true(!reply->str || strtoll(reply->str, NULL, 10) < 100);
        freeReplyObject(reply);
    }
    assert_in_range(call_grant(port, "claimed", NULL).token, grant.token + 1, 100);
}

static void lock_whose_master_was_replaced_is_kept_by_extending_it(void **state)
{
    serve();
    for (unsigned k = 0; k < MAJORITY; k++) {
        struct grant grant = call_grant(port, name_of(k), NULL);
        replace(copies_master(name_of(k), k));
        assert_int_not_equal(call_acquire(port, name_of(k), NULL)->status, 201);
        call_keep(port, name_of(k), &grant, NULL);
        copies_wait(name_of(k), MAJORITY, MASTERS);
        EXPECT_PROBLEM(call_acquire(port, name_of(k), NULL), 409, "held", 3);
        call_expect_held(port, name_of(k), &grant);
        call_give_back(port, name_of(k), &grant);
        copies_wait(name_of(k), 0, 0);
    }
}

#define ASK_CASE(name) FLEET_CASE(name, MASTERS, REDIS_VOLATILE)

static const struct CMUnitTest cases[] = {
    ASK_CASE(locks_stand_on_the_first_majority),
    ASK_CASE(locks_stand_on_majorities_by_their_slots_where_they_spread),
    ASK_CASE(lock_stands_on_all_where_all_are_asked),
    ASK_CASE(stopped_master_has_another_one_asked),
    FLEET_CASE(release_of_a_lock_that_was_joined_leaves_it_nowhere, MASTERS, REDIS_ALWAYS),
    ASK_CASE(release_of_a_lock_that_was_imported_leaves_it_nowhere),
    ASK_CASE(release_through_a_later_server_leaves_an_imported_lock_nowhere),
    ASK_CASE(token_that_nobody_was_given_raises_no_counter),
    ASK_CASE(lock_whose_master_was_replaced_is_kept_by_extending_it),
};

CASE_MAIN(cases, NULL, NULL)
