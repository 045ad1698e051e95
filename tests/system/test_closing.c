/* Names that stay closed: after a lease that ended by itself, for its delay; after a release, for
 * what it keeps. Two pawld over three masters. */
#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/lib/wait.h"
#include "tests/system/calls.h"
#include "tests/system/fleet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TTL_MS = 1000,
    DELAY_MS = 1000,
    SLOT_MS = 1500,
    SLACK_MS = 900, /* until a waiter has what is open, on a busy machine */
    PATIENCE_MS = 20000,
    TEXT_BYTES = 512,
};

static struct pawl_service first, second;

static int start(void **state)
{
    (void)state;
    fleet_start(3, REDIS_VOLATILE);
    first = pawld_start_new(fleet);
    second = fleet_serve();
    return 0;
}

/* `pawl lock` with the words @options over @service: it notes that it runs, and goes on for
 * @seconds. */
static struct process *start_lock(struct pawl_service service, const char *name, const char *ttl,
                                  const char *option, const char *value, const char *seconds)
{
    char server[TEXT_BYTES], command[TEXT_BYTES], log[TEXT_BYTES];
    char *pawl = pawl_program("pawl");
    snprintf(server, sizeof(server), "http://127.0.0.1:%u", (unsigned)service.port);
    snprintf(command, sizeof(command), "echo ran >>%s/%s.ran; exec sleep %s", fleet->dir, name,
             seconds);
    snprintf(log, sizeof(log), "%s/lock.log", fleet->dir);
    const char *const argv[] = {pawl, "--server", server, "lock", "-n",    "-E",
                                "7",  "--ttl",    ttl,    option, value,   "--quiet",
                                name, "--",       "sh",   "-c",   command, NULL};
    struct process *process = process_start(argv, log);
    free(pawl);
    return process;
}

static size_t times_run(const char *name)
{
    char path[TEXT_BYTES];
    size_t lines = 0;
    snprintf(path, sizeof(path), "%s/%s.ran", fleet->dir, name);
    FILE *file = fopen(path, "r");
    for (int c; file && (c = fgetc(file)) != EOF;)
        lines += c == '\n';
    if (file)
        fclose(file);
    return lines;
}

static void wait_until_run(const char *name)
{
    const uint64_t end_ms = wait_now_ms() + PATIENCE_MS;
    while (times_run(name) == 0 && wait_now_ms() < end_ms)
        wait_ms(10);
    assert_int_equal(times_run(name), 1);
}

static const char *inspected(const char *name)
{
    const struct http_response *response = call_inspect(second.port, name);
    assert_int_equal(response->status, 200);
    return response->body;
}

static void expect_closed(const char *name, const char *why)
{
    char words[TEXT_BYTES];
    snprintf(words, sizeof(words), "\"closed\":\"%s\"", why);
    assert_non_null(strstr(inspected(name), words));
}

static void expect_free(const char *name)
{
    assert_non_null(strstr(inspected(name), "\"held\":false"));
}

/* Waits for @name at the second pawld. Returns when it was granted. */
static uint64_t granted_ms(const char *name)
{
    char path[TEXT_BYTES];
    snprintf(path, sizeof(path), "/v1/locks/%s", name);
    struct http *waiter = call_begin(second.port, "POST", path, "{\"wait_ms\": 10000}");
    const struct http_response *response = call_end(waiter);
    assert_int_equal(response->status, 201);
    return wait_now_ms();
}

static struct http_response release(const char *name, const struct grant *grant, const char *query)
{
    char path[TEXT_BYTES], headers[TEXT_BYTES];
    snprintf(path, sizeof(path), "/v1/locks/%s%s", name, query);
    snprintf(headers, sizeof(headers), "Lock-Id: %s\r\n", grant->lock_id);
    return *call(first.port, "DELETE", path, headers, NULL);
}

static void killed_holder_leaves_the_name_closed_for_its_delay(void **state)
{
    struct process *holder = start_lock(first, "killed", "1s", "--delay", "1s", "30");
    wait_until_run("killed");
    assert_non_null(strstr(inspected("killed"), "\"delay_ms\":1000"));
    const uint64_t killed_ms = wait_now_ms();
    process_kill(holder);
    const uint64_t got_ms = granted_ms("killed");
    assert_in_range(got_ms - killed_ms, DELAY_MS, TTL_MS + DELAY_MS + SLACK_MS);
}

static void release_opens_a_lock_with_a_delay_at_once(void **state)
{
    struct grant grant = call_grant(first.port, "left", "{\"ttl_ms\": 1000, \"delay_ms\": 60000}");
    assert_int_equal(call_extend(second.port, "left", &grant, "{\"ttl_ms\": 2000}")->status, 200);
    call_give_back(first.port, "left", &grant);
    expect_free("left");
    struct process *holder = start_lock(first, "quick", "1s", "--delay", "60s", "0");
    assert_int_equal(process_wait(holder, PATIENCE_MS), 0);
    expect_free("quick");
}

static void lock_in_its_delay_is_its_holders_alone(void **state)
{
    struct grant grant = call_grant(first.port, "late", "{\"ttl_ms\": 200, \"delay_ms\": 20000}");
    wait_ms(400);
    expect_closed("late", "delay");
    EXPECT_PROBLEM(call_acquire_once(second.port, "late", NULL), 409, "held", 3);
    assert_int_equal(call_extend(second.port, "late", &grant, "{\"ttl_ms\": 5000}")->status, 200);
    assert_null(strstr(inspected("late"), "closed"));
    call_give_back(second.port, "late", &grant);
    expect_free("late");
}

static void quick_job_of_cron_keeps_its_slot_on_two_servers(void **state)
{
    const uint64_t began_ms = wait_now_ms();
    struct process *job = start_lock(first, "cron", "30s", "--at-least", "1500ms", "0");
    assert_int_equal(process_wait(job, PATIENCE_MS), 0);
    job = start_lock(second, "cron", "30s", "--at-least", "1500ms", "0");
    assert_int_equal(process_wait(job, PATIENCE_MS), 7);
    assert_int_equal(times_run("cron"), 1);
    expect_closed("cron", "kept");
    const uint64_t got_ms = granted_ms("cron");
    assert_in_range(got_ms - began_ms, SLOT_MS, SLOT_MS + SLACK_MS);
}

static void slot_is_longer_than_the_lease_that_was_asked_for(void **state)
{
    struct process *job = start_lock(first, "short", "200ms", "--at-least", "5s", "0");
    assert_int_equal(process_wait(job, PATIENCE_MS), 0);
    wait_ms(400);
    expect_closed("short", "kept");
}

static void waiter_of_before_gets_a_kept_name_when_it_opens(void **state)
{
    struct grant grant = call_grant(first.port, "kept", "{\"ttl_ms\": 60000}");
    struct http *waiter = call_begin(second.port, "POST", "/v1/locks/kept", "{\"wait_ms\": 10000}");
    wait_ms(100);
    const uint64_t released_ms = wait_now_ms();
    assert_non_null(strstr(release("kept", &grant, "?keep_ms=800").body, "\"released\":true"));
    assert_int_equal(call_end(waiter)->status, 201);
    assert_in_range(wait_now_ms() - released_ms, 790, 800 + SLACK_MS);
}

static void lock_id_has_no_power_over_a_kept_name(void **state)
{
    struct grant grant = call_grant(first.port, "over", "{\"ttl_ms\": 30000}");
    assert_non_null(strstr(release("over", &grant, "?keep_ms=20000").body, "\"released\":true"));
    EXPECT_PROBLEM(call_extend(second.port, "over", &grant, NULL), 409, "lock-lost", 1);
    assert_non_null(strstr(release("over", &grant, "?keep_ms=60000").body, "\"released\":false"));
    assert_non_null(strstr(release("over", &grant, "").body, "\"released\":false"));
    expect_closed("over", "kept");
}

static void keep_never_lengthens_a_lease(void **state)
{
    struct grant grant = call_grant(first.port, "ends", "{\"ttl_ms\": 600}");
    const uint64_t released_ms = wait_now_ms();
    assert_int_equal(release("ends", &grant, "?keep_ms=60000").status, 200);
    assert_in_range(granted_ms("ends") - released_ms, 1, 600 + SLACK_MS);
}

static void break_opens_what_is_closed(void **state)
{
    char if_match[TEXT_BYTES];
    struct grant kept = call_grant(first.port, "broken", "{\"ttl_ms\": 30000}");
    assert_int_equal(release("broken", &kept, "?keep_ms=20000").status, 200);
    snprintf(if_match, sizeof(if_match), "If-Match: \"%lld\"\r\n", (long long)kept.token);
    const struct http_response *response =
        call(second.port, "DELETE", "/v1/locks/broken?force=true", if_match, NULL);
    assert_int_equal(response->status, 200);
    expect_free("broken");
    assert_true(call_grant(first.port, "broken", NULL).token > kept.token);
}

static void several_names_are_kept_closed_by_one_release(void **state)
{
    char headers[TEXT_BYTES];
    const struct http_response *response =
        call(first.port, "POST", "/v1/locks", NULL,
             "{\"resources\": [\"two/a\", \"two/b\"], \"delay_ms\": 1000, "
             "\"lock_id\": \"two-names-of-one-holder\"}");
    assert_int_equal(response->status, 201);
    snprintf(headers, sizeof(headers), "Lock-Id: two-names-of-one-holder\r\n");
    response = call(second.port, "DELETE", "/v1/locks", headers,
                    "{\"resources\": [\"two/a\", \"two/b\"], \"keep_ms\": 20000}");
    assert_int_equal(response->status, 200);
    expect_closed("two/a", "kept");
    expect_closed("two/b", "kept");
}

static void delay_beyond_the_longest_lease_is_refused(void **state)
{
    const struct http_response *response =
        call_acquire(first.port, "long", "{\"ttl_ms\": 200000, \"delay_ms\": 200000}");
    assert_int_equal(response->status, 400);
    assert_non_null(strstr(response->body, "ttl_ms and delay_ms together are longer"));
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(killed_holder_leaves_the_name_closed_for_its_delay),
    cmocka_unit_test(release_opens_a_lock_with_a_delay_at_once),
    cmocka_unit_test(lock_in_its_delay_is_its_holders_alone),
    cmocka_unit_test(quick_job_of_cron_keeps_its_slot_on_two_servers),
    cmocka_unit_test(slot_is_longer_than_the_lease_that_was_asked_for),
    cmocka_unit_test(waiter_of_before_gets_a_kept_name_when_it_opens),
    cmocka_unit_test(lock_id_has_no_power_over_a_kept_name),
    cmocka_unit_test(keep_never_lengthens_a_lease),
    cmocka_unit_test(break_opens_what_is_closed),
    cmocka_unit_test(several_names_are_kept_closed_by_one_release),
    cmocka_unit_test(delay_beyond_the_longest_lease_is_refused),
};

CASE_MAIN(cases, start, fleet_teardown)
