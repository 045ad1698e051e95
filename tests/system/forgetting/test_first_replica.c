/* A first replica, and a backlog that is freed, give a master another replication id. Nothing was
 * lost: the master votes on. */
#include "tests/lib/case.h"
#include "tests/lib/wait.h"
#include "tests/system/forgetting/forgetting.h"
#include "tests/system/forgetting/redis_files.h"
#include "tests/system/masters.h"

#include <stdio.h>
#include <string.h>

enum {
    WORK_MS = 400,        /* several probes: what one of them finds has its consequence by then */
    SETTLE_MS = 5000,     /* until a pawld has noted how much was counted */
    WRITES_MAX = 1 << 20, /* restamp.lua counts as many, and each call one */
};

/* A field of the marker of master 0; static, until the next call. */
static const char *marked(const char *field)
{
    static char value[256];
    redisReply *reply = redis_fleet_command(fleet, 0, "HGET pawl:fleet %s", field);
    snprintf(value, sizeof(value), "%s", reply->str ? reply->str : "");
    freeReplyObject(reply);
    return value;
}

static bool has_settled(void *unused)
{
    (void)unused;
    return strchr(marked("answers"), '@') != NULL;
}

static void replication_id(char ret_id[static 41])
{
    redisReply *info = redis_fleet_command(fleet, 0, "INFO replication");
    const char *id = strstr(info->str, "master_replid:");
    assert_non_null(id);
    snprintf(ret_id, 41, "%s", id + strlen("master_replid:"));
    freeReplyObject(info);
}

static bool is_noted(void *unused)
{
    (void)unused;
    char id[41];
    replication_id(id);
    return strncmp(marked("lineage"), id, 40) == 0;
}

/* Asks for locks all the while. Each is granted, and master 0 never stops voting. */
static void expect_grants(uint16_t port)
{
    for (const uint64_t end_ms = wait_now_ms() + WORK_MS; wait_now_ms() < end_ms;) {
        const struct http_response *response = call_acquire_once(port, "work", NULL);
        EXPECT_JSON(response, 201, 8);
        const struct grant grant = grant_of(response);
        call_give_back(port, "work", &grant);
        assert_true(masters_is(port, 0, "active", NULL));
    }
    assert_true(wait_until(is_noted, NULL, SETTLE_MS));
    assert_true(masters_is(port, 0, "active", NULL));
}

static uint16_t serve(void)
{
    const uint16_t port = fleet_init_and_serve(FORGETTING_TTL_MAX_MS).port;
    assert_true(wait_until(has_settled, NULL, SETTLE_MS));
    return port;
}

/* Neither imported nor restamped: the same incarnation, and no leap of its writes. */
static void expect_untouched(const char *view)
{
    assert_string_equal(marked("view"), view);
    assert_true(strtoll(marked("writes"), NULL, 10) < WRITES_MAX);
}

static void attach_and_detach(uint16_t port)
{
    char view[256];
    char before[41];
    char after[41];
    snprintf(view, sizeof(view), "%s", marked("view"));
    fleet_command(0, "CONFIG SET repl-backlog-ttl 1");
    replication_id(before);
    forgetting_copy = redis_fleet_new(1, REDIS_VOLATILE);
    redis_follow(forgetting_copy, 0, fleet, 0);
    replication_id(after);
    assert_string_not_equal(before, after);
    expect_grants(port);
    expect_untouched(view);

    redis_fleet_kill(forgetting_copy, 0);
    redis_wait_other_id(fleet, 0, after);
    expect_grants(port);
    expect_untouched(view);
}

static void master_with_a_first_replica_votes_on(void **state)
{
    attach_and_detach(serve());
}

/* The others alone are no majority: each lock needs master 0. */
static void master_with_a_first_replica_votes_on_while_another_is_down(void **state)
{
    const uint16_t port = serve();
    redis_fleet_kill(fleet, 1);
    masters_wait_out(port, 1, "unreachable", MASTERS_WAIT_MS);
    attach_and_detach(port);
}

/* Two pawld: what one notes is no change for the other. */
static void master_with_a_first_replica_votes_on_for_two_services(void **state)
{
    const uint16_t port = serve();
    const uint16_t other = fleet_serve().port;
    masters_wait_all_active(other, fleet->n);
    attach_and_detach(port);
    expect_grants(other);
}

/* The freed backlog has Redis forget that this master was promoted. */
static void replica_that_leads_its_master_is_no_first_replica(void **state)
{
    struct forgetting forgetting = forgetting_serve();
    assert_true(wait_until(has_settled, NULL, SETTLE_MS));
    forgetting_copy_master();
    assert_true(forgetting_grant(&forgetting));
    redis_follow(fleet, 0, forgetting_copy, 0);
    fleet_command(0, "REPLICAOF NO ONE");
    redis_free_backlog(fleet, 0);
    forgetting_judge(&forgetting);
}

#define REPLICA_CASE(name) FORGETTING_COPY_CASE(name, 3)

static const struct CMUnitTest cases[] = {
    REPLICA_CASE(master_with_a_first_replica_votes_on),
    REPLICA_CASE(master_with_a_first_replica_votes_on_while_another_is_down),
    REPLICA_CASE(master_with_a_first_replica_votes_on_for_two_services),
    REPLICA_CASE(replica_that_leads_its_master_is_no_first_replica),
};

CASE_MAIN(cases, NULL, NULL)
