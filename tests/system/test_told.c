/* The texts for people, in the log, in the log, in /readyz and in problems: what is so, and what to
 * do. */
#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/lib/text.h"
#include "tests/lib/wait.h"
#include "tests/system/calls.h"
#include "tests/system/fleet.h"
#include "tests/system/masters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    MASTERS = 3,
    ID_MIN = 22,
    ID_MAX = 65,
    RUN_MS = 5000,
    SHOWN_MS = 2000,
};

static uint16_t port;

static char *read_log(void)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/pawld.log", fleet->dir);
    return text_read(path, 0);
}

static void expect_logged(const char *text, bool is)
{
    char *log = read_log();
    if ((strstr(log, text) != NULL) != is)
        fail_msg("the log has %s\"%s\":\n%s", is ? "no " : "", text, log);
    free(log);
}

static struct process *begin_token_floor(void)
{
    char *program = pawl_program("pawld");
    char log[512];
    snprintf(log, sizeof(log), "%s/floor.log", fleet->dir);
    const char *const argv[] = {program,
                                "init",
                                "--master",
                                fleet->master[0].url,
                                "--master",
                                fleet->master[1].url,
                                "--master",
                                fleet->master[2].url,
                                "--token-floor",
                                "1000",
                                NULL};
    struct process *process = process_start(argv, log);
    free(program);
    return process;
}

static void lose_a_majority(unsigned ttl_max_ms)
{
    port = fleet_init_and_serve(ttl_max_ms).port;
    fleet_command(0, "FLUSHALL");
    fleet_command(1, "FLUSHALL");
    masters_wait(port, 0, "refused", "blank");
    masters_wait(port, 1, "refused", "blank");
}

static bool says_that_init_runs(void *arg)
{
    const struct http_response *response = call(port, "GET", "/readyz", NULL, NULL);
    return response->status == 503 &&
           strstr(response->body, "pawld init or pawld move is running") &&
           strstr(response->body, "at most 3000 ms");
}

static void a_service_says_that_an_init_is_running_and_what_it_waits_for(void **state)
{
    lose_a_majority(3000);
    struct process *init = begin_token_floor();
    if (!wait_until(says_that_init_runs, NULL, SHOWN_MS))
        fail_msg("/readyz says %s", call(port, "GET", "/readyz", NULL, NULL)->body);
    for (unsigned i = 0; i < MASTERS; i++)
        masters_wait(port, i, "refused", "init");
    process_wait_line(init, "continues:", 10000, NULL, 0);
    masters_wait_all_active(port, MASTERS);
    expect_logged("master 3 (", true);
    expect_logged("pawld init or pawld move is running on this master", true);
    expect_logged("Retire", false);
}

/* So short that no server looks at the survivor between its mark and the end. */
static void no_survivor_of_a_short_init_is_called_replaced(void **state)
{
    lose_a_majority(100);
    for (int times = 0; times < 3; times++) {
        struct process *init = begin_token_floor();
        process_wait_line(init, "continues:", 10000, NULL, 0);
        masters_wait_all_active(port, MASTERS);
        fleet_command(0, "FLUSHALL");
        fleet_command(1, "FLUSHALL");
        masters_wait(port, 0, "refused", "blank");
        masters_wait(port, 1, "refused", "blank");
    }
    expect_logged("Retire", false);
}

static void an_empty_replacement_is_not_told_to_be_a_new_fleet(void **state)
{
    port = fleet_init_and_serve(60000).port;
    for (unsigned i = 0; i < MASTERS; i++) {
        redis_fleet_kill(fleet, i);
        masters_wait(port, i, "down", "unreachable");
        redis_fleet_restart(fleet, i, false);
        masters_wait_within(port, i, "active", NULL, MASTERS_WAIT_LONG_MS);
    }
    expect_logged("This master has no marker", true);
    expect_logged("init --new", false);
}

#define HOW "run pawld init --new once"

static bool is_told_how(void *arg)
{
    char *log = read_log();
    const bool is = strstr(log, HOW) != NULL;
    free(log);
    return is;
}

static void a_new_fleet_is_told_how_it_is_made(void **state)
{
    port = fleet_serve_early().port;
    if (!wait_until(is_told_how, NULL, SHOWN_MS))
        expect_logged(HOW, true); /* which says what the log has instead */
}

static void a_failure_is_logged_as_a_sentence_of_its_own(void **state)
{
    pawl_init_new(fleet);
    fleet_command(0, "CONFIG SET requirepass right");
    char url[128];
    snprintf(url, sizeof(url), "redis://:wrong@127.0.0.1:%u", (unsigned)fleet->master[0].port);
    redis_fleet_readdress(fleet, 0, url);
    port = fleet_serve().port;
    masters_wait(port, 0, "down", "error");
    expect_logged(". Last failure: WRONGPASS invalid username-password pair or user is disabled.\n",
                  true);
    expect_logged("it names. WRONGPASS", false);
}

static void expect_range(const struct http_response *response)
{
    assert_int_equal(response->status, 400);
    const char *detail = http_string(response, "detail");
    if (!strstr(detail, "from 100 to 2000.") && !strstr(detail, "at most 2000."))
        fail_msg("another range than the fleet's: %s", detail);
}

static void a_lease_out_of_range_is_told_the_range_of_the_fleet(void **state)
{
    static const char *const bodies[] = {
        "{\"ttl_ms\": 2001}",     "{\"ttl_ms\": 99}",  "{\"ttl_ms\": -1}",
        "{\"ttl_ms\": 86400001}", "{\"ttl_ms\": 1.5}", "{\"ttl_ms\": \"1\"}",
    };
    port = fleet_init_and_serve(2000).port;
    struct grant grant = call_grant(port, "held", NULL);
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        expect_range(call_acquire_once(port, "wanted", bodies[i]));
        expect_range(call_extend(port, "held", &grant, bodies[i]));
    }
    expect_range(call(port, "POST", "/v1/locks", NULL,
                      "{\"resources\": [\"a\", \"b\"], \"ttl_ms\": 86400001}"));
}

/* Runs its line that makes a lock id, as somebody who pastes it does. */
static void make_id(char ret_id[static ID_MAX])
{
    static const char script[] =
        "eval \"$(grep '^lock_id=.*urandom' " PAWL_HTTP_PAGE ")\"; printf %s \"$lock_id\"";
    char log[512];
    snprintf(log, sizeof(log), "%s/id", fleet->dir);
    assert_int_equal(process_run((const char *const[]){"sh", "-c", script, NULL}, log, RUN_MS), 0);
    char *text = text_read(log, 0);
    snprintf(ret_id, ID_MAX, "%s", text);
    free(text);
    (void)unlink(log);
}

static void the_lock_id_of_the_page_is_another_each_time(void **state)
{
    char first[ID_MAX];
    char second[ID_MAX];
    make_id(first);
    make_id(second);
    assert_true(strlen(first) >= ID_MIN);
    assert_string_not_equal(first, second);
    port = fleet_init_and_serve(60000).port;
    char body[128];
    snprintf(body, sizeof(body), "{\"lock_id\": \"%s\"}", first);
    assert_int_equal(call_acquire(port, "orders/42", body)->status, 201);
    assert_int_equal(call_acquire(port, "orders/42", body)->status, 200);
}

#define TOLD_CASE(name) FLEET_CASE(name, MASTERS, REDIS_VOLATILE)

static const struct CMUnitTest cases[] = {
    TOLD_CASE(a_service_says_that_an_init_is_running_and_what_it_waits_for),
    TOLD_CASE(no_survivor_of_a_short_init_is_called_replaced),
    TOLD_CASE(an_empty_replacement_is_not_told_to_be_a_new_fleet),
    TOLD_CASE(a_new_fleet_is_told_how_it_is_made),
    TOLD_CASE(a_failure_is_logged_as_a_sentence_of_its_own),
    TOLD_CASE(a_lease_out_of_range_is_told_the_range_of_the_fleet),
    TOLD_CASE(the_lock_id_of_the_page_is_another_each_time),
};

CASE_MAIN(cases, NULL, NULL)
