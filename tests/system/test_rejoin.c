/* Masters that forget, under services that go on: taken back by themselves, with what they forgot.
 */
#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/lib/wait.h"
#include "tests/system/calls.h"
#include "tests/system/fleet.h"
#include "tests/system/masters.h"

enum {
    MASTERS = 5,
    TTL_MAX_MS = 60000,  /* longer than a case may take: no call waits for it */
    LEASE_MS = 1000,     /* of TTL */
    BACK_MS = 6000,      /* a master that forgot is back by then, on a busy machine too */
    TAKE_OVER_MS = 8000, /* one whose leader died: found out, then begun again */
};

#define TTL "{\"ttl_ms\":1000}"

/* One name, locked and given back over and over. */
struct client {
    uint16_t port;
    const char *resource;
    int64_t token; /* token of the last grant; each must be higher */
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

/* Works until master @i, which was wiped, is marked again, and votes. */
static void work_until_marked(struct client *client, unsigned i)
{
    const uint64_t began_ms = wait_now_ms();
    while (!masters_is_marked(i)) {
        work(client);
        assert_true(wait_now_ms() - began_ms < BACK_MS);
    }
    (void)work_until_active(client, client->port, i);
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
    /* A lock that was read there before it was given back stands until its lease ends. */
    wait_ms(LEASE_MS + 100);
    for (int again = 0; again < 20; again++)
        work(client);
}

static void empty_master_in_place_of_a_dead_one_is_taken_back_while_clients_work(void **state)
{
    struct client client = {fleet_init_and_serve(TTL_MAX_MS).port, "orders/1", 0};
    for (int again = 0; again < 50; again++)
        work(&client);
    redis_fleet_kill(fleet, 4);
    work(&client);
    redis_fleet_restart(fleet, 4, false);
    assert_in_range(work_until_active(&client, client.port, 4), 0, BACK_MS);
    rely_on(&client, 4);
}

/* They learn of its new incarnation anyway, and locks are given back there, which makes room.
 */
static void master_is_taken_back_while_memory_is_out_on_two_others(void **state)
{
    uint16_t port = fleet_init_and_serve(TTL_MAX_MS).port;
    struct grant held = call_grant(port, "held", "{\"ttl_ms\":30000}");
    for (unsigned i = 0; i < 2; i++)
        fleet_command(i, "CONFIG SET maxmemory 1");
    redis_fleet_kill(fleet, 4);
    masters_wait(port, 4, "down", "unreachable");
    redis_fleet_restart(fleet, 4, false);
    masters_wait_all_active(port, MASTERS);
    call_give_back(port, "held", &held);
    struct grant next = call_grant(port, "held", TTL);
    assert_true(next.token > held.token);
    masters_wait_all_active(port, MASTERS);
}

/* No call waits for anything, so that there is nothing to say. */
static void no_time_is_named_at_which_a_master_is_back(void **state)
{
    uint16_t port = fleet_init_and_serve(TTL_MAX_MS).port;
    redis_fleet_kill(fleet, 2);
    masters_wait(port, 2, "down", "unreachable");
    assert_int_equal(masters_back_in_ms(port, 2), -1);
    redis_fleet_restart(fleet, 2, false);
    do
        assert_int_equal(masters_back_in_ms(port, 2), -1);
    while (!masters_is(port, 2, "active", NULL));
}

static void master_that_may_have_lost_its_last_second_is_taken_back(void **state)
{
    fleet_command(3, "CONFIG SET appendfsync everysec");
    struct client client = {fleet_init_and_serve(TTL_MAX_MS).port, "orders/1", 0};
    work(&client);
    redis_fleet_kill(fleet, 3);
    masters_wait(client.port, 3, "down", "unreachable");
    redis_fleet_restart(fleet, 3, true); /* durable now, but it was not */
    assert_in_range(work_until_active(&client, client.port, 3), 0, BACK_MS);
    rely_on(&client, 3);
}

/* It has all of the marker, and all settings that a master which kept its data has. */
static void
replica_that_was_promoted_in_its_masters_place_is_taken_back_as_blank_ones_are(void **state)
{
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
    assert_in_range(work_until_active(&client, client.port, 0), 0, BACK_MS);
    redisReply *was = redis_fleet_command(replica, 0, "HGET pawl:fleet view");
    redisReply *is = redis_fleet_command(fleet, 1, "HGET pawl:fleet view");
    assert_string_equal(was->str, is->str); /* it was admitted again, and others know it */
    freeReplyObject(was);
    freeReplyObject(is);
    redis_fleet_free(replica);
}

static void two_masters_that_forgot_are_taken_back_side_by_side(void **state)
{
    struct client client = {fleet_init_and_serve(TTL_MAX_MS).port, "orders/1", 0};
    work(&client);
    fleet_command(0, "FLUSHALL");
    fleet_command(1, "FLUSHALL");
    work_until_marked(&client, 0);
    work_until_marked(&client, 1);
    rely_on(&client, 4);
}

static void locks_of_a_master_that_restarts_still_exclude(void **state)
{
    uint16_t port = fleet_init_and_serve(TTL_MAX_MS).port;
    redis_fleet_kill(fleet, 3);
    redis_fleet_kill(fleet, 4);
    struct grant held = call_grant(port, "orders/1", "{\"ttl_ms\":30000}");
    redis_fleet_restart(fleet, 3, true);
    redis_fleet_restart(fleet, 4, true);
    redis_fleet_kill(fleet, 0);
    redis_fleet_restart(fleet, 0, true);
    const uint64_t began_ms = wait_now_ms();
    for (unsigned i = 0; i < MASTERS; i++)
        masters_wait(port, i, "active", NULL);
    assert_true(wait_now_ms() - began_ms <= BACK_MS);
    EXPECT_PROBLEM(call_acquire(port, "orders/1", TTL), 409, "held", 3);
    call_give_back(port, "orders/1", &held);
}

/* No server knows yet that one of the others hangs: it seems to be active, and does not record.
 * The data that the restarted one kept must not be lost by that. */
static void restart_beside_a_master_that_hangs_unnoticed_costs_no_majority(void **state)
{
    uint16_t port = fleet_init_and_serve(TTL_MAX_MS).port;
    struct client client = {port, "orders/1", 0};
    work(&client);
    redis_fleet_kill(fleet, 4);
    redis_fleet_kill(fleet, 3);
    redis_fleet_pause(fleet, 2); /* only its connection stands */
    redis_fleet_restart(fleet, 4, true);
    masters_wait_within(port, 4, "active", NULL, MASTERS_WAIT_LONG_MS);
    for (int again = 0; again < 10; again++)
        work(&client); /* used by the first two, and the one that restarted */
}

/* The traces of a server that dies while it takes back master @i: its locks are gone. */
static void die_half_way(unsigned i)
{
    fleet_command(i, "HSET pawl:fleet state joining next 4503599627370496 progress 1");
}

/* Two of five forget, beside one that was to rejoin: its own memory counts no more. */
static void master_half_taken_back_counts_as_one_that_forgot(void **state)
{
    struct pawl_service service = fleet_init_and_serve(TTL_MAX_MS);
    struct client client = {service.port, "orders/1", 0};
    work(&client);
    process_kill(service.process);
    die_half_way(1);
    fleet_command(0, "FLUSHALL");
    service = fleet_serve();
    client.port = service.port;
    (void)work_until_active(&client, client.port, 0); /* three others are active */
    (void)work_until_active(&client, client.port, 1);

    process_kill(service.process);
    die_half_way(1);
    fleet_command(0, "FLUSHALL");
    fleet_command(3, "FLUSHALL");
    client.port = fleet_serve_early().port;
    masters_wait(client.port, 0, "refused", "blank");
    masters_wait(client.port, 1, "refused", "joining");
    masters_wait(client.port, 3, "refused", "blank");
    assert_int_equal(call(client.port, "GET", "/readyz", NULL, NULL)->status, 503);
}

/* Held locks as locks.lua writes them, alike on all masters. */
static void hold_many_locks(void)
{
    for (unsigned i = 0; i < MASTERS; i++)
        fleet_command(i, "EVAL for\ni=1,30000\ndo\nredis.call('SET',KEYS[1]..i,"
                         "'lock-id-of-a-client-'..(10000000+i)..'.0123456789abcdef:1:0::x',"
                         "'PX',60000)\nend 1 pawl:lock:many/");
}

/* A busy machine's connections end now and then. */
static void import_goes_on_when_connections_to_its_sources_end(void **state)
{
    uint16_t port = fleet_init_and_serve(TTL_MAX_MS).port;
    hold_many_locks();
    fleet_command(4, "FLUSHALL");
    while (masters_is(port, 4, "active", NULL))
        wait_ms(5);
    for (unsigned i = 0; i < MASTERS - 1; i++) {
        wait_ms(50);
        fleet_command(i, "CLIENT KILL TYPE normal");
    }
    assert_int_equal(masters_back_in_ms(port, 4), -1);
    masters_wait_within(port, 4, "active", NULL, MASTERS_WAIT_LONG_MS);
    assert_int_equal(redis_fleet_integer(fleet, 4, "EXISTS pawl:lock:many/1"), 1);
    assert_int_equal(redis_fleet_integer(fleet, 4, "DBSIZE"),
                     redis_fleet_integer(fleet, 0, "DBSIZE"));
}

static void another_server_learns_of_it_without_its_clients_noticing(void **state)
{
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
    struct client client = {fleet_init_and_serve(TTL_MAX_MS).port, "orders/1", 0};
    work(&client);
    die_half_way(4);
    work(&client);                                      /* it is found out by this at the latest */
    masters_wait(client.port, 4, "refused", "joining"); /* its leader may get on */
    assert_in_range(work_until_active(&client, client.port, 4), 0, TAKE_OVER_MS);
    rely_on(&client, 4);
}

/* The old machine of the first member lives on, and one of two services is still connected to it.
 */
static void replaced_master_whose_old_machine_lives_never_votes_again(void **state)
{
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

static void majority_that_forgot_grants_nothing_and_says_so(void **state)
{
    struct client client = {fleet_init_and_serve(TTL_MAX_MS).port, "orders/1", 0};
    work(&client);
    for (unsigned i = 0; i < 3; i++)
        fleet_command(i, "FLUSHALL");
    const uint64_t began_ms = wait_now_ms();
    while (wait_now_ms() - began_ms < 3000) {
        const struct http_response *response = call_acquire_once(client.port, "orders/1", TTL);
        assert_int_equal(response->status, 503);
        wait_ms(20);
    }
    for (unsigned i = 0; i < 3; i++)
        masters_wait(client.port, i, "refused", "blank");
    assert_int_equal(call(client.port, "GET", "/readyz", NULL, NULL)->status, 503);
    assert_int_equal(call(client.port, "GET", "/livez", NULL, NULL)->status, 200);
}

/* No call asks for a lock meanwhile. */
static bool is_not_ready(void *arg)
{
    const uint16_t *port = arg;
    return call(*port, "GET", "/readyz", NULL, NULL)->status == 503;
}

static void idle_service_notices_that_a_majority_forgot(void **state)
{
    uint16_t port = fleet_init_and_serve(TTL_MAX_MS).port;
    for (unsigned i = 0; i < 3; i++)
        fleet_command(i, "FLUSHALL");
    assert_true(wait_until(is_not_ready, &port, 40 * FLEET_PROBE_MS));
}

#define REJOIN_CASE(name) FLEET_CASE(name, MASTERS, REDIS_ALWAYS)

static const struct CMUnitTest cases[] = {
    REJOIN_CASE(empty_master_in_place_of_a_dead_one_is_taken_back_while_clients_work),
    REJOIN_CASE(master_is_taken_back_while_memory_is_out_on_two_others),
    REJOIN_CASE(no_time_is_named_at_which_a_master_is_back),
    REJOIN_CASE(master_that_may_have_lost_its_last_second_is_taken_back),
    REJOIN_CASE(replica_that_was_promoted_in_its_masters_place_is_taken_back_as_blank_ones_are),
    REJOIN_CASE(two_masters_that_forgot_are_taken_back_side_by_side),
    REJOIN_CASE(locks_of_a_master_that_restarts_still_exclude),
    REJOIN_CASE(restart_beside_a_master_that_hangs_unnoticed_costs_no_majority),
    REJOIN_CASE(master_half_taken_back_counts_as_one_that_forgot),
    REJOIN_CASE(import_goes_on_when_connections_to_its_sources_end),
    REJOIN_CASE(another_server_learns_of_it_without_its_clients_noticing),
    REJOIN_CASE(server_that_died_while_it_led_is_replaced),
    REJOIN_CASE(replaced_master_whose_old_machine_lives_never_votes_again),
    REJOIN_CASE(majority_that_forgot_grants_nothing_and_says_so),
    REJOIN_CASE(idle_service_notices_that_a_majority_forgot),
};

CASE_MAIN(cases, NULL, NULL)
