/* Masters that forget, under services that go on: taken back by themselves, and never before it is
 * safe. */
#include "storage/redis_master_look.h"
#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/lib/wait.h"
#include "tests/system/calls.h"
#include "tests/system/fleet.h"
#include "tests/system/masters.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MASTERS = 5,
    TTL_MAX_MS = 1500,           /* a master that forgot is out for so long */
    BACK_MS = TTL_MAX_MS + 5000, /* and is back by then */
    BACK_DURABLE_MS = 1000,      /* one that forgot nothing */
    TAKE_OVER_MS = 2 * BACK_MS,  /* one whose leader died: found out, then begun anew */
};

#define TTL "{\"ttl_ms\":1000}"

/* ---- clients that work on -------------------------------------------------------------------- */

/* One name, locked and given back over and over. */
struct client {
    uint16_t port;
    const char *resource;
    int64_t token; /* of the last grant; each must be higher */
};

static void work(struct client *client)
{
    struct grant grant = call_grant(client->port, client->resource, TTL);
    assert_true(grant.token > client->token);
    client->token = grant.token;
    call_give_back(client->port, client->resource, &grant);
}

/* Works until master @i votes again as @port sees it, and says how long that took. */
static uint64_t work_until_active(struct client *client, uint16_t port, unsigned i)
{
    const uint64_t began_ms = wait_now_ms();
    while (!masters_is(port, i, "active", NULL)) {
        work(client);
        assert_true(wait_now_ms() - began_ms < UINT64_C(2) * TAKE_OVER_MS);
    }
    return wait_now_ms() - began_ms;
}

/* With only master @i and two others left, tokens still go on: @i was told what it forgot. */
static void rely_on(struct client *client, unsigned i)
{
    unsigned killed = 0;
    for (unsigned j = 0; killed < 2; j++) {
        if (j == i)
            continue;
        redis_fleet_kill(fleet, j);
        killed++;
    }
    for (int again = 0; again < 20; again++)
        work(client);
}

/* ---- one master forgets ---------------------------------------------------------------------- */

static void empty_master_in_place_of_a_dead_one_is_taken_back_while_clients_work(void **state)
{
    (void)state;
    struct client client = {fleet_init_and_serve(TTL_MAX_MS).port, "orders/1", 0};
    for (int again = 0; again < 50; again++)
        work(&client);
    redis_fleet_kill(fleet, 4);
    work(&client);
    redis_fleet_restart(fleet, 4, false);
    uint64_t took_ms = work_until_active(&client, client.port, 4);
    assert_in_range(took_ms, TTL_MAX_MS, BACK_MS);
    rely_on(&client, 4);
}

/* Both the server that takes it back and the one that looks on say when it will be back. */
static void it_is_said_when_a_master_will_be_back(void **state)
{
    (void)state;
    uint16_t ports[] = {fleet_init_and_serve(TTL_MAX_MS).port, fleet_serve().port};
    assert_int_equal(masters_back_in_ms(ports[0], 2), -1);
    redis_fleet_kill(fleet, 2);
    masters_wait(ports[0], 2, "down", "unreachable");
    assert_int_equal(masters_back_in_ms(ports[0], 2), -1); /* who knows */
    redis_fleet_restart(fleet, 2, false);
    for (int i = 0; i < 2; i++) {
        int64_t back_ms = -1;
        for (uint64_t end_ms = wait_now_ms() + TTL_MAX_MS / 2;
             back_ms < 0 && wait_now_ms() < end_ms; wait_ms(5))
            back_ms = masters_back_in_ms(ports[i], 2);
        assert_in_range(back_ms, 1, TTL_MAX_MS + 100);
    }
    masters_wait(ports[0], 2, "active", NULL);
    assert_int_equal(masters_back_in_ms(ports[0], 2), -1);
}

static void flushed_master_is_taken_back(void **state)
{
    (void)state;
    struct client client = {fleet_init_and_serve(TTL_MAX_MS).port, "orders/1", 0};
    work(&client);
    fleet_command(2, "FLUSHALL");
    work(&client); /* it is found out by this at the latest */
    masters_wait(client.port, 2, "rejoining", "blank");
    assert_in_range(work_until_active(&client, client.port, 2), TTL_MAX_MS / 2, BACK_MS);
    rely_on(&client, 2);
}

static void master_that_may_have_lost_its_last_second_is_taken_back(void **state)
{
    (void)state;
    fleet_command(3, "CONFIG SET appendfsync everysec");
    struct client client = {fleet_init_and_serve(TTL_MAX_MS).port, "orders/1", 0};
    work(&client);
    redis_fleet_kill(fleet, 3);
    redis_fleet_restart(fleet, 3, true); /* durable now, but it was not */
    masters_wait(client.port, 3, "rejoining", "forgot");
    assert_in_range(work_until_active(&client, client.port, 3), TTL_MAX_MS / 2, BACK_MS);
    rely_on(&client, 3);
}

/* It has all of the marker, and all settings that a master which kept its data has. */
static void
replica_that_was_promoted_in_its_masters_place_is_taken_back_as_blank_ones_are(void **state)
{
    (void)state;
    struct redis_fleet *replica = redis_fleet_new(1, REDIS_ALWAYS);
    struct pawl_service service = fleet_init_and_serve(TTL_MAX_MS);
    struct client client = {service.port, "orders/1", 0};
    work(&client);
    freeReplyObject(
        redis_fleet_command(replica, 0, "REPLICAOF 127.0.0.1 %u", (unsigned)fleet->master[0].port));
    for (long long seen = 0; seen == 0; wait_ms(5))
        seen = redis_fleet_integer(replica, 0, "EXISTS pawl:fleet");
    redis_fleet_kill(fleet, 0);
    freeReplyObject(redis_fleet_command(replica, 0, "REPLICAOF NO ONE"));
    redis_fleet_readdress(fleet, 0, replica->master[0].url);
    client.port = fleet_serve().port;
    masters_wait(client.port, 0, "rejoining", "forgot");
    work_until_active(&client, client.port, 0);
    redis_fleet_free(replica);
}

static void two_masters_that_forgot_are_taken_back_side_by_side(void **state)
{
    (void)state;
    struct client client = {fleet_init_and_serve(TTL_MAX_MS).port, "orders/1", 0};
    work(&client);
    fleet_command(0, "FLUSHALL");
    fleet_command(1, "FLUSHALL");
    work(&client);
    uint64_t took_ms = work_until_active(&client, client.port, 0);
    took_ms += work_until_active(&client, client.port, 1);
    assert_true(took_ms <= BACK_MS);
    rely_on(&client, 4);
}

static void durable_master_is_back_within_a_second_and_its_locks_still_exclude(void **state)
{
    (void)state;
    uint16_t port = fleet_init_and_serve(TTL_MAX_MS).port;
    /* Only the first three hold this lock. */
    redis_fleet_kill(fleet, 3);
    redis_fleet_kill(fleet, 4);
    struct grant held = call_grant(port, "orders/1", "{\"ttl_ms\":1500}");
    const uint64_t granted_ms = wait_now_ms();
    redis_fleet_restart(fleet, 3, true);
    redis_fleet_restart(fleet, 4, true);

    redis_fleet_kill(fleet, 0);
    redis_fleet_restart(fleet, 0, true);
    const uint64_t began_ms = wait_now_ms();
    for (unsigned i = 0; i < MASTERS; i++)
        masters_wait(port, i, "active", NULL);
    assert_true(wait_now_ms() - began_ms <= BACK_DURABLE_MS);

    /* The last two would grant it. If the first had forgotten, they would be three. */
    const struct http_response *contender = call_acquire(port, "orders/1", TTL);
    if (wait_now_ms() - granted_ms < (uint64_t)held.validity_ms) /* else nothing is shown here */
        EXPECT_PROBLEM(contender, 409, "held", 3);
}

/* Nobody knows yet that one of the others hangs: it seems to be active, and does not record. What
 * the restarted one kept must not be lost by that. */
static void restart_beside_a_master_that_hangs_unnoticed_costs_no_majority(void **state)
{
    (void)state;
    uint16_t port = fleet_init_and_serve(TTL_MAX_MS).port;
    struct client client = {port, "orders/1", 0};
    work(&client);
    redis_fleet_kill(fleet, 4);
    redis_fleet_kill(fleet, 3);
    redis_fleet_pause(fleet, 2); /* only its connection stands */
    redis_fleet_restart(fleet, 4, true);
    masters_wait(port, 4, "active", NULL);
    for (int again = 0; again < 10; again++)
        work(&client); /* by the first two, and the one that restarted */
}

/* What a server leaves that dies while it takes back a master which keeps its locks: master @i
 * knows it by what it was going to be. */
static void die_half_way(unsigned member, unsigned i)
{
    char view[256] = "";
    redisReply *known = redis_fleet_command(fleet, i, "HGET pawl:fleet view");
    char *number = known->str;
    for (unsigned j = 0; j < MASTERS; j++) {
        long long incarnation = strtoll(number, &number, 10) + (j == member);
        size_t len = strlen(view);
        snprintf(view + len, sizeof(view) - len, "%s%lld", j > 0 ? "," : "", incarnation);
        number += *number == ',';
    }
    freeReplyObject(known);
    freeReplyObject(redis_fleet_command(fleet, i, "HSET pawl:fleet view %s", view));
}

/* Three of five remember, and that is a majority, though only two of them are active. */
static void durable_master_known_half_way_is_back_beside_two_that_forgot(void **state)
{
    (void)state;
    struct pawl_service service = fleet_init_and_serve(TTL_MAX_MS);
    struct client client = {service.port, "orders/1", 0};
    work(&client);
    process_kill(service.process);
    die_half_way(1, 4);
    for (unsigned i = 0; i < 2; i++)
        redis_fleet_kill(fleet, i);
    redis_fleet_kill(fleet, 3);
    redis_fleet_restart(fleet, 0, false);
    redis_fleet_restart(fleet, 1, true);
    redis_fleet_restart(fleet, 3, false);
    client.port = pawld_start(fleet, NULL).port;
    masters_wait_all_active(client.port, MASTERS);
    rely_on(&client, 1);
}

/* ---- several servers ------------------------------------------------------------------------- */

static void another_server_learns_of_it_without_its_clients_noticing(void **state)
{
    (void)state;
    struct client client = {fleet_init_and_serve(TTL_MAX_MS).port, "orders/1", 0};
    struct client other = {fleet_serve().port, "orders/2", 0};
    masters_wait_all_active(other.port, MASTERS);
    fleet_command(4, "FLUSHALL");
    work(&client);
    work_until_active(&client, client.port, 4);
    for (int again = 0; again < 20; again++) {
        const struct http_response *response = call_acquire_once(other.port, "orders/2", TTL);
        assert_int_equal(response->status, 201);
        struct grant grant = grant_of(response);
        call_give_back(other.port, "orders/2", &grant);
    }
    masters_wait_all_active(other.port, MASTERS);
}

static void server_that_died_while_it_led_is_replaced(void **state)
{
    (void)state;
    struct pawl_service leader = fleet_init_and_serve(TTL_MAX_MS);
    struct client client = {leader.port, "orders/1", 0};
    work(&client);
    redis_fleet_kill(fleet, 4);
    redis_fleet_restart(fleet, 4, false);
    masters_wait(leader.port, 4, "rejoining", "blank");
    wait_ms(TTL_MAX_MS / 3);
    process_kill(leader.process);

    client.port = fleet_serve().port;
    masters_wait(client.port, 4, "refused", "joining");
    assert_true(work_until_active(&client, client.port, 4) <= TAKE_OVER_MS);
    rely_on(&client, 4);
}

/* The old machine of the first member lives on, and one of two services is still connected to it.
 */
static void replaced_master_whose_old_machine_lives_never_votes_again(void **state)
{
    (void)state;
    struct pawl_service before = fleet_init_and_serve(TTL_MAX_MS);
    struct client client = {before.port, "orders/1", 0};
    for (int again = 0; again < 10; again++)
        work(&client);

    struct redis_fleet *replacement = redis_fleet_new(1, REDIS_ALWAYS);
    redis_fleet_readdress(fleet, 0, replacement->master[0].url);
    struct client after = {fleet_serve().port, "orders/1", 0};
    work_until_active(&(struct client){after.port, "orders/2", 0}, after.port, 0);

    /* Both work on one name, in turn. */
    long long last_there = redis_fleet_integer(fleet, 0, "HLEN pawl:fleet");
    for (int again = 0; again < 20; again++) {
        after.token = client.token;
        work(&after);
        client.token = after.token;
        work(&client);
    }
    masters_wait(client.port, 0, "refused", "superseded");
    assert_int_equal(redis_fleet_integer(fleet, 0, "HLEN pawl:fleet"), last_there);

    /* Two of the others die: with the old machine there would be three. */
    redis_fleet_kill(fleet, 1);
    redis_fleet_kill(fleet, 2);
    after.token = client.token;
    for (int again = 0; again < 10; again++) {
        assert_int_equal(call_acquire_once(client.port, "orders/1", TTL)->status, 503);
        work(&after);
    }
    redis_fleet_free(replacement);
}

/* ---- a majority forgets ---------------------------------------------------------------------- */

static void majority_that_forgot_grants_nothing_and_says_so(void **state)
{
    (void)state;
    struct client client = {fleet_init_and_serve(TTL_MAX_MS).port, "orders/1", 0};
    work(&client);
    for (unsigned i = 0; i < 3; i++)
        fleet_command(i, "FLUSHALL");
    const uint64_t began_ms = wait_now_ms();
    while (wait_now_ms() - began_ms < UINT64_C(2) * TTL_MAX_MS) {
        const struct http_response *response = call_acquire_once(client.port, "orders/1", TTL);
        assert_int_equal(response->status, 503);
        wait_ms(20);
    }
    for (unsigned i = 0; i < 3; i++)
        masters_wait(client.port, i, "refused", "blank");
    assert_int_equal(call(client.port, "GET", "/readyz", NULL, NULL)->status, 503);
    assert_int_equal(call(client.port, "GET", "/livez", NULL, NULL)->status, 200);
}

/* Nobody asks for a lock meanwhile. */
static bool is_not_ready(void *arg)
{
    const uint16_t *port = arg;
    return call(*port, "GET", "/readyz", NULL, NULL)->status == 503;
}

static void idle_service_notices_that_a_majority_forgot(void **state)
{
    (void)state;
    uint16_t port = fleet_init_and_serve(TTL_MAX_MS).port;
    for (unsigned i = 0; i < 3; i++)
        fleet_command(i, "FLUSHALL");
    assert_true(wait_until(is_not_ready, &port, 2 * STORAGE_LOOK_INTERVAL_MS));
}

#define REJOIN_CASE(name) FLEET_CASE(name, MASTERS, REDIS_ALWAYS)

static const struct CMUnitTest cases[] = {
    REJOIN_CASE(empty_master_in_place_of_a_dead_one_is_taken_back_while_clients_work),
    REJOIN_CASE(it_is_said_when_a_master_will_be_back),
    REJOIN_CASE(flushed_master_is_taken_back),
    REJOIN_CASE(master_that_may_have_lost_its_last_second_is_taken_back),
    REJOIN_CASE(replica_that_was_promoted_in_its_masters_place_is_taken_back_as_blank_ones_are),
    REJOIN_CASE(two_masters_that_forgot_are_taken_back_side_by_side),
    REJOIN_CASE(durable_master_is_back_within_a_second_and_its_locks_still_exclude),
    REJOIN_CASE(restart_beside_a_master_that_hangs_unnoticed_costs_no_majority),
    REJOIN_CASE(durable_master_known_half_way_is_back_beside_two_that_forgot),
    REJOIN_CASE(another_server_learns_of_it_without_its_clients_noticing),
    REJOIN_CASE(server_that_died_while_it_led_is_replaced),
    REJOIN_CASE(replaced_master_whose_old_machine_lives_never_votes_again),
    REJOIN_CASE(majority_that_forgot_grants_nothing_and_says_so),
    REJOIN_CASE(idle_service_notices_that_a_majority_forgot),
};

CASE_MAIN(cases, NULL, NULL)
