/* Masters that become another Redis without a restart that anybody sees: demoted to the replica of
 * an older copy and promoted again, or replaced by a promoted replica. */
#include "tests/chaos/proxy.h"
#include "tests/lib/case.h"
#include "tests/lib/wait.h"
#include "tests/system/forgetting/forgetting.h"
#include "tests/system/forgetting/redis_files.h"
#include "tests/system/masters.h"

#include <stdio.h>
#include <string.h>

static struct proxy *proxy;

static int teardown(void **state)
{
    proxy_free(proxy);
    proxy = NULL;
    return forgetting_teardown(state);
}

/* A grant that the copy knows nothing of. */
static struct forgetting begin(void)
{
    struct forgetting forgetting = forgetting_serve();
    forgetting_copy_master();
    forgetting_wait_noticed(&forgetting, 0);
    assert_true(forgetting_grant(&forgetting));
    return forgetting;
}

static void demote(void)
{
    redis_follow(fleet, 0, forgetting_copy, 0);
}

static void promote(void)
{
    fleet_command(0, "REPLICAOF NO ONE");
}

static void master_seen_as_a_replica_of_an_older_copy_and_promoted_again_is_taken_back(void **state)
{
    struct forgetting forgetting = begin();
    demote();
    for (uint64_t end_ms = wait_now_ms() + MASTERS_WAIT_LONG_MS;
         !masters_is(forgetting.port, 0, "refused", "replica") && wait_now_ms() < end_ms;)
        forgetting_work(&forgetting);
    masters_wait(forgetting.port, 0, "refused", "replica");
    promote();
    forgetting_judge(&forgetting);
}

/* The service that is asked stays connected, and had nothing to ask meanwhile. */
static void service_that_looked_away_while_a_master_was_a_replica_takes_it_back(void **state)
{
    struct forgetting forgetting = forgetting_serve();
    forgetting_copy_master();
    const uint16_t idle = fleet_serve().port;
    masters_wait_all_active(idle, fleet->n);
    forgetting_wait_noticed(&forgetting, 0);
    assert_true(forgetting_grant(&forgetting));
    demote();
    promote();
    forgetting.port = idle;
    forgetting_judge(&forgetting);
}

/* The second demotion finds a master that pawld may be taking back just then. */
static void master_demoted_twice_is_taken_back(void **state)
{
    struct forgetting forgetting = begin();
    demote();
    promote();
    forgetting_work(&forgetting);
    demote();
    promote();
    forgetting_judge(&forgetting);
}

/* With the second master down no majority of others can be asked. */
static void master_demoted_and_promoted_again_is_not_trusted_alone(void **state)
{
    struct forgetting forgetting = begin();
    redis_fleet_kill(fleet, 1);
    demote();
    promote();
    forgetting_judge_all(&forgetting, true);
}

/* An hour after the promotion Redis frees the backlog. Then second_repl_offset is -1 again. */
static void master_demoted_long_ago_and_promoted_again_is_not_trusted_alone(void **state)
{
    struct forgetting forgetting = begin();
    redis_fleet_kill(fleet, 1);
    demote();
    promote();
    redis_free_backlog(fleet, 0);
    forgetting_judge_all(&forgetting, true);
}

enum {
    FAILOVER_TIMEOUT_MS = 5000,
};

static bool has_role(struct redis_fleet *redis, const char *role)
{
    redisReply *reply = redis_fleet_command(redis, 0, "ROLE");
    const bool has = strcmp(reply->element[0]->str, role) == 0;
    freeReplyObject(reply);
    return has;
}

static void wait_role(struct redis_fleet *redis, const char *role)
{
    const uint64_t end_ms = wait_now_ms() + FAILOVER_TIMEOUT_MS;
    while (!has_role(redis, role) && wait_now_ms() < end_ms)
        wait_ms(5);
    assert_true(has_role(redis, role));
}

static void fail_over(struct redis_fleet *from, struct redis_fleet *to, const char *how)
{
    char command[128];
    snprintf(command, sizeof(command), "FAILOVER TO 127.0.0.1 %u %s", (unsigned)to->master[0].port,
             how);
    freeReplyObject(redis_fleet_command(from, 0, command));
    wait_role(to, "master");
    wait_role(from, "slave");
}

/* The replica's link is slow, and the fail-over is forced. No client calls REPLICAOF on master 0.
 */
static struct forgetting fail_over_and_back(void)
{
    struct forgetting forgetting = forgetting_serve();
    proxy = proxy_new();
    const unsigned link = proxy_add(proxy, fleet->master[0].port);
    fleet_command(0, "CONFIG SET repl-diskless-sync-delay 0");
    forgetting_copy = redis_fleet_new(1, REDIS_ALWAYS);
    redis_follow_port(forgetting_copy, 0, proxy_port(proxy, link));
    redis_wait_replica(fleet, 0);
    forgetting_wait_noticed(&forgetting, 0);
    proxy_hold(proxy, link, PROXY_THERE | PROXY_BACK);
    assert_true(forgetting_grant(&forgetting));
    freeReplyObject(
        redis_fleet_command(forgetting_copy, 0, "CONFIG SET repl-diskless-sync-delay 0"));
    fail_over(fleet, forgetting_copy, "FORCE TIMEOUT 20");
    redis_wait_in_sync(fleet, 0);
    redis_wait_replica(forgetting_copy, 0);
    fail_over(forgetting_copy, fleet, "");
    redis_wait_in_sync(forgetting_copy, 0);
    redis_fleet_kill(forgetting_copy, 0);
    return forgetting;
}

static void master_that_failed_over_and_back_is_taken_back(void **state)
{
    struct forgetting forgetting = fail_over_and_back();
    forgetting_judge(&forgetting);
}

static void master_that_failed_over_and_back_long_ago_is_not_trusted_alone(void **state)
{
    struct forgetting forgetting = fail_over_and_back();
    redis_fleet_kill(fleet, 1);
    redis_free_backlog(fleet, 0);
    forgetting_judge_all(&forgetting, true);
}

/* A restart hides that it was promoted: Redis forgets the id that it followed. */
static void restart_copy(void)
{
    redis_fleet_kill(forgetting_copy, 0);
    redis_fleet_restart(forgetting_copy, 0, true);
}

static void promoted_replica_that_restarted_is_taken_back_at_the_dead_masters_address(void **state)
{
    struct forgetting forgetting = begin();
    restart_copy();
    redis_fleet_kill(forgetting_copy, 0);
    char data[256];
    snprintf(data, sizeof(data), "%s/appendonlydir", forgetting_copy->master[0].dir);
    redis_fleet_kill(fleet, 0);
    redis_files_put_back(fleet, 0, data);
    redis_fleet_restart(fleet, 0, true);
    forgetting_judge(&forgetting);
}

static void promoted_replica_that_restarted_is_taken_back_at_another_address(void **state)
{
    struct forgetting forgetting = begin();
    redis_fleet_kill(fleet, 0);
    restart_copy();
    redis_fleet_readdress(fleet, 0, forgetting_copy->master[0].url);
    forgetting.port = fleet_serve().port;
    forgetting_judge(&forgetting);
}

#define LINEAGE_CASE(name, n)                                                                      \
    cmocka_unit_test_prestate_setup_teardown(name, fleet_setup, teardown,                          \
                                             &((struct fleet_wanted){n, REDIS_ALWAYS}))

static const struct CMUnitTest cases[] = {
    LINEAGE_CASE(master_seen_as_a_replica_of_an_older_copy_and_promoted_again_is_taken_back, 3),
    LINEAGE_CASE(service_that_looked_away_while_a_master_was_a_replica_takes_it_back, 3),
    LINEAGE_CASE(master_demoted_twice_is_taken_back, 5),
    LINEAGE_CASE(master_demoted_and_promoted_again_is_not_trusted_alone, 3),
    LINEAGE_CASE(master_demoted_long_ago_and_promoted_again_is_not_trusted_alone, 3),
    LINEAGE_CASE(master_that_failed_over_and_back_is_taken_back, 3),
    LINEAGE_CASE(master_that_failed_over_and_back_long_ago_is_not_trusted_alone, 3),
    LINEAGE_CASE(promoted_replica_that_restarted_is_taken_back_at_the_dead_masters_address, 3),
    LINEAGE_CASE(promoted_replica_that_restarted_is_taken_back_at_another_address, 3),
};

CASE_MAIN(cases, NULL, NULL)
