/* pawld init from outside: what it says, what it refuses, and what pawld makes of it. */
#include "tests/lib/case.h"
#include "tests/lib/port.h"
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

#include <sqlite3.h>

enum {
    MASTERS = 3,
    TIMEOUT_MS = 10000,
    TTL_MAX_MS = 1000,
    WORDS_MAX = 8,
    PATH_SIZE = 256,
    UNHEARD_MAX = 50, /* extensions that one master did not hear of */
};

#define SHORT        "{\"ttl_ms\": 1000}"
#define FLOOR_MARGIN (INT64_C(1) << 32) /* a floor is that far above what was seen */

static char *output; /* output of the pawld init that ran last */

static int start(void **state)
{
    fleet_start(MASTERS, REDIS_VOLATILE);
    return 0;
}

static int stop(void **state)
{
    free(output);
    output = NULL;
    return fleet_teardown(state);
}

/* The words of @text in order, then NULL. They point into @text, which is cut up. */
static void split(char *text, const char *ret_words[static WORDS_MAX + 1])
{
    unsigned n = 0;
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
        assert_in_range(n, 0, WORDS_MAX - 1);
        ret_words[n++] = word;
    }
    ret_words[n] = NULL;
}

/* Runs pawld init with @options, separated by single spaces; returns its exit status, and leaves
 * what it wrote in @output. */
static int init(const char *options)
{
    char log[PATH_SIZE];
    char text[PATH_SIZE];
    const char *words[WORDS_MAX + 1];
    snprintf(log, sizeof(log), "%s/init.log", fleet->dir);
    snprintf(text, sizeof(text), "%s", options);
    split(text, words);
    unlink(log);
    const int status = pawl_init(fleet, words);
    free(output);
    output = text_read(log, 0);
    return status;
}

/* It does as told, and says @what. */
static void expect_done(const char *options, const char *what)
{
    const int status = init(options);
    if (status != 0 || !strstr(output, what))
        fail_msg("init %s: status %d, and it wrote: %s", options, status, output);
}

/* It refuses with one sentence on a line, in which @what stands. */
static void expect_refused(const char *options, const char *what)
{
    const int status = init(options);
    const char *end = strchr(output, '\n');
    if (status != 1 || !end || end[1] != '\0' || !strstr(output, what))
        fail_msg("init %s: status %d, and it wrote: %s", options, status, output);
}

/* "--token-floor T". Static, until the next call. */
static const char *floor_of(int64_t seen)
{
    static char option[48];
    snprintf(option, sizeof(option), "--token-floor %lld", (long long)seen);
    return option;
}

static void flush(unsigned i)
{
    fleet_command(i, "FLUSHALL");
}

static void expect_blank(unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++)
        assert_int_equal(redis_fleet_integer(fleet, i, "EXISTS pawl:fleet"), 0);
}

/* The words of /readyz about a fleet that cannot grant. Static, until the next call. */
static const char *not_ready(uint16_t port)
{
    const struct http_response *response = call(port, "GET", "/readyz", NULL, NULL);
    EXPECT_PROBLEM(response, 503, "not-ready", 0);
    return http_string(response, "detail");
}

static bool is_lost(void *arg)
{
    const uint16_t *port = arg;
    const struct http_response *response = call(*port, "GET", "/readyz", NULL, NULL);
    return response->status == 503 && strstr(response->body, "--token-floor");
}

/* A node of a cluster answers for keys of other nodes with an error. */
static void node_of_a_cluster_is_refused_by_its_mode(void **state)
{
    char port[8];
    char bus[8]; /* else port + 10000, which a client may have */
    char log[PATH_SIZE];
    redis_fleet_kill(fleet, 2);
    (void)snprintf(log, sizeof(log), "%s/node.log", fleet->dir);
    (void)snprintf(port, sizeof(port), "%u", (unsigned)fleet->master[2].port);
    (void)snprintf(bus, sizeof(bus), "%u", (unsigned)port_free());
    const char *argv[] = {
        "redis-server", "--port",         port, "--dir", fleet->master[2].dir, "--cluster-enabled",
        "yes",          "--cluster-port", bus,  NULL};
    struct process *node = process_start(argv, log);
    process_wait_line(node, "Ready to accept connections", TIMEOUT_MS, NULL, 0);
    expect_refused("--new", "runs in cluster mode");
    process_kill(node);
}

static void wait_ready(uint16_t port)
{
    pawl_wait_ready((struct pawl_service){.port = port});
}

#define CAP "return tonumber(redis.call('HGET', KEYS[1], 'max_extensions'))"

/* Reports whether the master that was wiped has it. */
static bool names_a_cap(void *arg)
{
    return redis_fleet_integer(fleet, 1, "HEXISTS pawl:fleet max_extensions") == 1;
}

/* Extends until it is refused. Returns how often that was. */
static int extend_until_refused(uint16_t port, const char *resource)
{
    struct grant grant = call_grant(port, resource, NULL);
    int extensions = 0;
    while (extensions < FENCE_EXTENSIONS_MAX + UNHEARD_MAX &&
           call_extend(port, resource, &grant, NULL)->status == 200)
        extensions++;
    EXPECT_PROBLEM(call_extend(port, resource, &grant, NULL), 409, "extensions-exhausted", 1);
    return extensions;
}

static void fleet_has_the_cap_on_extensions_that_it_was_made_with(void **state)
{
    expect_done("--new --max-extensions 3", "3 masters");
    uint16_t port = fleet_serve().port;
    const struct http_response *response = call_acquire(port, "often", NULL);
    assert_int_equal(http_integer(response, "extensions_left"), 3);
    struct grant grant = grant_of(response);
    for (int left = 2; left >= 0; left--) {
        response = call_extend(port, "often", &grant, NULL);
        assert_int_equal(http_integer(response, "extensions_left"), left);
    }
    EXPECT_PROBLEM(call_extend(port, "often", &grant, NULL), 409, "extensions-exhausted", 1);
}

static void fleet_of_before_it_could_be_set_has_a_thousand_extensions(void **state)
{
    expect_done("--new", "3 masters");
    for (unsigned i = 0; i < MASTERS; i++)
        fleet_command(i, "HDEL pawl:fleet max_extensions");
    assert_in_range(extend_until_refused(fleet_serve().port, "endless"),
                    FENCE_EXTENSIONS_MAX - UNHEARD_MAX, FENCE_EXTENSIONS_MAX);
}

static void cap_on_extensions_outlives_the_loss_of_a_master(void **state)
{
    expect_done("--new --max-extensions 7", "3 masters");
    struct pawl_service service = fleet_serve();
    flush(1);
    assert_true(wait_until(names_a_cap, NULL, TIMEOUT_MS));
    masters_wait_all_active(service.port, MASTERS);
    assert_int_equal(redis_fleet_integer(fleet, 1, "EVAL %s 1 pawl:fleet", CAP), 7);
}

static void init_says_what_it_made(void **state)
{
    expect_done("--new --max-ttl-ms 5000", "3 masters");
    assert_non_null(strstr(output, "start at 1"));

    uint16_t port = fleet_serve().port;
    EXPECT_JSON(call_acquire(port, "most", "{\"ttl_ms\": 5000}"), 201, 8);
    const struct http_response *response = call_acquire(port, "more", "{\"ttl_ms\": 5001}");
    EXPECT_PROBLEM(response, 400, "invalid", 1);
    assert_int_equal(http_integer(response, "ttl_max_ms"), 5000);
}

static bool names_readers(void *arg)
{
    (void)arg;
    return redis_fleet_integer(fleet, 1, "HEXISTS pawl:fleet readers") == 1;
}

static int64_t readers_of(uint16_t port)
{
    return http_integer(call(port, "GET", "/v1/fleet", NULL, NULL), "readers");
}

static void readers_are_1_to_63(void **state)
{
    assert_int_not_equal(init("--new --readers 0"), 0);
    assert_int_not_equal(init("--new --readers 64"), 0);
    expect_done("--new --readers 63", "3 masters");
    assert_int_equal(readers_of(fleet_serve().port), 63);
}

static void number_of_readers_outlives_masters_and_a_floor(void **state)
{
    expect_done("--new --readers 5 --max-ttl-ms 1000", "3 masters");
    struct pawl_service service = fleet_serve();
    flush(1);
    assert_true(wait_until(names_readers, NULL, TIMEOUT_MS));
    masters_wait_all_active(service.port, MASTERS);
    flush(0);
    flush(2);
    expect_done("--token-floor 100", "1 of which had its data");
    wait_ready(service.port);
    assert_int_equal(readers_of(service.port), 5);
}

static void init_refuses_a_master_that_is_unreachable(void **state)
{
    redis_fleet_kill(fleet, 2);
    expect_refused("--new", "master 3");
    expect_refused("--token-floor 0", "master 3");
    expect_blank(0, 2);
}

static void init_refuses_a_master_that_is_silent(void **state)
{
    redis_fleet_pause(fleet, 2);
    expect_refused("--new", "did not answer in time");
    expect_blank(0, 2);
    redis_fleet_resume(fleet, 2);
}

static void init_refuses_a_master_that_is_marked(void **state)
{
    fleet_command(1, "HSET pawl:fleet fleet other");
    expect_refused("--new", "redis-cli DEL pawl:fleet");
    assert_non_null(strstr(output, "master 2"));
    expect_blank(0, 1);
    expect_blank(2, 3);
}

static void init_refuses_to_make_a_fleet_twice(void **state)
{
    pawl_init_new(fleet);
    expect_refused("--new", "already marked as member 1 of the fleet");
}

static void init_refuses_a_replica_and_a_server_given_twice(void **state)
{
    freeReplyObject(
        redis_fleet_command(fleet, 2, "REPLICAOF 127.0.0.1 %u", (unsigned)fleet->master[0].port));
    expect_refused("--new", "replica");
    expect_refused("--token-floor 0", "replica");
    fleet_command(2, "REPLICAOF NO ONE");
    redis_fleet_readdress(fleet, 1, fleet->master[0].url);
    expect_refused("--new", "lead to this server");
    expect_refused("--token-floor 0", "lead to this server");
    expect_blank(0, 3);
}

static void init_that_failed_half_way_is_run_again(void **state)
{
    /* It answers every question, but takes no write. */
    fleet_command(2, "CONFIG SET min-replicas-to-write 1");
    uint16_t port = fleet_serve_early().port;
    expect_refused("--new", "run init again");
    assert_non_null(strstr(output, "master 3"));
    masters_wait(port, 2, "refused", "blank");
    wait_ms(200); /* whatever pawld makes of the others, it may not grant */
    assert_int_equal(call_acquire_once(port, "half-made", NULL)->status, 503);

    fleet_command(2, "CONFIG SET min-replicas-to-write 0");
    pawl_init_new(fleet);
    masters_wait_all_active(port, MASTERS);
    assert_int_equal(call_grant(port, "first", NULL).token, 1);
}

/* Acquires and releases @times; returns the last token. */
static int64_t use_up(uint16_t port, const char *resource, int times)
{
    struct grant grant = {.token = 0};
    masters_wait_all_active(port, MASTERS);
    for (int i = 0; i < times; i++) {
        grant = call_grant(port, resource, SHORT);
        call_give_back(port, resource, &grant);
    }
    return grant.token;
}

static void readyz_tells_a_fleet_that_was_never_made_both_ways(void **state)
{
    uint16_t port = fleet_serve_early().port;
    for (unsigned i = 0; i < MASTERS; i++)
        masters_wait(port, i, "refused", "blank");
    assert_non_null(strstr(not_ready(port), "pawld init --new"));
    assert_non_null(strstr(not_ready(port), "pawld init --token-floor T --master ...,"));
}

/* Asks the guarded database as /readyz says: with the statement that it shows. */
static int64_t ask_guard(const char *path, const char *told)
{
    char query[128] = "";
    const char *begin = strstr(told, "SELECT");
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    assert_non_null(begin);
    assert_int_equal(sscanf(begin, "%127[^;]", query), 1);
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, query, -1, &stmt, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    const int64_t highest = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    return highest;
}

/* The status of a write to the guarded ledger with @token. */
static int write_with(uint16_t ledger, int64_t token)
{
    char headers[64];
    snprintf(headers, sizeof(headers), "Fencing-Token: %lld\r\n", (long long)token);
    return call(ledger, "PUT", "/v1/accounts/anna", headers, "{\"balance\": 1}")->status;
}

static void fleet_whose_majority_was_wiped_goes_on_as_readyz_says(void **state)
{
    char db[PATH_SIZE];
    snprintf(db, sizeof(db), "%s/ledger.db", fleet->dir);
    uint16_t ledger = pawl_ledger_start(db, NULL).port;
    expect_done("--new --max-ttl-ms 1000", "start at 1");
    uint16_t port = fleet_serve_early().port;
    int64_t token = use_up(port, "accounts/anna", 5);
    assert_int_equal(write_with(ledger, token), 201);
    flush(0);
    flush(2);
    assert_int_equal(call_acquire_once(port, "accounts/anna", SHORT)->status, 503);
    assert_true(wait_until(is_lost, &port, TIMEOUT_MS));
    assert_non_null(strstr(not_ready(port), "lost their data"));
    assert_int_equal(call_acquire_once(port, "accounts/anna", SHORT)->status, 503);

    int64_t seen = ask_guard(db, not_ready(port));
    assert_int_equal(seen, token);
    expect_done(floor_of(seen), "1 of which had its data");
    wait_ready(port); /* the pawld that ran all the while */
    int64_t next = call_grant(port, "accounts/anna", SHORT).token;
    assert_true(next > seen + FLOOR_MARGIN);
    assert_int_equal(write_with(ledger, next), 200);
    assert_int_equal(write_with(ledger, token), 412);
}

static void fleet_that_was_wiped_wholly_goes_on_above_the_floor(void **state)
{
    uint16_t running = pawld_start_new(fleet).port;
    call_grant(running, "all", NULL);
    for (unsigned i = 0; i < MASTERS; i++)
        flush(i);
    expect_done("--token-floor 7 --max-ttl-ms 1000", "0 of which had its data");
    uint16_t started = fleet_serve_early().port;
    wait_ready(started);
    wait_ready(running);
    struct grant grant = call_grant(started, "all", SHORT);
    assert_in_range(grant.token, 7 + FLOOR_MARGIN + 1, 2 * FLOOR_MARGIN);
    call_give_back(started, "all", &grant);
    assert_true(call_grant(running, "all", SHORT).token > grant.token);
}

static void counter_that_every_master_forgot_is_read_as_the_floor(void **state)
{
    uint16_t port = pawld_start_new(fleet).port;
    const int64_t value = call_value(call_count(port, "orders", NULL));
    for (unsigned i = 0; i < MASTERS; i++)
        flush(i);
    expect_done("--token-floor 7 --max-ttl-ms 1000", "0 of which had its data");
    wait_ready(port);
    const int64_t read = call_value(call_read_counter(port, "orders"));
    assert_true(read >= value);
    assert_int_equal(call_value(call_count(port, "orders", NULL)), read + 1);
}

static void tokens_go_on_above_what_a_survivor_counted(void **state)
{
    expect_done("--new --max-ttl-ms 1000", "start at 1");
    uint16_t port = fleet_serve_early().port;
    int64_t token = use_up(port, "busy", 20);
    flush(1);
    flush(2);
    expect_done("--token-floor 3", "continues:");
    wait_ready(port);
    assert_true(call_grant(port, "busy", SHORT).token > token + FLOOR_MARGIN);
}

static void fleet_that_lost_nothing_is_left_alone(void **state)
{
    uint16_t port = pawld_start_new(fleet).port;
    int64_t token = use_up(port, "kept", 3);
    expect_refused("--token-floor 1000", "nothing was lost: 3 of 3");
    flush(0);
    expect_refused("--token-floor 1000", "nothing was lost: 2 of 3");
    assert_in_range(call_grant(port, "kept", SHORT).token, token + 1, FLOOR_MARGIN);
}

static void second_run_finds_nothing_lost(void **state)
{
    expect_done("--token-floor 7 --max-ttl-ms 1000", "continues:");
    expect_refused("--token-floor 7", "nothing was lost");
}

/* Starts pawld init, and kills it while it waits. */
static void kill_while_it_waits(const char *options)
{
    char log[PATH_SIZE];
    char text[2 * PATH_SIZE];
    const char *words[WORDS_MAX + 2 * MASTERS + 1];
    char *program = pawl_program("pawld");
    snprintf(log, sizeof(log), "%s/killed.log", fleet->dir);
    snprintf(text, sizeof(text), "%s init %s", program, options);
    split(text, words);
    unsigned n = 0;
    while (words[n])
        n++;
    for (unsigned i = 0; i < MASTERS; i++) {
        words[n++] = "--master";
        words[n++] = fleet->master[i].url;
    }
    words[n] = NULL;
    struct process *process = process_start(words, log);
    process_wait_line(process, "waiting [0-9.]+ s", TIMEOUT_MS, NULL, 0);
    process_kill(process);
    free(program);
}

static void run_that_was_killed_while_it_waited_grants_nothing_and_is_run_again(void **state)
{
    expect_done("--new --max-ttl-ms 1000", "start at 1");
    uint16_t port = fleet_serve_early().port;
    masters_wait_all_active(port, MASTERS);
    call_grant(port, "killed", SHORT);
    flush(0);
    flush(2);
    kill_while_it_waits("--token-floor 9");
    wait_ms(2 * TTL_MAX_MS); /* no server ends what it began */
    assert_int_equal(call_acquire_once(port, "killed", SHORT)->status, 503);
    assert_true(wait_until(is_lost, &port, TIMEOUT_MS));
    assert_int_equal(call_acquire_once(port, "killed", SHORT)->status, 503);

    expect_done("--token-floor 9", "3 of which had its data");
    wait_ready(port);
    assert_true(call_grant(port, "killed", SHORT).token > 9 + FLOOR_MARGIN);
}

static void run_that_was_killed_on_blank_masters_leaves_them_blank_to_the_next(void **state)
{
    kill_while_it_waits("--token-floor 9 --max-ttl-ms 60000");
    expect_done("--token-floor 9 --max-ttl-ms 200", "longest lease 200 ms");
    uint16_t port = fleet_serve_early().port;
    masters_wait_all_active(port, MASTERS);
    int64_t token = call_grant(port, "blank", "{\"ttl_ms\": 200}").token;
    assert_in_range(token, 9 + FLOOR_MARGIN + 1, 2 * FLOOR_MARGIN);
}

#define INIT_CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)

static const struct CMUnitTest cases[] = {
    INIT_CASE(init_says_what_it_made),
    INIT_CASE(node_of_a_cluster_is_refused_by_its_mode),
    INIT_CASE(fleet_has_the_cap_on_extensions_that_it_was_made_with),
    INIT_CASE(fleet_of_before_it_could_be_set_has_a_thousand_extensions),
    INIT_CASE(cap_on_extensions_outlives_the_loss_of_a_master),
    INIT_CASE(readers_are_1_to_63),
    INIT_CASE(number_of_readers_outlives_masters_and_a_floor),
    INIT_CASE(init_refuses_a_master_that_is_unreachable),
    INIT_CASE(init_refuses_a_master_that_is_silent),
    INIT_CASE(init_refuses_a_master_that_is_marked),
    INIT_CASE(init_refuses_to_make_a_fleet_twice),
    INIT_CASE(init_refuses_a_replica_and_a_server_given_twice),
    INIT_CASE(init_that_failed_half_way_is_run_again),
    INIT_CASE(readyz_tells_a_fleet_that_was_never_made_both_ways),
    INIT_CASE(fleet_whose_majority_was_wiped_goes_on_as_readyz_says),
    INIT_CASE(fleet_that_was_wiped_wholly_goes_on_above_the_floor),
    INIT_CASE(counter_that_every_master_forgot_is_read_as_the_floor),
    INIT_CASE(tokens_go_on_above_what_a_survivor_counted),
    INIT_CASE(fleet_that_lost_nothing_is_left_alone),
    INIT_CASE(second_run_finds_nothing_lost),
    INIT_CASE(run_that_was_killed_while_it_waited_grants_nothing_and_is_run_again),
    INIT_CASE(run_that_was_killed_on_blank_masters_leaves_them_blank_to_the_next),
};

CASE_MAIN(cases, NULL, NULL)
