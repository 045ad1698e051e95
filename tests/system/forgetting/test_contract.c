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

enum {
    COMMANDS_MAX = 2,
};

/* How master 0 stops to be durable, and comes back with the usual configuration. */
struct scene {
    const char *weaken[COMMANDS_MAX];
    bool slow_rewrite; /* a rewrite that is begun does not end before the crash */
    bool power_loss;   /* takes what its file was given since */
    bool second_down;  /* no majority of others can be asked: pawld believes its file */
};

/* Grants meanwhile are not lost: nothing is. */
static void nothing_is_granted_that_it_forgets(void **state)
{
    const struct scene *scene = *state;
    struct forgetting forgetting = forgetting_serve();
    if (scene->slow_rewrite)
        redis_slow_rewrite(fleet, 0);
    for (size_t i = 0; i < COMMANDS_MAX && scene->weaken[i]; i++)
        fleet_command(0, scene->weaken[i]);
    const off_t size = redis_files_tail_size(fleet, 0);
    forgetting_grant(&forgetting);
    if (scene->slow_rewrite)
        redis_kill_with_rewrite(fleet, 0);
    else
        redis_fleet_kill(fleet, 0);
    if (scene->power_loss)
        redis_files_cut_tail(fleet, 0, size);
    if (scene->second_down)
        redis_fleet_kill(fleet, 1);
    redis_fleet_restart(fleet, 0, true);
    forgetting_judge(&forgetting);
    assert_false(forgetting.granted); /* its file would not have had it */
}

struct weakness {
    const char *weaken, *setting, *restore;
};

/* It is said, and it ends. The others go on meanwhile. A lock that was held before keeps its
 * holder. */
static void it_does_not_vote_until_it_is_restored(void **state)
{
    const struct weakness *weakness = *state;
    struct forgetting forgetting = forgetting_begin();
    fleet_command(0, weakness->weaken);
    forgetting_work(&forgetting);
    masters_wait_out(forgetting.port, 0, "undurable", MASTERS_WAIT_LONG_MS);
    char detail[1024];
    masters_detail(forgetting.port, 0, detail, sizeof(detail));
    assert_non_null(strstr(detail, weakness->setting));
    const struct grant other = call_grant(forgetting.port, "others/vote", "{\"ttl_ms\":1000}");
    call_give_back(forgetting.port, "others/vote", &other);
    forgetting_contend(&forgetting);
    fleet_command(0, weakness->restore);
    forgetting_judge(&forgetting);
}

#define GRANTS_NOTHING(name, ...)                                                                  \
    FLEET_ROW(#name, nothing_is_granted_that_it_forgets, MASTERS, REDIS_ALWAYS,                    \
              &((struct scene){__VA_ARGS__}))
#define RESTORED(name, ...)                                                                        \
    FLEET_ROW(#name, it_does_not_vote_until_it_is_restored, MASTERS, REDIS_ALWAYS,                 \
              &((struct weakness){__VA_ARGS__}))

#define FILE_OFF     "CONFIG SET appendonly no"
#define FILE_ON      "CONFIG SET appendonly yes"
#define EACH_SECOND  "CONFIG SET appendfsync everysec"
#define NOT_IN_WRITE "CONFIG SET no-appendfsync-on-rewrite yes"

static const struct CMUnitTest cases[] = {
    GRANTS_NOTHING(master_without_its_file_grants_nothing_that_its_restart_forgets,
                   .weaken = {FILE_OFF}),
    GRANTS_NOTHING(master_without_its_file_grants_nothing_that_is_forgotten_with_another_down,
                   .weaken = {FILE_OFF}, .second_down = true),
    /* INFO says aof_enabled:1 as soon as it is switched on. The file is the old one until the first
     * rewrite ends. */
    GRANTS_NOTHING(master_before_its_first_rewrite_grants_nothing_that_a_crash_forgets,
                   .weaken = {FILE_OFF, FILE_ON}, .slow_rewrite = true),
    GRANTS_NOTHING(
        master_before_its_first_rewrite_grants_nothing_that_is_forgotten_with_another_down,
        .weaken = {FILE_OFF, FILE_ON}, .slow_rewrite = true, .second_down = true),
    GRANTS_NOTHING(master_that_syncs_each_second_grants_nothing_that_a_power_loss_takes,
                   .weaken = {EACH_SECOND}, .power_loss = true),
    GRANTS_NOTHING(master_that_syncs_each_second_grants_nothing_that_is_taken_with_another_down,
                   .weaken = {EACH_SECOND}, .power_loss = true, .second_down = true),
    GRANTS_NOTHING(master_that_never_syncs_grants_nothing_that_a_power_loss_takes,
                   .weaken = {"CONFIG SET appendfsync no"}, .power_loss = true,
                   .second_down = true),
    /* The setting matters while a rewrite runs. */
    GRANTS_NOTHING(master_that_does_not_sync_in_a_rewrite_grants_nothing_that_is_taken,
                   .weaken = {NOT_IN_WRITE, "BGREWRITEAOF"}, .slow_rewrite = true,
                   .power_loss = true, .second_down = true),
    /* A master that does not show its settings counts as not durable. The restart lifts the
     * denial. */
    GRANTS_NOTHING(master_that_hides_its_settings_grants_nothing_that_a_power_loss_takes,
                   .weaken = {EACH_SECOND, "ACL SETUSER default -config"}, .power_loss = true,
                   .second_down = true),
    GRANTS_NOTHING(master_that_hides_its_state_grants_nothing_that_its_restart_forgets,
                   .weaken = {FILE_OFF, "ACL SETUSER default -info"}, .power_loss = true,
                   .second_down = true),
    RESTORED(master_does_not_vote_until_its_file_is_on_again, FILE_OFF, "appendonly", FILE_ON),
    RESTORED(master_does_not_vote_until_it_syncs_always_again, EACH_SECOND, "appendfsync",
             "CONFIG SET appendfsync always"),
    RESTORED(master_does_not_vote_until_it_syncs_in_a_rewrite_again, NOT_IN_WRITE,
             "no-appendfsync-on-rewrite", "CONFIG SET no-appendfsync-on-rewrite no"),
};

CASE_MAIN(cases, NULL, NULL)
