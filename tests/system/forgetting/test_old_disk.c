/* The disk of one master is older than what that master answered, and the others cannot be asked:
 * they are silent, down, or older too. A master that lost nothing comes back anyway. */
#include "fence/protocol/limits.h"
#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/lib/wait.h"
#include "tests/system/forgetting/forgetting.h"
#include "tests/system/forgetting/redis_files.h"
#include "tests/system/masters.h"

#include <signal.h>
#include <stdio.h>

enum {
    TOLD_MS = 10 * FLEET_PROBE_MS, /* the time in which a pawld told what it knows */
    GRACE_MS = 2 * FENCE_TRUST_GRACE_US / 1000,
    SHORT_MS = 1000,
};

/* The faults of the disk of master 0, which is down. */
enum disk {
    KEPT,     /* nothing */
    OLD_FILE, /* a copy of before is put back */
    FIXED,    /* redis-check-aof --fix drops its damaged end */
    CUT,      /* its end is lost */
};

/* The fate of the other masters of the majority that granted. */
enum others {
    SILENT,
    DOWN,
    RESTARTED, /* with what they had */
    OLD_TOO,
};

/* Who judges. */
enum judge {
    SAME,  /* the pawld that granted */
    KNEW,  /* one that ran beside it and granted nothing; the first is gone */
    LATER, /* one that started when both the first pawld and master 0 were gone */
};

struct scene {
    enum disk disk;
    enum others others;
    enum judge judge;
};

static const char *aside(unsigned i)
{
    static char path[256];
    snprintf(path, sizeof(path), "%s/aside-%u", fleet->dir, i);
    return path;
}

static unsigned majority(void)
{
    return fleet->n / 2 + 1;
}

static void harm_disk(enum disk disk, off_t size)
{
    if (disk == OLD_FILE)
        redis_files_put_back(fleet, 0, aside(0));
    if (disk == FIXED) {
        redis_files_damage_tail(fleet, 0, size);
        redis_files_fix(fleet, 0);
    }
    if (disk == CUT)
        redis_files_cut_tail(fleet, 0, size);
}

static void lose_others(enum others others)
{
    for (unsigned i = 1; i < majority(); i++)
        if (others == SILENT)
            redis_fleet_pause(fleet, i);
        else
            redis_fleet_kill(fleet, i);
}

static void restart_others(enum others others)
{
    for (unsigned i = 1; i < majority(); i++) {
        if (others == OLD_TOO)
            redis_files_put_back(fleet, i, aside(i));
        if (others == OLD_TOO || others == RESTARTED)
            redis_fleet_restart(fleet, i, true);
    }
}

static void bring_back_others(enum others others)
{
    for (unsigned i = 1; i < majority(); i++)
        if (others == SILENT)
            redis_fleet_resume(fleet, i);
        else
            redis_fleet_restart(fleet, i, true);
}

/* Grants at the smallest majority, loses the others of it, and has master 0 come back. */
static struct forgetting play(const struct scene *scene)
{
    struct forgetting forgetting = forgetting_serve();
    const uint16_t other = scene->judge == KNEW ? fleet_serve_early().port : 0;
    const off_t size = redis_files_tail_size(fleet, 0);
    for (unsigned i = 0; i < majority(); i++)
        redis_files_keep(fleet, i, aside(i));
    assert_true(forgetting_grant(&forgetting));
    if (scene->judge != SAME) {
        wait_ms(TOLD_MS);
        process_kill(forgetting.process);
        forgetting.port = other;
    }
    redis_fleet_kill(fleet, 0);
    lose_others(scene->others);
    harm_disk(scene->disk, size);
    redis_fleet_restart(fleet, 0, true);
    restart_others(scene->others);
    if (scene->judge == LATER)
        forgetting.port = fleet_serve_early().port;
    return forgetting;
}

/* Nothing is granted that should not be. With the others back, master 0 rejoins by them. */
static void old_disk(void **state)
{
    const struct scene *scene = *state;
    struct forgetting forgetting = play(scene);
    forgetting_judge_all(&forgetting, true);
    masters_wait_out(forgetting.port, 0, "rolled-back", MASTERS_WAIT_LONG_MS);
    if (scene->others == SILENT || scene->others == DOWN) {
        bring_back_others(scene->others);
        forgetting_judge(&forgetting);
    }
}

/* If nothing was lost the fleet goes on without the others. */
static void kept_disk(void **state)
{
    struct forgetting forgetting = play(*state);
    forgetting_judge_all(&forgetting, false);
    masters_wait_within(forgetting.port, 0, "active", NULL, MASTERS_WAIT_LONG_MS);
}

/* The disk of the only master is older, and the pawld that granted runs. A second one, which knew
 * nothing, hears of it. */
static void only_master_with_an_older_file_is_not_believed(void **state)
{
    struct forgetting forgetting = forgetting_serve();
    redis_files_keep(fleet, 0, aside(0));
    assert_true(forgetting_grant_at_all(&forgetting));
    redis_fleet_kill(fleet, 0);
    redis_files_put_back(fleet, 0, aside(0));
    redis_fleet_restart(fleet, 0, true);
    const uint16_t other = fleet_serve_early().port;
    masters_wait_out(other, 0, "rolled-back", MASTERS_WAIT_LONG_MS);
    masters_wait_out(forgetting.port, 0, "rolled-back", MASTERS_WAIT_LONG_MS);
    forgetting_judge_all(&forgetting, true);
    forgetting.port = other;
    forgetting_judge_all(&forgetting, true);
}

/* The others were told and fell silent, and a pawld that slept meanwhile was not told. It waits for
 * one of them, for longer than for a master that is away for a moment. */
static void older_file_is_not_believed_before_another_master_is_heard(void **state)
{
    struct forgetting forgetting = forgetting_serve();
    const struct pawl_service slept = fleet_serve_early();
    masters_wait_all_active(slept.port, fleet->n);
    redis_files_keep(fleet, 0, aside(0));
    process_freeze(slept.process);
    assert_true(forgetting_grant(&forgetting));
    wait_ms(TOLD_MS);
    process_kill(forgetting.process);
    redis_fleet_kill(fleet, 0);
    lose_others(SILENT);
    redis_fleet_pause(fleet, 2);
    redis_files_put_back(fleet, 0, aside(0));
    redis_fleet_restart(fleet, 0, true);
    process_signal(slept.process, SIGCONT);
    forgetting.port = slept.port;
    masters_wait_within(slept.port, 0, "waiting", "restarted", MASTERS_WAIT_LONG_MS);
    wait_ms(GRACE_MS);
    redis_fleet_resume(fleet, 2);
    masters_wait_out(slept.port, 0, "rolled-back", MASTERS_WAIT_LONG_MS);
    bring_back_others(SILENT);
    forgetting_judge(&forgetting);
}

/* The last that a master did was to lengthen a lease. Its older file has the lease end sooner. */
static void lost_extension_is_noticed(void **state)
{
    struct forgetting forgetting = forgetting_serve();
    redis_fleet_kill(fleet, 2);
    masters_wait_out(forgetting.port, 2, "unreachable", MASTERS_WAIT_LONG_MS);
    struct grant held = call_grant(forgetting.port, "held", "{\"ttl_ms\":3000}");
    redis_files_keep(fleet, 0, aside(0));
    (void)call_keep(forgetting.port, "held", &held, "{\"ttl_ms\":60000}");
    redis_fleet_kill(fleet, 0);
    redis_fleet_kill(fleet, 1);
    redis_files_put_back(fleet, 0, aside(0));
    redis_fleet_restart(fleet, 0, true);
    redis_fleet_restart(fleet, 2, true);
    masters_wait_out(forgetting.port, 0, "rolled-back", MASTERS_WAIT_LONG_MS);
    wait_ms(3 * SHORT_MS);
    const struct http_response *second =
        call_acquire_once(forgetting.port, "held", "{\"ttl_ms\":1000}");
    assert_int_not_equal(second->status, 201);
}

#define OLD(name, masters, ...)                                                                    \
    FLEET_ROW(#name, old_disk, masters, REDIS_ALWAYS, &((struct scene){__VA_ARGS__}))
#define KEEPS(name, masters, ...)                                                                  \
    FLEET_ROW(#name, kept_disk, masters, REDIS_ALWAYS, &((struct scene){__VA_ARGS__}))

static const struct CMUnitTest cases[] = {
    OLD(older_file_is_not_believed_while_others_are_silent, 5, OLD_FILE, SILENT, SAME),
    OLD(older_file_is_not_believed_while_others_are_down, 5, OLD_FILE, DOWN, SAME),
    OLD(older_file_is_not_believed_while_the_second_of_three_is_down, 3, OLD_FILE, DOWN, SAME),
    OLD(fixed_file_is_not_believed_while_others_are_silent, 5, FIXED, SILENT, SAME),
    OLD(cut_file_is_not_believed_while_others_are_down, 5, CUT, DOWN, SAME),
    OLD(older_file_is_not_believed_by_a_pawld_that_heard_of_it, 5, OLD_FILE, SILENT, KNEW),
    OLD(older_file_is_not_believed_by_a_pawld_that_started_later, 5, OLD_FILE, SILENT, LATER),
    OLD(fixed_file_is_not_believed_by_a_pawld_that_started_later, 3, FIXED, DOWN, LATER),
    OLD(older_file_is_found_when_all_restarted, 3, OLD_FILE, RESTARTED, SAME),
    OLD(older_file_is_found_when_all_restarted_by_a_pawld_that_started_later, 5, OLD_FILE,
        RESTARTED, LATER),
    OLD(older_files_of_a_majority_are_found_by_the_pawld_that_granted, 3, OLD_FILE, OLD_TOO, SAME),
    OLD(older_files_of_a_majority_are_found_where_another_master_was_told, 5, OLD_FILE, OLD_TOO,
        LATER),
    KEEPS(kept_file_is_believed_while_others_are_silent, 5, KEPT, SILENT, SAME),
    KEEPS(kept_file_is_believed_while_the_second_of_three_is_down, 3, KEPT, DOWN, SAME),
    KEEPS(kept_file_is_believed_by_a_pawld_that_started_later, 5, KEPT, DOWN, LATER),
    KEEPS(kept_files_are_believed_when_all_restarted, 3, KEPT, RESTARTED, LATER),
    FLEET_CASE(only_master_with_an_older_file_is_not_believed, 1, REDIS_ALWAYS),
    FLEET_CASE(older_file_is_not_believed_before_another_master_is_heard, 3, REDIS_ALWAYS),
    FLEET_CASE(lost_extension_is_noticed, 3, REDIS_ALWAYS),
};

CASE_MAIN(cases, NULL, NULL)
