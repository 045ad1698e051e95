/* Older files under one master while the others are up: a restored backup, a file that was mended
 * by dropping its end, a machine that was rolled back. */
#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/lib/wait.h"
#include "tests/system/forgetting/forgetting.h"
#include "tests/system/forgetting/redis_files.h"
#include "tests/system/masters.h"

#include <stdio.h>

enum {
    BRIEFLY_MS = 500,
    ALONE_MS = 4000, /* twice as long as others are waited for before a disk is trusted */
};

static const char *aside(void)
{
    static char path[256];
    snprintf(path, sizeof(path), "%s/aside", fleet->dir);
    return path;
}

static void restart_on_what_was_kept(void)
{
    redis_fleet_kill(fleet, 0);
    redis_files_put_back(fleet, 0, aside());
    redis_fleet_restart(fleet, 0, true);
}

/* Two of five are a minority too. */
static void two_masters_with_older_files_put_back_are_taken_back(void **state)
{
    struct forgetting forgetting = forgetting_serve();
    char second[256];
    snprintf(second, sizeof(second), "%s/second", fleet->dir);
    redis_files_keep(fleet, 0, aside());
    redis_files_keep(fleet, 1, second);
    assert_true(forgetting_grant(&forgetting));
    redis_fleet_kill(fleet, 1);
    redis_files_put_back(fleet, 1, second);
    restart_on_what_was_kept();
    redis_fleet_restart(fleet, 1, true);
    forgetting_judge(&forgetting);
}

/* The second master hangs for half a second, as on a busy machine. After that it can be asked. */
static void master_with_an_older_file_is_not_trusted_while_another_hangs_briefly(void **state)
{
    struct forgetting forgetting = forgetting_serve();
    redis_files_keep(fleet, 0, aside());
    assert_true(forgetting_grant(&forgetting));
    redis_fleet_pause(fleet, 1);
    restart_on_what_was_kept();
    for (const uint64_t end_ms = wait_now_ms() + BRIEFLY_MS; wait_now_ms() < end_ms; wait_ms(10))
        forgetting_work(&forgetting);
    redis_fleet_resume(fleet, 1);
    forgetting_judge(&forgetting);
}

/* As a file system's snapshot or a virtual machine's does: not a byte changes while it is taken. */
static void master_rolled_back_to_a_copy_of_its_folder_is_taken_back(void **state)
{
    struct forgetting forgetting = forgetting_serve();
    redis_fleet_pause(fleet, 0);
    redis_files_keep(fleet, 0, aside());
    redis_fleet_resume(fleet, 0);
    forgetting_wait_noticed(&forgetting, 0);
    assert_true(forgetting_grant(&forgetting));
    redis_fleet_pause(fleet, 0); /* nothing ends in good order */
    restart_on_what_was_kept();
    forgetting_judge(&forgetting);
}

static void master_rolled_back_twice_is_taken_back(void **state)
{
    struct forgetting forgetting = forgetting_serve();
    redis_files_keep(fleet, 0, aside());
    assert_true(forgetting_grant(&forgetting));
    restart_on_what_was_kept();
    forgetting_wait_active(&forgetting, 0);
    restart_on_what_was_kept();
    forgetting_judge(&forgetting);
}

#define FILES_CASE(name, n) FLEET_CASE(name, n, REDIS_ALWAYS)

/* The first master is replaced by an empty one, which votes. Its old files are kept. */
static struct forgetting replaced(void)
{
    struct forgetting forgetting = forgetting_serve();
    redis_files_keep(fleet, 0, aside());
    redis_fleet_kill(fleet, 0);
    redis_fleet_restart(fleet, 0, false);
    masters_wait_within(forgetting.port, 0, "active", NULL, MASTERS_WAIT_LONG_MS);
    assert_true(forgetting_grant(&forgetting));
    return forgetting;
}

static void replaced_machine_that_comes_back_is_taken_back(void **state)
{
    struct forgetting forgetting = replaced();
    restart_on_what_was_kept();
    forgetting_judge(&forgetting);
}

/* Only the third master can say that it was replaced. A new pawld has no other master to ask, and
 * trusts the disk. The third master refuses. Once the second is up, the old machine is refused by
 * all, and it rejoins when it restarts. */
static void replaced_machine_grants_nothing_while_another_is_down(void **state)
{
    struct forgetting forgetting = replaced();
    process_kill(forgetting.process);
    redis_fleet_kill(fleet, 1);
    restart_on_what_was_kept();
    forgetting.port = fleet_serve_early().port;
    const uint64_t end_ms = wait_now_ms() + ALONE_MS;
    while (wait_now_ms() < end_ms) {
        const struct http_response *response =
            call_acquire_once(forgetting.port, "past", "{\"ttl_ms\": 1000}");
        assert_int_not_equal(response->status, 201);
        wait_ms(100);
    }
    redis_fleet_restart(fleet, 1, true);
    masters_wait_within(forgetting.port, 0, "refused", "superseded", MASTERS_WAIT_LONG_MS);
    redis_fleet_kill(fleet, 0);
    redis_fleet_restart(fleet, 0, true);
    forgetting_judge(&forgetting);
}

static const struct CMUnitTest cases[] = {
    FILES_CASE(two_masters_with_older_files_put_back_are_taken_back, 5),
    FILES_CASE(master_with_an_older_file_is_not_trusted_while_another_hangs_briefly, 3),
    FILES_CASE(master_rolled_back_to_a_copy_of_its_folder_is_taken_back, 5),
    FILES_CASE(master_rolled_back_twice_is_taken_back, 3),
    FILES_CASE(replaced_machine_that_comes_back_is_taken_back, 3),
    FILES_CASE(replaced_machine_grants_nothing_while_another_is_down, 3),
};

CASE_MAIN(cases, NULL, NULL)
