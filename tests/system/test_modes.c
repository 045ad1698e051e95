/* The same service over one master or three, over Unix sockets, over masters with a password. */
#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/system/calls.h"
#include "tests/system/fleet.h"
#include "tests/system/masters.h"
#include "tests/system/workdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every call on a lock once, over a new fleet of @n. */
static void use_a_lock(uint16_t port, unsigned n)
{
    struct grant grant = call_grant(port, "mode", "{\"owner\": \"me\"}");
    assert_int_equal(grant.token, 1);
    EXPECT_PROBLEM(call_acquire(port, "mode", NULL), 409, "held", 3);
    const struct http_response *response = call_extend(port, "mode", &grant, NULL);
    EXPECT_JSON(response, 200, 6);
    expect_masters(response, n / 2 + 1, n);
    assert_int_equal(http_integer(call_inspect(port, "mode"), "token"), 1);
    call_give_back(port, "mode", &grant);
    assert_true(call_grant(port, "mode", NULL).token > grant.token);

    response = call(port, "GET", "/v1/fleet", NULL, NULL);
    assert_int_equal(http_integer(response, "n"), n);
    assert_int_equal(http_integer(response, "majority"), n / 2 + 1);
}

static void one_master_is_a_fleet(void **state)
{
    use_a_lock(pawld_start_new(fleet).port, 1);
}

static void one_master_that_is_down_is_no_quorum(void **state)
{
    uint16_t port = pawld_start_new(fleet).port;
    redis_fleet_kill(fleet, 0);
    const struct http_response *response = call_acquire(port, "alone", NULL);
    EXPECT_PROBLEM(response, 503, "no-quorum", 2);
    assert_int_equal(json_array_size(json_object_get(response->json, "masters")), 1);
}

static void three_masters_are_a_fleet(void **state)
{
    use_a_lock(pawld_start_new(fleet).port, 3);
}

static void masters_are_reached_over_unix_sockets(void **state)
{
    for (unsigned i = 0; i < fleet->n; i++) {
        char url[256];
        snprintf(url, sizeof(url), "unix://%s", fleet->master[i].socket);
        redis_fleet_readdress(fleet, i, url);
    }
    uint16_t port = pawld_start_new(fleet).port;
    use_a_lock(port, 3);
    const struct http_response *response = call(port, "GET", "/v1/fleet", NULL, NULL);
    const json_t *first = json_array_get(json_object_get(response->json, "masters"), 0);
    assert_string_equal(json_string_value(json_object_get(first, "address")), fleet->master[0].url);
}

static void masters_ask_for_a_password(void **state)
{
    char url[128];
    for (unsigned i = 0; i < 2; i++) {
        freeReplyObject(redis_fleet_command(fleet, i, "CONFIG SET requirepass %s", "s3cr3t@:/"));
        snprintf(url, sizeof(url), "redis://:s3cr3t%%40%%3a%%2F@127.0.0.1:%u",
                 (unsigned)fleet->master[i].port);
        redis_fleet_readdress(fleet, i, url);
    }
    fleet_command(2, "ACL SETUSER pawl on >hunter2 ~pawl:* +@all");
    snprintf(url, sizeof(url), "redis://pawl:hunter2@127.0.0.1:%u",
             (unsigned)fleet->master[2].port);
    redis_fleet_readdress(fleet, 2, url);

    uint16_t port = pawld_start_new(fleet).port;
    use_a_lock(port, 3);
    masters_wait_all_active(port, 3);
    const struct http_response *response = call(port, "GET", "/v1/fleet", NULL, NULL);
    assert_null(strstr(response->body, "s3cr3t"));
    assert_null(strstr(response->body, "hunter2"));
}

/* The view of lists of processes of @process: its file in /proc, with a blank for each NUL. */
static void expect_not_shown(const struct process *process, const char *file, const char *secret)
{
    char path[64], shown[16 * 1024];
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)process_id(process), file);
    FILE *from = fopen(path, "re");
    assert_non_null(from);
    const size_t len = fread(shown, 1, sizeof(shown) - 1, from);
    fclose(from);
    assert_in_range(len, 1, sizeof(shown) - 2);
    for (size_t i = 0; i < len; i++)
        if (shown[i] == '\0')
            shown[i] = ' ';
    shown[len] = '\0';
    if (strstr(shown, secret))
        fail_msg("%s has the password: %s", path, shown);
}

static void password_in_a_url_is_not_shown_by_lists_of_processes(void **state)
{
    char url[128];
    pawl_init_new(fleet);
    fleet_command(0, "CONFIG SET requirepass s3cr3t");
    snprintf(url, sizeof(url), "redis://:s3cr3t@127.0.0.1:%u", (unsigned)fleet->master[0].port);
    redis_fleet_readdress(fleet, 0, url);
    struct pawl_service service = fleet_serve();
    masters_wait_all_active(service.port, 3);
    expect_not_shown(service.process, "cmdline", "s3cr3t");
}

/* For the default user, and for another one. */
static void set_passwords(void)
{
    char url[128];
    fleet_command(2, "CONFIG SET requirepass s3cr3t");
    fleet_command(0, "CONFIG SET requirepass s3cr3t");
    fleet_command(1, "ACL SETUSER pawl on >s3cr3t ~pawl:* &pawl:* +@all");
    snprintf(url, sizeof(url), "redis://pawl:@127.0.0.1:%u", (unsigned)fleet->master[1].port);
    redis_fleet_readdress(fleet, 1, url);
}

static void password_comes_from_a_file(void **state)
{
    char path[256];
    pawl_init_new(fleet);
    set_passwords();
    snprintf(path, sizeof(path), "%s/password", fleet->dir);
    workdir_write(path, "s3cr3t\nand what is not of it\n");
    struct pawl_service service = pawld_start(
        fleet, (const char *const[]){FLEET_PROBE, "--master-password-file", path, NULL});
    masters_wait_all_active(service.port, 3);
}

static void password_comes_from_the_environment_and_is_wiped_there(void **state)
{
    pawl_init_new(fleet);
    set_passwords();
    assert_int_equal(setenv("PAWL_MASTER_PASSWORD", "s3cr3t", 1), 0);
    struct pawl_service service = fleet_serve();
    assert_int_equal(unsetenv("PAWL_MASTER_PASSWORD"), 0);
    masters_wait_all_active(service.port, 3);
    expect_not_shown(service.process, "environ", "s3cr3t");
}

static void master_with_a_wrong_password_stays_out(void **state)
{
    pawl_init_new(fleet);
    fleet_command(0, "CONFIG SET requirepass right");
    char url[128];
    snprintf(url, sizeof(url), "redis://:wrong@127.0.0.1:%u", (unsigned)fleet->master[0].port);
    redis_fleet_readdress(fleet, 0, url);
    uint16_t port = fleet_serve().port;
    expect_masters(call_acquire(port, "two", NULL), 2, 3);

    const struct http_response *response = call(port, "GET", "/v1/fleet", NULL, NULL);
    const json_t *first = json_array_get(json_object_get(response->json, "masters"), 0);
    assert_string_equal(json_string_value(json_object_get(first, "state")), "down");
    assert_string_equal(json_string_value(json_object_get(first, "reason")), "error");
    assert_non_null(strstr(json_string_value(json_object_get(first, "last_failure")), "WRONGPASS"));
    assert_null(strstr(response->body, "wrong@"));
}

static const struct CMUnitTest cases[] = {
    FLEET_CASE(one_master_is_a_fleet, 1, REDIS_VOLATILE),
    FLEET_CASE(one_master_that_is_down_is_no_quorum, 1, REDIS_VOLATILE),
    FLEET_CASE(three_masters_are_a_fleet, 3, REDIS_VOLATILE),
    FLEET_CASE(masters_are_reached_over_unix_sockets, 3, REDIS_VOLATILE),
    FLEET_CASE(masters_ask_for_a_password, 3, REDIS_VOLATILE),
    FLEET_CASE(password_in_a_url_is_not_shown_by_lists_of_processes, 3, REDIS_VOLATILE),
    FLEET_CASE(password_comes_from_a_file, 3, REDIS_VOLATILE),
    FLEET_CASE(password_comes_from_the_environment_and_is_wiped_there, 3, REDIS_VOLATILE),
    FLEET_CASE(master_with_a_wrong_password_stays_out, 3, REDIS_VOLATILE),
};

CASE_MAIN(cases, NULL, NULL)
