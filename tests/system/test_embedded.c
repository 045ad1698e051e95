/* pawld over its own file: what it keeps, and what it refuses to trust. */
#include "tests/lib/case.h"
#include "tests/lib/pawl.h"
#include "tests/lib/process.h"
#include "tests/lib/text.h"
#include "tests/lib/wait.h"
#include "tests/system/calls.h"
#include "tests/system/workdir.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

#define LONG_TTL  "{\"ttl_ms\": 60000}"
#define SHORT_TTL "{\"ttl_ms\": 150}"
#define TTL_MAX   "--max-ttl-ms", "1000"

enum {
    TTL_MAX_MS = 1000,
    PATIENCE_MS = 10000,
    KILLS = 12,
};

/* The address of a program that does not come to serve: no other test has it. */
#define ANYWHERE "--listen", "127.0.0.1:0"

static const int64_t floor_leap = INT64_C(1) << 32; /* the leap of pawld init --token-floor */

static char database[WORKDIR_PATH_BYTES], faults[WORKDIR_PATH_BYTES];
static struct pawl_service service;

static int begin(void **state)
{
    (void)workdir_setup(state);
    workdir_join(workdir.data, "pawl.db", database);
    workdir_join(workdir.path, "faults", faults);
    return 0;
}

static void serve_with(const char *const options[])
{
    setenv("PAWL_DISK_FAULTS", faults, 1);
    setenv("LD_PRELOAD", PAWL_DISK_SHIM, 1);
    service = pawld_start_at(workdir.data, options);
    unsetenv("LD_PRELOAD");
    pawl_wait_ready(service);
}

static void serve(void)
{
    serve_with(NULL);
}

static void stop(void)
{
    assert_int_equal(process_stop(service.process), 0);
}

static void run_command(const char *const argv[])
{
    assert_int_equal(process_run(argv, workdir.said, PATIENCE_MS), 0);
}

/* pawld over the folder @where ends with @status, and says @words. */
static void expect_end(const char *where, const char *const options[], int status,
                       const char *words)
{
    workdir_expect_said(pawld_run_at(NULL, where, options, workdir.said), status, words);
}

static void expect_refused(const char *where, const char *words)
{
    expect_end(where, (const char *const[]){ANYWHERE, NULL}, 1, words);
}

/* `pawld init` over the folder of the case ends with @status. */
static void expect_init(const char *const options[], int status)
{
    assert_int_equal(pawld_run_at("init", workdir.data, options, workdir.said), status);
}

static int64_t take_and_give_back(const char *resource)
{
    const struct grant grant = call_grant(service.port, resource, NULL);
    call_give_back(service.port, resource, &grant);
    return grant.token;
}

static void new_folder_is_a_new_fleet_and_says_so(void **state)
{
    serve();
    assert_true(process_wrote(service.process, "serving from .*/data/pawl\\.db"));
    assert_true(process_wrote(service.process, "fleet [0-9a-f]{40}: 1 master marked"));
    assert_int_equal(take_and_give_back("orders"), 1);
    assert_int_equal(take_and_give_back("orders"), 2);
    stop();
    serve();
    assert_false(process_wrote(service.process, "marked"));
    assert_int_equal(take_and_give_back("orders"), 3);
}

static void fleet_tells_what_it_is(void **state)
{
    serve();
    const struct http_response *response = call(service.port, "GET", "/v1/fleet", NULL, NULL);
    const json_t *master = json_array_get(json_object_get(response->json, "masters"), 0);
    assert_string_equal(json_string_value(json_object_get(master, "server")), "sqlite");
    assert_true(json_is_true(json_object_get(master, "durable")));
    assert_string_equal(json_string_value(json_object_get(master, "state")), "active");
}

static void locks_and_tokens_outlive_the_process_however_it_ends(void **state)
{
    int64_t token = 0;
    serve();
    struct grant held = call_grant(service.port, "held", LONG_TTL);
    for (unsigned i = 0; i < KILLS; i++) {
        wait_ms(i * 3 % 20);
        if (i % 4 == 0)
            stop();
        else
            process_kill(service.process);
        serve();
        int64_t next = take_and_give_back("orders");
        assert_true(next > token);
        token = next;
        EXPECT_PROBLEM(call_acquire_once(service.port, "held", LONG_TTL), 409, "held", 3);
    }
    assert_int_equal(call_extend(service.port, "held", &held, LONG_TTL)->status, 200);
    call_give_back(service.port, "held", &held);
    assert_true(call_grant(service.port, "held", SHORT_TTL).token > held.token);
}

static void lease_that_ran_out_while_it_was_down_is_over(void **state)
{
    serve();
    const struct grant grant = call_grant(service.port, "orders", SHORT_TTL);
    process_kill(service.process);
    wait_ms(200);
    serve();
    assert_true(call_grant(service.port, "orders", SHORT_TTL).token > grant.token);
}

static void who_waits_is_told_over_another_worker(void **state)
{
    serve_with((const char *const[]){"--workers", "2", NULL});
    for (unsigned i = 0; i < 8; i++) { /* one worker may be ready a moment after the other */
        const struct grant grant = call_grant(service.port, "ready", LONG_TTL);
        call_give_back(service.port, "ready", &grant);
    }
    for (unsigned i = 0; i < 8; i++) { /* each connection is some worker's */
        const struct grant grant = call_grant(service.port, "orders", LONG_TTL);
        struct http *waiter = call_begin(service.port, "POST", "/v1/locks/orders",
                                         "{\"ttl_ms\": 60000, \"wait_ms\": 60000}");
        wait_ms(30);
        uint64_t before_ms = wait_now_ms();
        call_give_back(service.port, "orders", &grant);
        const struct grant next = grant_of(call_end(waiter));
        assert_in_range(wait_now_ms() - before_ms, 0, 400); /* a look comes later */
        call_give_back(service.port, "orders", &next);
    }
}

static void locks_are_listed_and_taken_together(void **state)
{
    serve();
    (void)call_grant(service.port, "shop/1", LONG_TTL);
    (void)call_grant(service.port, "shop/2", LONG_TTL);
    (void)call_grant(service.port, "yard/1", LONG_TTL);
    const struct http_response *response =
        call(service.port, "GET", "/v1/locks?prefix=shop/", NULL, NULL);
    assert_int_equal(json_array_size(json_object_get(response->json, "locks")), 2);
    response = call(service.port, "POST", "/v1/locks", NULL,
                    "{\"resources\": [\"yard/1\", \"yard/2\"], \"ttl_ms\": 5000}");
    assert_int_equal(response->status, 409);
    response = call(service.port, "POST", "/v1/locks", NULL,
                    "{\"resources\": [\"yard/2\", \"yard/3\"], \"ttl_ms\": 5000}");
    assert_int_equal(response->status, 201);
}

static void longest_lease_is_that_of_the_first_start(void **state)
{
    serve_with((const char *const[]){TTL_MAX, NULL});
    assert_int_equal(call_acquire_once(service.port, "orders", LONG_TTL)->status, 400);
    stop();
    expect_end(workdir.data, (const char *const[]){"--max-ttl-ms", "60000", ANYWHERE, NULL}, 2,
               "is 1000 ms");
    serve_with((const char *const[]){TTL_MAX, NULL});
}

static void cap_on_extensions_is_set_when_the_fleet_is_made(void **state)
{
    serve_with((const char *const[]){"--max-extensions", "5", NULL});
    stop();
    expect_end(workdir.data, (const char *const[]){"--max-extensions", "6", ANYWHERE, NULL}, 2,
               "can be extended 5 times");
    serve_with((const char *const[]){"--max-extensions", "5", NULL});
}

static void second_process_on_a_folder_is_refused(void **state)
{
    serve();
    expect_refused(workdir.data, "another pawld");
    expect_init((const char *const[]){"--token-floor", "1", NULL}, 1);
    assert_int_equal(take_and_give_back("orders"), 1);
}

static void copy_of_a_folder_is_refused(void **state)
{
    char copy[WORKDIR_PATH_BYTES];
    workdir_join(workdir.path, "copy", copy);
    serve();
    (void)take_and_give_back("orders");
    stop();
    run_command((const char *const[]){"cp", "-a", workdir.data, copy, NULL});
    expect_refused(copy, "is a copy");
    serve();
    assert_int_equal(take_and_give_back("orders"), 2);
}

static void file_that_is_gone_is_no_new_fleet(void **state)
{
    serve();
    stop();
    assert_int_equal(unlink(database), 0);
    expect_refused(workdir.data, "is missing");
    expect_refused(workdir.data, "is missing");
}

static void file_of_something_else_is_left_alone(void **state)
{
    run_command((const char *const[]){"mkdir", workdir.data, NULL});
    run_command((const char *const[]){"sh", "-c", "echo precious > \"$0\"", database, NULL});
    expect_refused(workdir.data, "not a database");
    char *text = text_read(database, 0);
    assert_string_equal(text, "precious\n");
    free(text);
}

static void folder_that_is_not_to_be_had_is_named_with_what_to_do(void **state)
{
    char below[WORKDIR_PATH_BYTES];
    workdir_join(workdir.data, "below", below);
    expect_refused(below, "Give pawld a writable folder");
    expect_refused("/dev/null", "Give pawld a writable folder");
}

static void what_is_not_trusted_goes_on_above_a_floor(void **state)
{
    char copy[WORKDIR_PATH_BYTES];
    workdir_join(workdir.path, "copy", copy);
    serve_with((const char *const[]){TTL_MAX, NULL});
    int64_t token = take_and_give_back("orders");
    struct grant held = call_grant(service.port, "held", NULL);
    stop();
    run_command((const char *const[]){"cp", "-a", workdir.data, copy, NULL});
    snprintf(workdir.data, sizeof(workdir.data), "%s", copy);
    uint64_t before_ms = wait_now_ms();
    expect_init((const char *const[]){"--token-floor", "7", NULL}, 0);
    assert_true(wait_now_ms() - before_ms >= TTL_MAX_MS);
    serve();
    assert_int_equal(call_extend(service.port, "held", &held, NULL)->status, 409);
    assert_true(take_and_give_back("orders") > token + floor_leap);
}

/* Had the new file been taken for a new fleet's, its tokens would begin at 1 again. */
static void taking_over_that_broke_off_leaves_no_new_fleet(void **state)
{
    char *program = pawl_program("pawld");
    serve_with((const char *const[]){TTL_MAX, NULL});
    stop();
    assert_int_equal(unlink(database), 0);
    const char *const init[] = {program, "init",          "--data", workdir.data, "--max-ttl-ms",
                                "60000", "--token-floor", "7",      NULL};
    struct process *process = process_start(init, workdir.said);
    process_wait_line(process, "waiting", PATIENCE_MS, NULL, 0);
    process_kill(process);
    service = pawld_start_at(workdir.data, NULL);
    for (unsigned i = 0; i < 10; i++, wait_ms(30))
        assert_int_equal(call_acquire_once(service.port, "orders", NULL)->status, 503);
    free(program);
}

/* The same, where it fails before anything was written to the database. */
static void taking_over_that_fails_at_once_leaves_no_new_fleet(void **state)
{
    serve_with((const char *const[]){TTL_MAX, NULL});
    stop();
    assert_int_equal(unlink(database), 0);
    workdir_write(faults, "full");
    setenv("LD_PRELOAD", PAWL_DISK_SHIM, 1);
    expect_init((const char *const[]){"--token-floor", "7", NULL}, 1);
    unsetenv("LD_PRELOAD");
    workdir_write(faults, "");
    expect_refused(workdir.data, "is missing");
    expect_init((const char *const[]){"--new", NULL}, 1);
}

static void file_that_was_moved_away_grants_nothing_more(void **state)
{
    char away[WORKDIR_PATH_BYTES];
    workdir_join(workdir.path, "away", away);
    serve();
    (void)take_and_give_back("orders");
    assert_int_equal(rename(database, away), 0);
    const uint64_t end_ms = wait_now_ms() + PATIENCE_MS;
    while (call_acquire_once(service.port, "orders", SHORT_TTL)->status != 503) {
        assert_true(wait_now_ms() < end_ms);
        wait_ms(50);
    }
    process_wait_line(service.process, "another program changed it", PATIENCE_MS, NULL, 0);
    const struct http_response *ready = call(service.port, "GET", "/readyz", NULL, NULL);
    assert_non_null(strstr(http_string(ready, "detail"), "--token-floor T --data FOLDER"));
}

/* sqlite3 in a transaction, for example. */
static void file_that_another_program_locked_is_told(void **state)
{
    sqlite3 *other = NULL;
    serve();
    (void)take_and_give_back("orders");
    assert_int_equal(sqlite3_open(database, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(call_acquire_once(service.port, "orders", SHORT_TTL)->status, 503);
    process_wait_line(service.process, "program has locked the file", PATIENCE_MS, NULL, 0);
    process_kill(service.process);
    expect_refused(workdir.data, "another program has locked this file");
    assert_int_equal(sqlite3_close(other), SQLITE_OK);
}

/* Grants nothing that it could not write, says why, and goes on when it can. */
static void expect_survived(const char *fault, const char *words)
{
    serve();
    int64_t token = take_and_give_back("orders");
    struct grant held = call_grant(service.port, "held", LONG_TTL);
    workdir_write(faults, fault);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(call_acquire_once(service.port, "orders", LONG_TTL)->status, 503);
    const struct http_response *response = call(service.port, "GET", "/v1/fleet", NULL, NULL);
    if (!strstr(response->body, words))
        fail_msg("the fleet says: %s", response->body);
    workdir_write(faults, "");
    pawl_wait_ready(service);
    assert_true(take_and_give_back("orders") > token);
    call_give_back(service.port, "held", &held);
    process_kill(service.process);
    serve();
    assert_true(take_and_give_back("orders") > token + 1);
}

static void full_disk_grants_nothing_until_there_is_room(void **state)
{
    expect_survived("full", "database or disk is full");
}

static void disk_that_cannot_make_sure_grants_nothing(void **state)
{
    expect_survived("sync", "disk I/O error");
}

/* Processes that this one starts from now on have a boot clock that is @seconds ahead. */
static void enter_time_namespace(int seconds)
{
    if (unshare(CLONE_NEWTIME) != 0)
        case_skip("it needs a time namespace, and so root");
    FILE *offsets = fopen("/proc/self/timens_offsets", "w");
    assert_non_null(offsets);
    assert_true(fprintf(offsets, "boottime %d 0\n", seconds) > 0);
    assert_int_equal(fclose(offsets), 0);
}

static void expect_whole_lease(void)
{
    const struct http_response *shown = call(service.port, "GET", "/v1/locks/orders", NULL, NULL);
    assert_in_range(http_integer(shown, "remaining_ms"), 1, 60000);
    assert_int_equal(call_acquire_once(service.port, "orders", LONG_TTL)->status, 409);
}

/* As in another container: one boot, and another boot clock. */
static void lease_begins_anew_in_another_time_namespace(void **state)
{
    const int own = open("/proc/self/ns/time", O_RDONLY | O_CLOEXEC);
    serve();
    call_grant(service.port, "orders", LONG_TTL);
    stop();
    enter_time_namespace(1000000);
    serve();
    expect_whole_lease();
    stop();
    assert_int_equal(setns(own, CLONE_NEWTIME), 0);
    close(own);
    serve();
    expect_whole_lease();
}

/* No other master could be asked in its place. The validity has to tell what it took. */
static void very_slow_disk_is_waited_for_and_the_validity_is_shorter(void **state)
{
    serve_with((const char *const[]){"--max-ttl-ms", "30000", NULL});
    workdir_write(faults, "slow 300");
    const struct http_response *response =
        call_acquire_once(service.port, "orders", "{\"ttl_ms\":30000}");
    assert_int_equal(response->status, 201);
    assert_in_range(http_integer(response, "validity_ms"), 1, 30000 - 300);
}

static void write_that_was_torn_was_never_answered(void **state)
{
    int64_t token = 0;
    for (unsigned i = 0; i < KILLS; i++) {
        serve();
        for (unsigned k = 0; k <= i % 3; k++) {
            int64_t next = take_and_give_back("orders");
            assert_true(next > token);
            token = next;
        }
        workdir_write(faults, "torn");
        assert_int_equal(call_acquire_once(service.port, "orders", LONG_TTL)->status, 0);
        workdir_write(faults, "");
        assert_int_equal(process_wait(service.process, PATIENCE_MS), 128 + SIGKILL);
    }
}

#define EMBEDDED_CASE(name) cmocka_unit_test_setup_teardown(name, begin, workdir_teardown)

static const struct CMUnitTest cases[] = {
    EMBEDDED_CASE(new_folder_is_a_new_fleet_and_says_so),
    EMBEDDED_CASE(fleet_tells_what_it_is),
    EMBEDDED_CASE(locks_and_tokens_outlive_the_process_however_it_ends),
    EMBEDDED_CASE(lease_that_ran_out_while_it_was_down_is_over),
    EMBEDDED_CASE(lease_begins_anew_in_another_time_namespace),
    EMBEDDED_CASE(who_waits_is_told_over_another_worker),
    EMBEDDED_CASE(locks_are_listed_and_taken_together),
    EMBEDDED_CASE(longest_lease_is_that_of_the_first_start),
    EMBEDDED_CASE(cap_on_extensions_is_set_when_the_fleet_is_made),
    EMBEDDED_CASE(second_process_on_a_folder_is_refused),
    EMBEDDED_CASE(copy_of_a_folder_is_refused),
    EMBEDDED_CASE(file_that_is_gone_is_no_new_fleet),
    EMBEDDED_CASE(file_of_something_else_is_left_alone),
    EMBEDDED_CASE(folder_that_is_not_to_be_had_is_named_with_what_to_do),
    EMBEDDED_CASE(what_is_not_trusted_goes_on_above_a_floor),
    EMBEDDED_CASE(taking_over_that_broke_off_leaves_no_new_fleet),
    EMBEDDED_CASE(taking_over_that_fails_at_once_leaves_no_new_fleet),
    EMBEDDED_CASE(file_that_was_moved_away_grants_nothing_more),
    EMBEDDED_CASE(file_that_another_program_locked_is_told),
    EMBEDDED_CASE(full_disk_grants_nothing_until_there_is_room),
    EMBEDDED_CASE(disk_that_cannot_make_sure_grants_nothing),
    EMBEDDED_CASE(very_slow_disk_is_waited_for_and_the_validity_is_shorter),
    EMBEDDED_CASE(write_that_was_torn_was_never_answered),
};

CASE_MAIN(cases, NULL, NULL)
