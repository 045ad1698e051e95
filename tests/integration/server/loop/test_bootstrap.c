/* A fleet whose majority lost its memory goes on above a floor: what is left on real masters, and
 * what happens to one of them while the longest lease is waited for. */
#include "fence/protocol/view.h"
#include "server/loop/bootstrap.h"
#include "storage/redis/url.h"
#include "tests/lib/case.h"
#include "tests/lib/redis_fleet.h"
#include "tests/lib/wait.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIELD_MAX = 256, /* bytes of a marker's field, terminated */
    MASTERS = 3,
    TTL_MAX_MS = 200,
    TTL_MAX_LONG_MS = 60000, /* longer than a test may take */
    LOCKS = 2500,            /* more than one step of a wipe looks at */
};

#define FLEET_ID     "0123456789abcdef0123456789abcdef01234567"
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct scene {
    struct redis_fleet *fleet;
    struct storage_redis_url url[MASTERS];
    struct server_bootstrap_config config;
    struct fence_bootstrap made;
    char why[SERVER_BOOTSTRAP_WHY_MAX];
    uint64_t waited_ms;      /* the announced text */
    void (*meanwhile)(void); /* happens while it waits; NULL: nothing */
} scene;

static int start_with(enum redis_persistence persistence)
{
    scene = (struct scene){0};
    scene.fleet = redis_fleet_new(MASTERS, persistence);
    scene.config = (struct server_bootstrap_config){.addresses = {.n = MASTERS, .urls = scene.url},
                                                    .params.ttl_max_ms = TTL_MAX_MS};
    for (unsigned i = 0; i < MASTERS; i++) {
        const char *why = "";
        assert_int_equal(storage_redis_url_parse(scene.fleet->master[i].url, &scene.url[i], &why),
                         0);
    }
    return 0;
}

static int start_durable(void **state)
{
    return start_with(REDIS_ALWAYS);
}

static int start(void **state)
{
    return start_with(REDIS_VOLATILE);
}

static int stop(void **state)
{
    redis_fleet_free(scene.fleet);
    return 0;
}

/* pawld init --new. */
static int make(void)
{
    scene.config.params.goes_on = false;
    scene.config.params.seen = 0;
    return server_bootstrap(&scene.config, &scene.made, scene.why);
}

static void make_new(void)
{
    int error = make();
    assert_string_equal(scene.why, "");
    assert_int_equal(error, 0);
}

static void flush(unsigned i)
{
    freeReplyObject(redis_fleet_command(scene.fleet, i, "FLUSHALL"));
}

static void flush_all(void)
{
    for (unsigned i = 0; i < MASTERS; i++)
        flush(i);
}

/* Master @i alone remembers what it was. */
static void flush_all_but(unsigned i)
{
    for (unsigned j = 0; j < MASTERS; j++)
        if (j != i)
            flush(j);
}

static void set(unsigned i, const char *field, const char *value)
{
    freeReplyObject(redis_fleet_command(scene.fleet, i, "HSET pawl:fleet %s %s", field, value));
}

/* The field of master @i's hash; "" where it is not there. Static, until the next call. */
static const char *get(unsigned i, const char *field)
{
    static char value[FIELD_MAX];
    redisReply *reply = redis_fleet_command(scene.fleet, i, "HGET pawl:fleet %s", field);
    snprintf(value, sizeof(value), "%s", reply->type == REDIS_REPLY_STRING ? reply->str : "");
    freeReplyObject(reply);
    return value;
}

static void on_wait(void *context, const struct fence_bootstrap *run, uint64_t wait_ms)
{
    scene.waited_ms = wait_ms;
    if (scene.meanwhile)
        scene.meanwhile();
}

/* pawld init --token-floor @seen. Its work meanwhile may be another run. */
static int go_on(int64_t seen)
{
    scene.config.params.goes_on = true;
    scene.config.params.seen = seen;
    scene.config.waits = on_wait;
    const struct server_bootstrap_config config = scene.config;
    return server_bootstrap(&config, &scene.made, scene.why);
}

static void expect_went_on(int64_t seen, int64_t floor)
{
    int error = go_on(seen);
    assert_string_equal(scene.why, "");
    assert_int_equal(error, 0);
    assert_int_equal(scene.made.floor, floor);
    for (unsigned i = 0; i < MASTERS; i++) {
        assert_string_equal(get(i, "state"), "active");
        assert_string_equal(get(i, "next"), "");
        assert_string_equal(get(i, "init"), "");
        assert_string_equal(get(i, "fleet"), scene.made.fleet_id);
        assert_int_equal(strtoll(get(i, "member"), NULL, 10), i + 1);
        assert_int_equal(strtoll(get(i, "floor"), NULL, 10), floor);
    }
}

/* It fails, and says @what. */
static void expect_refused(int64_t seen, int error, const char *what)
{
    int failed = go_on(seen);
    if (failed != error || !strstr(scene.why, what))
        fail_msg("%d, and it says: %s", failed, scene.why);
}

static void expect_nobody_is_active(void)
{
    for (unsigned i = 0; i < MASTERS; i++)
        assert_string_not_equal(get(i, "state"), "active");
}

static void floor_is_above_what_guards_saw_and_what_survivors_counted(void **state)
{
    static const char *const counters[] = {"0", "16383", "n:invoices"};
    for (size_t k = 0; k < COUNT(counters); k++) {
        flush_all();
        make_new();
        set(1, counters[k], "5000");
        set(1, "7", "4000");
        flush_all_but(1);
        expect_went_on(4999, 5000 + FENCE_FLOOR_MARGIN);

        /* And once more: now the floor is what the survivor shows. */
        flush_all_but(1);
        expect_went_on(4999, 5000 + 2 * FENCE_FLOOR_MARGIN);
    }
    flush_all_but(0);
    expect_went_on(INT64_C(1) << 40, (INT64_C(1) << 40) + FENCE_FLOOR_MARGIN);
}

static void survivors_keep_their_fleet_and_its_longest_lease(void **state)
{
    make_new();
    char fleet_id[FIELD_MAX];
    snprintf(fleet_id, sizeof(fleet_id), "%s", get(2, "fleet"));
    flush_all_but(2);
    scene.config.params.ttl_max_ms = TTL_MAX_MS + 1;
    expect_refused(0, FENCE_ECONFLICT, "--max-ttl-ms");
    scene.config.params.ttl_max_ms = 0;
    expect_went_on(0, FENCE_FLOOR_MARGIN);
    assert_string_equal(scene.made.fleet_id, fleet_id);
    assert_int_equal(scene.made.ttl_max_ms, TTL_MAX_MS);
    assert_int_equal(scene.made.survivors, 1);
    assert_int_equal(strtoll(get(0, "max_ttl_ms"), NULL, 10), TTL_MAX_MS);
}

static void incarnations_rise_above_all_that_survivors_know(void **state)
{
    make_new();
    set(1, "view", "99000000000000,5,77000000000000");
    flush_all_but(1);
    expect_went_on(0, FENCE_FLOOR_MARGIN);
    char first[FIELD_MAX];
    snprintf(first, sizeof(first), "%s", get(0, "view"));
    struct fence_view view;
    assert_int_equal(fence_view_parse(first, strlen(first), MASTERS, &view), 0);
    assert_true(view.incarnation[0] > 99000000000000 && view.incarnation[2] > 77000000000000);
    assert_true(view.incarnation[1] > INT64_C(1) << 36); /* above numbers that only others knew */
    assert_string_equal(get(1, "view"), first);
    assert_string_equal(get(2, "view"), first);
}

static void counter_that_leaves_no_room_is_refused(void **state)
{
    char highest[32];
    make_new();
    snprintf(highest, sizeof(highest), "%lld", (long long)FENCE_FLOOR_SEEN_MAX + 1);
    set(1, "12", highest);
    flush_all_but(1);
    expect_refused(0, FENCE_ECONFLICT, "2^53");
    expect_refused(FENCE_FLOOR_SEEN_MAX + 1, FENCE_ECONFLICT, "2^53");
    set(1, "12", "some");
    expect_refused(0, FENCE_EIO, "counter 12");
    expect_nobody_is_active();
    set(1, "12", "12");
    expect_went_on(FENCE_FLOOR_SEEN_MAX, FENCE_FLOOR_SEEN_MAX + FENCE_FLOOR_MARGIN);
}

static void look_at_what_waits(void)
{
    for (unsigned i = 0; i < MASTERS; i++) {
        assert_string_equal(get(i, "state"), "joining");
        assert_string_equal(get(i, "init"), "floor");
        assert_true(strtoll(get(i, "next"), NULL, 10) > 0);
        assert_int_equal(redis_fleet_integer(scene.fleet, i, "EXISTS pawl:lock:0"), 0);
        assert_int_equal(redis_fleet_integer(scene.fleet, i, "DBSIZE"), i == 1 ? 2 : 1);
    }
}

static void all_are_joining_without_locks_for_as_long_as_the_longest_lease(void **state)
{
    make_new();
    flush_all_but(1);
    freeReplyObject(redis_fleet_command(
        scene.fleet, 1, "EVAL %s 0 %d",
        "for i = 0, ARGV[1] - 1 do redis.call('SET', 'pawl:lock:' .. i, 'x', 'PX', 900000) end",
        LOCKS));
    freeReplyObject(redis_fleet_command(scene.fleet, 1, "SET another:program 1"));
    freeReplyObject(redis_fleet_command(scene.fleet, 2, "SET pawl:lock:0 left-behind"));
    assert_int_equal(redis_fleet_integer(scene.fleet, 1, "DBSIZE"), LOCKS + 2);

    scene.meanwhile = look_at_what_waits;
    uint64_t began_ms = wait_now_ms();
    expect_went_on(9, 9 + FENCE_FLOOR_MARGIN);
    /* The rest of the wait is announced: on a busy machine a part is over by then. */
    assert_in_range(scene.waited_ms, 1, TTL_MAX_MS + TTL_MAX_MS / 100 + 2);
    assert_true(wait_now_ms() - began_ms >= TTL_MAX_MS);
}

static void wipe_second(void)
{
    flush(1);
}

static void master_that_is_wiped_meanwhile_ends_it_at_once(void **state)
{
    scene.meanwhile = wipe_second;
    scene.config.params.ttl_max_ms = TTL_MAX_LONG_MS;
    expect_refused(0, FENCE_ECONFLICT, "master 2");
    assert_non_null(strstr(scene.why, "again"));
    expect_nobody_is_active();

    scene.meanwhile = NULL;
    scene.config.params.ttl_max_ms = TTL_MAX_MS;
    expect_went_on(0, FENCE_FLOOR_MARGIN);
}

static void restart_third(void)
{
    redis_fleet_kill(scene.fleet, 2);
    redis_fleet_restart(scene.fleet, 2, true);
}

static void master_that_restarts_meanwhile_ends_it_at_once(void **state)
{
    scene.meanwhile = restart_third;
    scene.config.params.ttl_max_ms = TTL_MAX_LONG_MS;
    expect_refused(0, FENCE_EIO, "master 3");
    expect_nobody_is_active();
}

/* The run that waits goes on afterwards with what it knows. */
static void run_another(void)
{
    const struct fence_bootstrap waits = scene.made;
    scene.meanwhile = NULL;
    expect_went_on(100, 100 + FENCE_FLOOR_MARGIN);
    scene.made = waits;
}

static void of_two_runs_at_once_the_later_one_counts(void **state)
{
    scene.meanwhile = run_another;
    expect_refused(0, FENCE_ECONFLICT, "another run");
    for (unsigned i = 0; i < MASTERS; i++) {
        assert_string_equal(get(i, "state"), "active");
        assert_int_equal(strtoll(get(i, "floor"), NULL, 10), 100 + FENCE_FLOOR_MARGIN);
    }
}

static void write_no_more(unsigned i, const char *replicas)
{
    freeReplyObject(
        redis_fleet_command(scene.fleet, i, "CONFIG SET min-replicas-to-write %s", replicas));
}

/* It takes no step that admits it. The looks at its claim go on. */
static void admit_no_more(unsigned i, const char *sign)
{
    freeReplyObject(redis_fleet_command(scene.fleet, i, "ACL SETUSER default %shset", sign));
}

static void stop_admission_of_first(void)
{
    admit_no_more(0, "-");
}

static void stop_admission_of_two(void)
{
    admit_no_more(0, "-");
    admit_no_more(1, "-");
}

static void stop_writing_to_first(void)
{
    write_no_more(0, "1");
}

static void master_that_takes_no_writes_ends_the_wait_before_any_is_admitted(void **state)
{
    scene.meanwhile = stop_writing_to_first;
    expect_refused(0, FENCE_EIO, "NOREPLICAS");
    expect_nobody_is_active();
}

static void majority_that_goes_on_is_left_to_pawld(void **state)
{
    scene.meanwhile = stop_admission_of_first;
    expect_refused(0, FENCE_EIO, "Do not run init again");
    assert_string_equal(get(0, "state"), "joining");
    assert_string_equal(get(1, "state"), "active");
    assert_string_equal(get(2, "state"), "active");
    admit_no_more(0, "+");
    expect_refused(0, FENCE_ECONFLICT, "nothing was lost: 2 of 3");
}

static void minority_that_goes_on_counts_in_the_next_run(void **state)
{
    scene.meanwhile = stop_admission_of_two;
    char advice[64];
    snprintf(advice, sizeof(advice), "--token-floor %lld", (long long)(5 + FENCE_FLOOR_MARGIN));
    expect_refused(5, FENCE_EIO, advice);
    assert_string_equal(get(2, "state"), "active");
    admit_no_more(0, "+");
    admit_no_more(1, "+");
    scene.meanwhile = NULL;
    expect_went_on(5, 5 + 2 * FENCE_FLOOR_MARGIN);
}

static void survivors_of_two_fleets_are_refused(void **state)
{
    make_new();
    flush(1);
    set(2, "fleet", FLEET_ID);
    expect_refused(0, FENCE_ECONFLICT, "belongs to the fleet " FLEET_ID);
    assert_string_equal(get(1, "state"), "");
}

static void survivor_in_anothers_place_is_refused(void **state)
{
    make_new();
    flush_all_but(2);
    set(2, "member", "1");
    expect_refused(0, FENCE_ECONFLICT, "member 1");
    assert_string_equal(get(0, "state"), "");
}

static void marker_that_cannot_be_read_is_refused(void **state)
{
    set(1, "fleet", FLEET_ID);
    expect_refused(0, FENCE_ECONFLICT, "redis-cli DEL pawl:fleet");
    flush(1);
    make_new();
    flush_all_but(2);
    set(2, "view", "1,2,9007190664806399");
    expect_refused(0, FENCE_ECONFLICT, "incarnation");
    assert_string_equal(get(0, "state"), "");
}

/* A survivor does not know all that it voted for if it was replaced, or is rejoining. */
static void survivors_that_may_have_forgotten_are_no_majority(void **state)
{
    static const struct {
        const char *field;
        const char *value;
    } rows[] = {
        {"state", "joining"},
        {"run", FLEET_ID},
        {"view", "1,1,1"}, /* the first recorded a higher one of it */
    };
    for (size_t k = 0; k < COUNT(rows); k++) {
        flush_all();
        make_new();
        flush(2);
        expect_refused(0, FENCE_ECONFLICT, "nothing was lost: 2 of 3");
        set(1, rows[k].field, rows[k].value);
        expect_went_on(0, FENCE_FLOOR_MARGIN);
        assert_int_equal(scene.made.survivors, 2);
    }
}

static void restart(unsigned i)
{
    redis_fleet_kill(scene.fleet, i);
    redis_fleet_restart(scene.fleet, i, true);
}

static void survivor_that_restarted_with_all_its_data_remembers(void **state)
{
    make_new();
    restart(0);
    restart(1);
    flush(2);
    expect_refused(0, FENCE_ECONFLICT, "nothing was lost: 2 of 3");
    set(1, "durable", "no");
    expect_went_on(0, FENCE_FLOOR_MARGIN);
}

static void survivor_whose_lineage_alone_changed_remembers(void **state)
{
    make_new();
    set(0, "lineage", FLEET_ID ":0"); /* as after a first replica */
    flush(2);
    expect_refused(0, FENCE_ECONFLICT, "nothing was lost: 2 of 3");
}

static void survivor_that_was_a_replica_meanwhile_does_not_remember(void **state)
{
    make_new();
    freeReplyObject(redis_fleet_command(scene.fleet, 1, "REPLICAOF 127.0.0.1 1"));
    freeReplyObject(redis_fleet_command(scene.fleet, 1, "REPLICAOF NO ONE"));
    flush(2);
    expect_went_on(0, FENCE_FLOOR_MARGIN);
    assert_int_equal(scene.made.survivors, 2);
}

static void new_fleet_that_was_half_made_grants_nothing_and_is_made_again(void **state)
{
    write_no_more(2, "1");
    assert_int_equal(make(), FENCE_EIO);
    assert_non_null(strstr(scene.why, "master 3"));
    assert_non_null(strstr(scene.why, "run init again"));
    assert_string_equal(get(0, "state"), "joining");
    assert_string_equal(get(0, "init"), "new");
    expect_nobody_is_active();
    write_no_more(2, "0");
    make_new();
    assert_string_equal(get(0, "floor"), "");
}

/* All masters were blank, so that nothing else tells of the tokens that were granted. */
static void floor_that_was_cut_short_is_not_made_a_new_fleet(void **state)
{
    write_no_more(2, "1");
    assert_int_equal(go_on(1000), FENCE_EIO);
    write_no_more(2, "0");
    assert_int_equal(make(), FENCE_ECONFLICT);
    assert_non_null(strstr(scene.why, "--token-floor"));
    expect_nobody_is_active();
    expect_went_on(1000, 1000 + FENCE_FLOOR_MARGIN);
}

#define SCENE_CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)

static const struct CMUnitTest cases[] = {
    SCENE_CASE(floor_is_above_what_guards_saw_and_what_survivors_counted),
    SCENE_CASE(survivors_keep_their_fleet_and_its_longest_lease),
    SCENE_CASE(incarnations_rise_above_all_that_survivors_know),
    SCENE_CASE(counter_that_leaves_no_room_is_refused),
    SCENE_CASE(all_are_joining_without_locks_for_as_long_as_the_longest_lease),
    SCENE_CASE(master_that_is_wiped_meanwhile_ends_it_at_once),
    SCENE_CASE(master_that_restarts_meanwhile_ends_it_at_once),
    SCENE_CASE(of_two_runs_at_once_the_later_one_counts),
    SCENE_CASE(master_that_takes_no_writes_ends_the_wait_before_any_is_admitted),
    SCENE_CASE(majority_that_goes_on_is_left_to_pawld),
    SCENE_CASE(minority_that_goes_on_counts_in_the_next_run),
    SCENE_CASE(survivors_of_two_fleets_are_refused),
    SCENE_CASE(survivor_in_anothers_place_is_refused),
    SCENE_CASE(marker_that_cannot_be_read_is_refused),
    SCENE_CASE(survivors_that_may_have_forgotten_are_no_majority),
    cmocka_unit_test_setup_teardown(survivor_that_restarted_with_all_its_data_remembers,
                                    start_durable, stop),
    SCENE_CASE(survivor_whose_lineage_alone_changed_remembers),
    SCENE_CASE(survivor_that_was_a_replica_meanwhile_does_not_remember),
    SCENE_CASE(new_fleet_that_was_half_made_grants_nothing_and_is_made_again),
    SCENE_CASE(floor_that_was_cut_short_is_not_made_a_new_fleet),
};

CASE_MAIN(cases, NULL, NULL)
