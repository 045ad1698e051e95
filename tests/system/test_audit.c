/* The audit in /v1/fleet and in the log: what is wrong with masters that vote anyway. */
#include "tests/lib/case.h"
#include "tests/lib/redis_clock.h"
#include "tests/lib/text.h"
#include "tests/lib/wait.h"
#include "tests/system/calls.h"
#include "tests/system/fleet.h"
#include "tests/system/masters.h"
#include "tests/system/workdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MASTERS = 3,
    AUDIT_WAIT_MS = FLEET_PROBE_MS + MASTERS_WAIT_MS, /* for a change to be seen */
    STEP_MS = 3000,
    STEP_UNSURE_MS = 500, /* a busy machine's looks take their time */
};

static uint16_t serve_new(void)
{
    pawl_init_new(fleet);
    uint16_t port = fleet_serve().port;
    masters_wait_all_active(port, fleet->n);
    return port;
}

static void assert_marked_durable(unsigned i, const char *wanted)
{
    redisReply *reply = redis_fleet_command(fleet, i, "HGET pawl:fleet durable");
    assert_string_equal(reply->str, wanted);
    freeReplyObject(reply);
}

static const json_t *show(uint16_t port)
{
    return call(port, "GET", "/v1/fleet", NULL, NULL)->json;
}

static const json_t *show_master(uint16_t port, unsigned i)
{
    return json_array_get(json_object_get(show(port), "masters"), i);
}

/* The finding @name in the list "audit" of @object; NULL if it is not there. */
static const json_t *finding(const json_t *object, const char *name)
{
    const json_t *audit = json_object_get(object, "audit");
    size_t i;
    const json_t *found;
    json_array_foreach(audit, i, found)
    {
        assert_true(json_string_length(json_object_get(found, "detail")) > 0);
        if (strcmp(json_string_value(json_object_get(found, "name")), name) == 0)
            return found;
    }
    return NULL;
}

static size_t findings(const json_t *object)
{
    const json_t *audit = json_object_get(object, "audit");
    assert_true(json_is_array(audit));
    return json_array_size(audit);
}

struct wanted {
    uint16_t port;
    unsigned i;
    const char *name; /* NULL: none */
};

static bool is_as_wanted(void *arg)
{
    const struct wanted *wanted = arg;
    const json_t *master = show_master(wanted->port, wanted->i);
    return wanted->name ? finding(master, wanted->name) != NULL : findings(master) == 0;
}

/* Waits until a probe of master @i found @name, or (NULL) nothing any more. */
static void await(uint16_t port, unsigned i, const char *name)
{
    struct wanted wanted = {port, i, name};
    if (!wait_until(is_as_wanted, &wanted, AUDIT_WAIT_MS))
        fail_msg("master %u does not show %s: %s", i + 1, name ? name : "an empty audit",
                 json_dumps(show(port), 0));
}

/* Fails unless pawld's log has exactly @times lines with @text. */
static void assert_logged(const char *text, unsigned times)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/pawld.log", fleet->dir);
    const unsigned count = workdir_count(path, text);
    if (count != times)
        fail_msg("\"%s\" is in the log %u times, not %u:\n%s", text, count, times,
                 text_read(path, 0));
}

static void durable_masters_show_only_that_they_are_one_machine(void **state)
{
    char url[256];
    snprintf(url, sizeof(url), "unix://%s", fleet->master[0].socket);
    redis_fleet_readdress(fleet, 0, url); /* the same machine by another way */
    uint16_t port = serve_new();
    for (unsigned i = 0; i < MASTERS; i++)
        assert_int_equal(findings(show_master(port, i)), 0);
    const json_t *shown = show(port);
    assert_int_equal(findings(shown), 1);
    const json_t *members = json_object_get(finding(shown, "same-host"), "members");
    assert_int_equal(json_array_size(members), MASTERS);
    for (unsigned i = 0; i < MASTERS; i++)
        assert_int_equal(json_integer_value(json_array_get(members, i)), i + 1);
    assert_logged("audit: same-host: ", 1);
    assert_logged("audit: ", 1);
}

static void one_master_shares_its_machine_with_nobody(void **state)
{
    fleet->n = 1;
    uint16_t port = serve_new();
    assert_int_equal(findings(show(port)), 0);
    fleet->n = MASTERS;
}

static void weak_persistence_is_shown_and_logged_once(void **state)
{
    fleet_command(1, "CONFIG SET appendonly yes");
    fleet_command(2, "CONFIG SET appendonly yes");
    fleet_command(2, "CONFIG SET appendfsync always no-appendfsync-on-rewrite yes");
    uint16_t port = serve_new();
    static const char *const wanted[MASTERS] = {"no-aof", "fsync", "fsync-on-rewrite"};
    for (unsigned i = 0; i < MASTERS; i++) {
        const json_t *master = show_master(port, i);
        assert_int_equal(findings(master), 1);
        assert_non_null(finding(master, wanted[i]));
        assert_true(json_is_false(json_object_get(master, "durable")));
    }
    wait_ms(12 * FLEET_PROBE_MS); /* it is probed again, and not logged again */
    assert_logged("no-aof: ", 1);
    assert_logged("fsync: ", 1);
    assert_logged("fsync-on-rewrite: ", 1);
    assert_int_equal(masters_active(port), MASTERS); /* none of it keeps anybody from voting */
}

static void changes_at_runtime_are_found_and_so_is_their_end(void **state)
{
    uint16_t port = serve_new();
    struct grant held = call_grant(port, "audited", NULL);
    fleet_command(0, "CONFIG SET appendonly yes");
    await(port, 0, "fsync");
    fleet_command(0, "CONFIG SET appendonly no");
    await(port, 0, "no-aof");
    fleet_command(1, "CONFIG SET maxmemory 1mb"); /* less than it has */
    await(port, 1, "memory-full");
    fleet_command(1, "CONFIG SET maxmemory 0");
    await(port, 1, "no-aof");
    assert_int_equal(http_integer(call_inspect(port, "audited"), "token"), held.token);
    call_give_back(port, "audited", &held);
    assert_int_equal(masters_active(port), MASTERS);
    assert_logged("): fsync: ", 1);
    assert_logged("): the problem fsync has ended", 1);
    assert_logged("votes", MASTERS); /* the looks disturbed no master */
}

/* The first one gives it another replication id: it rejoins, and says so no more. */
static void replica_that_is_attached_is_shown_until_it_goes(void **state)
{
    uint16_t port = serve_new();
    struct redis_fleet *replica = redis_fleet_new(1, REDIS_VOLATILE);
    freeReplyObject(
        redis_fleet_command(replica, 0, "REPLICAOF 127.0.0.1 %u", (unsigned)fleet->master[2].port));
    await(port, 2, "replicas");
    masters_wait_all_active(port, MASTERS);
    const json_t *replicas = finding(show_master(port, 2), "replicas");
    assert_int_equal(json_integer_value(json_object_get(replicas, "replicas")), 1);
    freeReplyObject(redis_fleet_command(replica, 0, "REPLICAOF NO ONE"));
    await(port, 2, NULL);
    masters_wait_all_active(port, MASTERS);
    redis_fleet_free(replica);
}

static const struct {
    const char *weaken;
    const char *mend;
} ways[] = {
    {"CONFIG SET appendfsync everysec", "CONFIG SET appendfsync always"},
    {"CONFIG SET appendonly no", "CONFIG SET appendonly yes"},
    {"CONFIG SET no-appendfsync-on-rewrite yes", "CONFIG SET no-appendfsync-on-rewrite no"},
    {"ACL SETUSER default -config", "ACL SETUSER default +config"},
};

static void durable_master_that_is_not_any_more_stays_out_until_it_is(void **state)
{
    uint16_t port = serve_new();
    int64_t token = 0;
    for (size_t k = 0; k < sizeof(ways) / sizeof(ways[0]); k++) {
        fleet_command(0, ways[k].weaken);
        masters_wait(port, 0, "refused", "undurable");
        assert_marked_durable(0, "yes"); /* it stays what it is to be */
        struct grant grant = call_grant(port, "contract", NULL);
        assert_true(grant.token > token);
        token = grant.token;
        call_give_back(port, "contract", &grant);
        fleet_command(0, ways[k].mend);
        masters_wait(port, 0, "active", NULL);
    }
    assert_marked_durable(0, "yes");
}

static void master_that_is_made_to_forget_is_taken_back_as_one(void **state)
{
    uint16_t port = serve_new();
    fleet_command(0, "CONFIG SET appendfsync everysec");
    masters_wait(port, 0, "refused", "undurable");
    fleet_command(0, "FLUSHALL");
    masters_wait(port, 0, "active", NULL);
    assert_marked_durable(0, "no");
    await(port, 0, "fsync");
}

static void master_that_refuses_config_from_the_first_is_not_taken_for_durable(void **state)
{
    fleet_command(0, "ACL SETUSER default -config");
    uint16_t port = serve_new();
    await(port, 0, "persistence-unknown");
    assert_marked_durable(0, "no");
    assert_marked_durable(1, "yes");
    assert_int_equal(masters_active(port), MASTERS);
}

static void clock_that_is_stepped_is_found_with_its_step(void **state)
{
    struct redis_clock clock = {0};
    redis_clock_restart(&clock, fleet, 1, false);
    uint16_t port = serve_new();
    wait_ms(6 * FLEET_PROBE_MS); /* each was looked at once */
    redis_clock_set(&clock, -STEP_MS);
    await(port, 1, "clock");
    const json_t *found = finding(show_master(port, 1), "clock");
    json_int_t strayed_ms = json_integer_value(json_object_get(found, "strayed_ms"));
    assert_in_range(-strayed_ms, STEP_MS - STEP_UNSURE_MS, STEP_MS);
    assert_null(finding(show_master(port, 0), "clock"));
    assert_null(finding(show_master(port, 2), "clock"));
    wait_ms(12 * FLEET_PROBE_MS);
    assert_non_null(finding(show_master(port, 1), "clock")); /* one probe later it still is */
    assert_logged("clock (-", 1);
    redis_clock_fini(&clock);
}

#define DURABLE(name)  FLEET_CASE(name, MASTERS, REDIS_ALWAYS)
#define VOLATILE(name) FLEET_CASE(name, MASTERS, REDIS_VOLATILE)

static const struct CMUnitTest cases[] = {
    DURABLE(durable_masters_show_only_that_they_are_one_machine),
    DURABLE(one_master_shares_its_machine_with_nobody),
    VOLATILE(weak_persistence_is_shown_and_logged_once),
    VOLATILE(changes_at_runtime_are_found_and_so_is_their_end),
    DURABLE(replica_that_is_attached_is_shown_until_it_goes),
    DURABLE(durable_master_that_is_not_any_more_stays_out_until_it_is),
    DURABLE(master_that_is_made_to_forget_is_taken_back_as_one),
    DURABLE(master_that_refuses_config_from_the_first_is_not_taken_for_durable),
    VOLATILE(clock_that_is_stepped_is_found_with_its_step),
};

CASE_MAIN(cases, NULL, NULL)
