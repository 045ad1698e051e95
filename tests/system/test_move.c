/* A fleet that was a file, and goes on as one of Redis masters. */
#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/lib/wait.h"
#include "tests/system/calls.h"
#include "tests/system/fleet.h"
#include "tests/system/workdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MASTERS = 3,
    TTL_MAX_MS = 1000,
    PATIENCE_MS = 20000,
    NAMES = 5,
    ARGS_MAX = 16,
};

static char *program;
#define FAR ((INT64_C(1) << 32) + (INT64_C(1) << 26)) /* a floor is 2^32 above all tokens */

static int64_t tokens[NAMES];

static int start(void **state)
{
    fleet_start(MASTERS, REDIS_VOLATILE);
    program = pawl_program("pawld");
    return workdir_setup(state);
}

static int stop(void **state)
{
    free(program);
    return workdir_teardown(state);
}

static int64_t take(uint16_t port, unsigned name)
{
    char resource[16];
    snprintf(resource, sizeof(resource), "name%u", name);
    const struct grant grant = call_grant(port, resource, NULL);
    call_give_back(port, resource, &grant);
    return grant.token;
}

/* Serves from the file for a while, and notes the tokens; a lock is held at the end. */
static struct pawl_service use_file(void)
{
    struct pawl_service service =
        pawld_start_at(workdir.data, (const char *const[]){"--max-ttl-ms", "1000", NULL});
    pawl_wait_ready(service);
    for (unsigned name = 0; name < NAMES; name++)
        for (unsigned times = 0; times <= name; times++)
            tokens[name] = take(service.port, name);
    (void)call_grant(service.port, "held", "{\"ttl_ms\": 1000}");
    return service;
}

static void fill_args(const char *ret_args[static ARGS_MAX])
{
    unsigned n = 0;
    ret_args[n++] = program;
    ret_args[n++] = "move";
    ret_args[n++] = "--data";
    ret_args[n++] = workdir.data;
    for (unsigned i = 0; i < MASTERS; i++) {
        ret_args[n++] = "--master";
        ret_args[n++] = fleet->master[i].url;
    }
    ret_args[n] = NULL;
}

/* Ends with @status, and says @words. */
static void expect_move(int status, const char *words)
{
    const char *args[ARGS_MAX];
    fill_args(args);
    remove(workdir.said);
    workdir_expect_said(process_run(args, workdir.said, PATIENCE_MS), status, words);
}

static void expect_moved(void)
{
    expect_move(0, "3. fleet");
}

static void expect_closed(void)
{
    const char *const options[] = {"--listen", "127.0.0.1:0", NULL};
    workdir_expect_said(pawld_run_at(NULL, workdir.data, options, workdir.said), 1,
                        "was moved to other masters");
}

static void expect_tokens_above(uint16_t port)
{
    for (unsigned name = 0; name < NAMES; name++) {
        int64_t token = take(port, name);
        assert_true(token > tokens[name]);
        tokens[name] = token;
    }
}

static void fleet_that_was_moved_goes_on_above_its_tokens(void **state)
{
    assert_int_equal(process_stop(use_file().process), 0);
    uint64_t before_ms = wait_now_ms();
    expect_moved();
    assert_true(wait_now_ms() - before_ms >= TTL_MAX_MS);
    const struct pawl_service service = pawld_start(fleet, NULL);
    pawl_wait_ready(service);
    expect_tokens_above(service.port);
    (void)call_grant(service.port, "held", NULL);
    expect_closed();
}

/* Counts in large steps until the value is @least or higher. Returns it. */
static int64_t count_up(uint16_t port, int64_t least)
{
    struct http *http = http_connect(port);
    int64_t value = 0;
    while (value < least) {
        struct http_response response;
        http_request(http, "POST", "/v1/counters/orders", NULL, "{\"count\": 1000000}", &response);
        value = call_value(&response);
        http_response_fini(&response);
    }
    http_close(http);
    return value;
}

/* The floor of the fleet that is made is far above all tokens, so the counter has to be above that.
 */
static void named_counter_goes_on_above_its_values(void **state)
{
    const struct pawl_service before = use_file();
    const int64_t value = count_up(before.port, FAR);
    assert_int_equal(process_stop(before.process), 0);
    expect_moved();
    const struct pawl_service after = pawld_start(fleet, NULL);
    pawl_wait_ready(after);
    const int64_t read = call_value(call_read_counter(after.port, "orders"));
    assert_true(read >= value);
    assert_true(call_value(call_count(after.port, "orders", NULL)) > read);
}

static void move_of_a_file_that_is_served_from_is_refused(void **state)
{
    const struct pawl_service service = use_file();
    expect_move(1, "another pawld");
    expect_tokens_above(service.port);
}

static void move_without_all_masters_leaves_the_file_as_it_is(void **state)
{
    assert_int_equal(process_stop(use_file().process), 0);
    redis_fleet_kill(fleet, 2);
    expect_move(1, "master 3");
    const struct pawl_service service = pawld_start_at(workdir.data, NULL);
    pawl_wait_ready(service);
    expect_tokens_above(service.port);
}

static void move_that_was_broken_off_grants_nothing_and_can_be_run_again(void **state)
{
    const char *args[ARGS_MAX];
    assert_int_equal(process_stop(use_file().process), 0);
    fill_args(args);
    struct process *process = process_start(args, workdir.said);
    process_wait_line(process, "2\\. ", PATIENCE_MS, NULL, 0);
    process_kill(process);
    expect_closed();
    const struct pawl_service early = pawld_start(fleet, NULL);
    for (unsigned i = 0; i < 5; i++, wait_ms(30))
        assert_int_equal(call_acquire_once(early.port, "held", NULL)->status, 503);
    assert_int_equal(process_stop(early.process), 0);
    expect_moved();
    const struct pawl_service service = pawld_start(fleet, NULL);
    pawl_wait_ready(service);
    expect_tokens_above(service.port);
    expect_move(0, "the move is already complete"); /* that fleet serves */
    expect_tokens_above(service.port);
}

static void folder_without_a_fleet_is_not_moved(void **state)
{
    expect_move(1, "there is no fleet");
}

#define MOVE_CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)

static const struct CMUnitTest cases[] = {
    MOVE_CASE(fleet_that_was_moved_goes_on_above_its_tokens),
    MOVE_CASE(named_counter_goes_on_above_its_values),
    MOVE_CASE(move_of_a_file_that_is_served_from_is_refused),
    MOVE_CASE(move_without_all_masters_leaves_the_file_as_it_is),
    MOVE_CASE(move_that_was_broken_off_grants_nothing_and_can_be_run_again),
    MOVE_CASE(folder_without_a_fleet_is_not_moved),
};

CASE_MAIN(cases, NULL, NULL)
