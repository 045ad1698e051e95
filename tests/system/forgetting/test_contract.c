/* A master that was admitted as durable has to stay so. While it is not, it does not vote. Its file
 * would not have what it grants, and its next restart would be trusted. */
#include "tests/lib/case.h"
#include "tests/lib/wait.h"
#include "tests/system/forgetting/forgetting.h"
#include "tests/system/forgetting/redis_files.h"
#include "tests/system/masters.h"

#include <string.h>

enum {
    MASTERS = 3,
};

/* ---- what is granted meanwhile is not lost --------------------------------------------------- */

/* With the second master down no majority of others can be asked. Then pawld believes the file of
 * master 0. */
enum others {
    OTHERS_UP,
    SECOND_DOWN,
};

/* Master 0 is down, and about to come back with the usual configuration. */
static void come_back(struct forgetting *forgetting, enum others others)
{
    if (others == SECOND_DOWN)
        redis_fleet_kill(fleet, 1);
    redis_fleet_restart(fleet, 0, true);
    forgetting_judge(forgetting);
    assert_false(forgetting->granted); /* its file would not have had it */
}

static void switch_off_and_restart(enum others others)
{
    struct forgetting forgetting = forgetting_serve();
    fleet_command(0, "CONFIG SET appendonly no");
    forgetting_grant(&forgetting);
    redis_fleet_kill(fleet, 0);
    come_back(&forgetting, others);
}

/* INFO says aof_enabled:1 as soon as it is switched on. The file is the old one until the first
 * rewrite ends. */
static void switch_off_and_on_and_crash(enum others others)
{
    struct forgetting forgetting = forgetting_serve();
    redis_slow_rewrite(fleet, 0);
    fleet_command(0, "CONFIG SET appendonly no");
    fleet_command(0, "CONFIG SET appendonly yes");
    forgetting_grant(&forgetting);
    redis_kill_with_rewrite(fleet, 0);
    come_back(&forgetting, others);
}

static void weaken_and_lose_power(const char *weaken, enum others others)
{
    struct forgetting forgetting = forgetting_serve();
    const off_t size = redis_files_tail_size(fleet, 0);
    fleet_command(0, weaken);
    forgetting_grant(&forgetting);
    redis_fleet_kill(fleet, 0);
    redis_files_cut_tail(fleet, 0, size);
    come_back(&forgetting, others);
}

static void master_without_its_file_grants_nothing_that_its_restart_forgets(void **state)
{
    (void)state;
    switch_off_and_restart(OTHERS_UP);
}

static void master_without_its_file_grants_nothing_that_is_forgotten_with_another_down(void **state)
{
    (void)state;
    switch_off_and_restart(SECOND_DOWN);
}

static void master_before_its_first_rewrite_grants_nothing_that_a_crash_forgets(void **state)
{
    (void)state;
    switch_off_and_on_and_crash(OTHERS_UP);
}

static void
master_before_its_first_rewrite_grants_nothing_that_is_forgotten_with_another_down(void **state)
{
    (void)state;
    switch_off_and_on_and_crash(SECOND_DOWN);
}

static void master_that_syncs_each_second_grants_nothing_that_a_power_loss_takes(void **state)
{
    (void)state;
    weaken_and_lose_power("CONFIG SET appendfsync everysec", OTHERS_UP);
}

static void
master_that_syncs_each_second_grants_nothing_that_is_taken_with_another_down(void **state)
{
    (void)state;
    weaken_and_lose_power("CONFIG SET appendfsync everysec", SECOND_DOWN);
}

static void master_that_never_syncs_grants_nothing_that_a_power_loss_takes(void **state)
{
    (void)state;
    weaken_and_lose_power("CONFIG SET appendfsync no", SECOND_DOWN);
}

/* The setting matters while a rewrite runs. */
static void master_that_does_not_sync_in_a_rewrite_grants_nothing_that_is_taken(void **state)
{
    (void)state;
    struct forgetting forgetting = forgetting_serve();
    redis_slow_rewrite(fleet, 0);
    fleet_command(0, "CONFIG SET no-appendfsync-on-rewrite yes");
    fleet_command(0, "BGREWRITEAOF");
    const off_t size = redis_files_tail_size(fleet, 0);
    forgetting_grant(&forgetting);
    redis_kill_with_rewrite(fleet, 0);
    redis_files_cut_tail(fleet, 0, size);
    come_back(&forgetting, SECOND_DOWN);
}

/* ---- settings that are not shown ------------------------------------------------------------- */

/* A master that does not show its settings counts as not durable. The restart lifts the denial. */
static void deny_and_lose_power(const char *weaken, const char *deny)
{
    struct forgetting forgetting = forgetting_serve();
    const off_t size = redis_files_tail_size(fleet, 0);
    fleet_command(0, weaken);
    fleet_command(0, deny);
    forgetting_grant(&forgetting);
    redis_fleet_kill(fleet, 0);
    redis_files_cut_tail(fleet, 0, size);
    come_back(&forgetting, SECOND_DOWN);
}

static void master_that_hides_its_settings_grants_nothing_that_a_power_loss_takes(void **state)
{
    (void)state;
    deny_and_lose_power("CONFIG SET appendfsync everysec", "ACL SETUSER default -config");
}

static void master_that_hides_its_state_grants_nothing_that_its_restart_forgets(void **state)
{
    (void)state;
    deny_and_lose_power("CONFIG SET appendonly no", "ACL SETUSER default -info");
}

/* ---- it is said, and it ends ----------------------------------------------------------------- */

/* The others go on meanwhile. A lock that was held before keeps its holder. */
static void weaken_and_restore(const char *weaken, const char *setting, const char *restore)
{
    struct forgetting forgetting = forgetting_begin();
    fleet_command(0, weaken);
    forgetting_work(&forgetting);
    masters_wait_out(forgetting.port, 0, "undurable", MASTERS_WAIT_LONG_MS);
    char detail[1024];
    masters_detail(forgetting.port, 0, detail, sizeof(detail));
    assert_non_null(strstr(detail, setting));
    const struct grant other = call_grant(forgetting.port, "others/vote", "{\"ttl_ms\":1000}");
    call_give_back(forgetting.port, "others/vote", &other);
    forgetting_contend(&forgetting);
    fleet_command(0, restore);
    forgetting_judge(&forgetting);
}

static void master_does_not_vote_until_its_file_is_on_again(void **state)
{
    (void)state;
    weaken_and_restore("CONFIG SET appendonly no", "appendonly", "CONFIG SET appendonly yes");
}

static void master_does_not_vote_until_it_syncs_always_again(void **state)
{
    (void)state;
    weaken_and_restore("CONFIG SET appendfsync everysec", "appendfsync",
                       "CONFIG SET appendfsync always");
}

static void master_does_not_vote_until_it_syncs_in_a_rewrite_again(void **state)
{
    (void)state;
    weaken_and_restore("CONFIG SET no-appendfsync-on-rewrite yes", "no-appendfsync-on-rewrite",
                       "CONFIG SET no-appendfsync-on-rewrite no");
}

#define CONTRACT_CASE(name) FLEET_CASE(name, MASTERS, REDIS_ALWAYS)

static const struct CMUnitTest cases[] = {
    CONTRACT_CASE(master_without_its_file_grants_nothing_that_its_restart_forgets),
    CONTRACT_CASE(master_without_its_file_grants_nothing_that_is_forgotten_with_another_down),
    CONTRACT_CASE(master_before_its_first_rewrite_grants_nothing_that_a_crash_forgets),
    CONTRACT_CASE(
        master_before_its_first_rewrite_grants_nothing_that_is_forgotten_with_another_down),
    CONTRACT_CASE(master_that_syncs_each_second_grants_nothing_that_a_power_loss_takes),
    CONTRACT_CASE(master_that_syncs_each_second_grants_nothing_that_is_taken_with_another_down),
    CONTRACT_CASE(master_that_never_syncs_grants_nothing_that_a_power_loss_takes),
    CONTRACT_CASE(master_that_does_not_sync_in_a_rewrite_grants_nothing_that_is_taken),
    CONTRACT_CASE(master_that_hides_its_settings_grants_nothing_that_a_power_loss_takes),
    CONTRACT_CASE(master_that_hides_its_state_grants_nothing_that_its_restart_forgets),
    CONTRACT_CASE(master_does_not_vote_until_its_file_is_on_again),
    CONTRACT_CASE(master_does_not_vote_until_it_syncs_always_again),
    CONTRACT_CASE(master_does_not_vote_until_it_syncs_in_a_rewrite_again),
};

CASE_MAIN(cases, NULL, NULL)
