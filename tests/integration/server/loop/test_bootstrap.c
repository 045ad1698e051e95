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

struct scene {
    struct redis_fleet *fleet;
    struct storage_redis_url url[MASTERS];
    struct server_bootstrap_config config;
    struct fence_bootstrap made;
    char why[SERVER_BOOTSTRAP_WHY_MAX];
    uint64_t waited_ms;                  /* what was announced */
    void (*meanwhile)(struct scene *me); /* happens while it waits; NULL: nothing */
};

static int start_with(void **state, enum redis_persistence persistence)
{
    struct scene *scene = calloc(1, sizeof(*scene));
    assert_non_null(scene);
    scene->fleet = redis_fleet_new(MASTERS, persistence);
    scene->config = (struct server_bootstrap_config){
        .addresses = {.n = MASTERS, .urls = scene->url}, .params.ttl_max_ms = TTL_MAX_MS};
    for (unsigned i = 0; i < MASTERS; i++) {
        const char *why = "";
        assert_int_equal(storage_redis_url_parse(scene->fleet->master[i].url, &scene->url[i], &why),
                         0);
    }
    *state = scene;
    return 0;
}

static int start_durable(void **state)
{
    return start_with(state, REDIS_ALWAYS);
}

static int start(void **state)
{
    return start_with(state, REDIS_VOLATILE);
}

static int stop(void **state)
{
    struct scene *scene = *state;
    redis_fleet_free(scene->fleet);
    free(scene);
    return 0;
}

/* pawld init --new. */
static int make(struct scene *scene)
{
    scene->config.params.goes_on = false;
    scene->config.params.seen = 0;
    return server_bootstrap(&scene->config, &scene->made, scene->why);
}

static void make_new(struct scene *scene)
{
    int error = make(scene);
    assert_string_equal(scene->why, "");
    assert_int_equal(error, 0);
}

static void flush(struct scene *scene, unsigned i)
{
    freeReplyObject(redis_fleet_command(scene->fleet, i, "FLUSHALL"));
}

static void flush_all(struct scene *scene)
{
    for (unsigned i = 0; i < MASTERS; i++)
        flush(scene, i);
}

/* Master @i alone remembers what it was. */
static void flush_all_but(struct scene *scene, unsigned i)
{
    for (unsigned j = 0; j < MASTERS; j++)
        if (j != i)
            flush(scene, j);
}

static void set(struct scene *scene, unsigned i, const char *field, const char *value)
{
    freeReplyObject(redis_fleet_command(scene->fleet, i, "HSET pawl:fleet %s %s", field, value));
}

/* The field of master @i's hash; "" where it is not there. Static, until the next call. */
static const char *get(struct scene *scene, unsigned i, const char *field)
{
    static char value[FIELD_MAX];
    redisReply *reply = redis_fleet_command(scene->fleet, i, "HGET pawl:fleet %s", field);
    snprintf(value, sizeof(value), "%s", reply->type == REDIS_REPLY_STRING ? reply->str : "");
    freeReplyObject(reply);
    return value;
}

static void on_wait(void *context, const struct fence_bootstrap *run, uint64_t wait_ms)
{
    struct scene *scene = context;
    scene->waited_ms = wait_ms;
    if (scene->meanwhile)
        scene->meanwhile(scene);
}

/* pawld init --token-floor @seen. What it does meanwhile may be another run. */
static int go_on(struct scene *scene, int64_t seen)
{
    scene->config.params.goes_on = true;
    scene->config.params.seen = seen;
    scene->config.waits = on_wait;
    scene->config.context = scene;
    const struct server_bootstrap_config config = scene->config;
    return server_bootstrap(&config, &scene->made, scene->why);
}

static void expect_went_on(struct scene *scene, int64_t seen, int64_t floor)
{
    int error = go_on(scene, seen);
    assert_string_equal(scene->why, "");
    assert_int_equal(error, 0);
    assert_int_equal(scene->made.floor, floor);
    for (unsigned i = 0; i < MASTERS; i++) {
        assert_string_equal(get(scene, i, "state"), "active");
        assert_string_equal(get(scene, i, "next"), "");
        assert_string_equal(get(scene, i, "init"), "");
        assert_string_equal(get(scene, i, "fleet"), scene->made.fleet_id);
        assert_int_equal(strtoll(get(scene, i, "member"), NULL, 10), i + 1);
        assert_int_equal(strtoll(get(scene, i, "floor"), NULL, 10), floor);
    }
}

/* It fails, and says @what. */
static void expect_refused(struct scene *scene, int64_t seen, int error, const char *what)
{
    int failed = go_on(scene, seen);
    if (failed != error || !strstr(scene->why, what))
        fail_msg("%d, and it says: %s", failed, scene->why);
}

static void expect_nobody_is_active(struct scene *scene)
{
    for (unsigned i = 0; i < MASTERS; i++)
        assert_string_not_equal(get(scene, i, "state"), "active");
}

static void floor_is_above_what_guards_saw_and_what_survivors_counted(void **state)
{
    struct scene *scene = *state;
    static const char *const counters[] = {"0", "16383", "n:invoices"};
    for (size_t k = 0; k < COUNT(counters); k++) {
        flush_all(scene);
        make_new(scene);
        set(scene, 1, counters[k], "5000");
        set(scene, 1, "7", "4000");
        flush_all_but(scene, 1);
        expect_went_on(scene, 4999, 5000 + FENCE_FLOOR_MARGIN);

        /* And once more: now the floor is what the survivor shows. */
        flush_all_but(scene, 1);
        expect_went_on(scene, 4999, 5000 + 2 * FENCE_FLOOR_MARGIN);
    }
    flush_all_but(scene, 0);
    expect_went_on(scene, INT64_C(1) << 40, (INT64_C(1) << 40) + FENCE_FLOOR_MARGIN);
}

static void survivors_keep_their_fleet_and_its_longest_lease(void **state)
{
    struct scene *scene = *state;
    make_new(scene);
    char fleet_id[FIELD_MAX];
    snprintf(fleet_id, sizeof(fleet_id), "%s", get(scene, 2, "fleet"));
    flush_all_but(scene, 2);
    scene->config.params.ttl_max_ms = TTL_MAX_MS + 1;
    expect_refused(scene, 0, FENCE_ECONFLICT, "--max-ttl-ms");
    scene->config.params.ttl_max_ms = 0;
    expect_went_on(scene, 0, FENCE_FLOOR_MARGIN);
    assert_string_equal(scene->made.fleet_id, fleet_id);
    assert_int_equal(scene->made.ttl_max_ms, TTL_MAX_MS);
    assert_int_equal(scene->made.survivors, 1);
    assert_int_equal(strtoll(get(scene, 0, "max_ttl_ms"), NULL, 10), TTL_MAX_MS);
}

static void incarnations_rise_above_all_that_survivors_know(void **state)
{
    struct scene *scene = *state;
    make_new(scene);
    set(scene, 1, "view", "99000000000000,5,77000000000000");
    flush_all_but(scene, 1);
    expect_went_on(scene, 0, FENCE_FLOOR_MARGIN);
    char first[FIELD_MAX];
    snprintf(first, sizeof(first), "%s", get(scene, 0, "view"));
    struct fence_view view;
    assert_int_equal(fence_view_parse(first, strlen(first), MASTERS, &view), 0);
    assert_true(view.incarnation[0] > 99000000000000 && view.incarnation[2] > 77000000000000);
    assert_true(view.incarnation[1] > INT64_C(1) << 36); /* above those that only others knew */
    assert_string_equal(get(scene, 1, "view"), first);
    assert_string_equal(get(scene, 2, "view"), first);
}

static void counter_that_leaves_no_room_is_refused(void **state)
{
    struct scene *scene = *state;
    char highest[32];
    make_new(scene);
    snprintf(highest, sizeof(highest), "%lld", (long long)FENCE_FLOOR_SEEN_MAX + 1);
    set(scene, 1, "12", highest);
    flush_all_but(scene, 1);
    expect_refused(scene, 0, FENCE_ECONFLICT, "2^53");
    expect_refused(scene, FENCE_FLOOR_SEEN_MAX + 1, FENCE_ECONFLICT, "2^53");
    set(scene, 1, "12", "some");
    expect_refused(scene, 0, FENCE_EIO, "counter 12");
    expect_nobody_is_active(scene);
    set(scene, 1, "12", "12");
    expect_went_on(scene, FENCE_FLOOR_SEEN_MAX, FENCE_FLOOR_SEEN_MAX + FENCE_FLOOR_MARGIN);
}

static void look_at_what_waits(struct scene *scene)
{
    for (unsigned i = 0; i < MASTERS; i++) {
        assert_string_equal(get(scene, i, "state"), "joining");
        assert_string_equal(get(scene, i, "init"), "floor");
        assert_true(strtoll(get(scene, i, "next"), NULL, 10) > 0);
        assert_int_equal(redis_fleet_integer(scene->fleet, i, "EXISTS pawl:lock:0"), 0);
        assert_int_equal(redis_fleet_integer(scene->fleet, i, "DBSIZE"), i == 1 ? 2 : 1);
    }
}

static void all_are_joining_without_locks_for_as_long_as_the_longest_lease(void **state)
{
    struct scene *scene = *state;
    make_new(scene);
    flush_all_but(scene, 1);
    freeReplyObject(redis_fleet_command(
        scene->fleet, 1, "EVAL %s 0 %d",
        "for i = 0, ARGV[1] - 1 do redis.call('SET', 'pawl:lock:' .. i, 'x', 'PX', 900000) end",
        LOCKS));
    freeReplyObject(redis_fleet_command(scene->fleet, 1, "SET another:program 1"));
    freeReplyObject(redis_fleet_command(scene->fleet, 2, "SET pawl:lock:0 left-behind"));
    assert_int_equal(redis_fleet_integer(scene->fleet, 1, "DBSIZE"), LOCKS + 2);

    scene->meanwhile = look_at_what_waits;
    uint64_t began_ms = wait_now_ms();
    expect_went_on(scene, 9, 9 + FENCE_FLOOR_MARGIN);
    assert_in_range(scene->waited_ms, TTL_MAX_MS, TTL_MAX_MS + TTL_MAX_MS / 100 + 2);
    assert_true(wait_now_ms() - began_ms >= scene->waited_ms);
}

static void wipe_second(struct scene *scene)
{
    flush(scene, 1);
}

static void master_that_is_wiped_meanwhile_ends_it_at_once(void **state)
{
    struct scene *scene = *state;
    scene->meanwhile = wipe_second;
    scene->config.params.ttl_max_ms = TTL_MAX_LONG_MS;
    expect_refused(scene, 0, FENCE_ECONFLICT, "master 2");
    assert_non_null(strstr(scene->why, "again"));
    expect_nobody_is_active(scene);

    scene->meanwhile = NULL;
    scene->config.params.ttl_max_ms = TTL_MAX_MS;
    expect_went_on(scene, 0, FENCE_FLOOR_MARGIN);
}

static void restart_third(struct scene *scene)
{
    redis_fleet_kill(scene->fleet, 2);
    redis_fleet_restart(scene->fleet, 2, true);
}

static void master_that_restarts_meanwhile_ends_it_at_once(void **state)
{
    struct scene *scene = *state;
    scene->meanwhile = restart_third;
    scene->config.params.ttl_max_ms = TTL_MAX_LONG_MS;
    expect_refused(scene, 0, FENCE_EIO, "master 3");
    expect_nobody_is_active(scene);
}

/* The run that waits goes on afterwards with what it knows. */
static void run_another(struct scene *scene)
{
    const struct fence_bootstrap waits = scene->made;
    scene->meanwhile = NULL;
    expect_went_on(scene, 100, 100 + FENCE_FLOOR_MARGIN);
    scene->made = waits;
}

static void of_two_runs_at_once_the_later_one_counts(void **state)
{
    struct scene *scene = *state;
    scene->meanwhile = run_another;
    expect_refused(scene, 0, FENCE_ECONFLICT, "another run");
    for (unsigned i = 0; i < MASTERS; i++) {
        assert_string_equal(get(scene, i, "state"), "active");
        assert_int_equal(strtoll(get(scene, i, "floor"), NULL, 10), 100 + FENCE_FLOOR_MARGIN);
    }
}

static void write_no_more(struct scene *scene, unsigned i, const char *replicas)
{
    freeReplyObject(
        redis_fleet_command(scene->fleet, i, "CONFIG SET min-replicas-to-write %s", replicas));
}

/* It takes no step that admits it. The looks at its claim go on. */
static void admit_no_more(struct scene *scene, unsigned i, const char *sign)
{
    freeReplyObject(redis_fleet_command(scene->fleet, i, "ACL SETUSER default %shset", sign));
}

static void stop_admission_of_first(struct scene *scene)
{
    admit_no_more(scene, 0, "-");
}

static void stop_admission_of_two(struct scene *scene)
{
    admit_no_more(scene, 0, "-");
    admit_no_more(scene, 1, "-");
}

static void stop_writing_to_first(struct scene *scene)
{
    write_no_more(scene, 0, "1");
}

static void master_that_takes_no_writes_ends_the_wait_before_any_is_admitted(void **state)
{
    struct scene *scene = *state;
    scene->meanwhile = stop_writing_to_first;
    expect_refused(scene, 0, FENCE_EIO, "NOREPLICAS");
    expect_nobody_is_active(scene);
}

static void majority_that_goes_on_is_left_to_pawld(void **state)
{
    struct scene *scene = *state;
    scene->meanwhile = stop_admission_of_first;
    expect_refused(scene, 0, FENCE_EIO, "Do not run init again");
    assert_string_equal(get(scene, 0, "state"), "joining");
    assert_string_equal(get(scene, 1, "state"), "active");
    assert_string_equal(get(scene, 2, "state"), "active");
    admit_no_more(scene, 0, "+");
    expect_refused(scene, 0, FENCE_ECONFLICT, "nothing was lost: 2 of 3");
}

static void minority_that_goes_on_counts_in_the_next_run(void **state)
{
    struct scene *scene = *state;
    scene->meanwhile = stop_admission_of_two;
    char advice[64];
    snprintf(advice, sizeof(advice), "--token-floor %lld", (long long)(5 + FENCE_FLOOR_MARGIN));
    expect_refused(scene, 5, FENCE_EIO, advice);
    assert_string_equal(get(scene, 2, "state"), "active");
    admit_no_more(scene, 0, "+");
    admit_no_more(scene, 1, "+");
    scene->meanwhile = NULL;
    expect_went_on(scene, 5, 5 + 2 * FENCE_FLOOR_MARGIN);
}

static void survivors_of_two_fleets_are_refused(void **state)
{
    struct scene *scene = *state;
    make_new(scene);
    flush(scene, 1);
    set(scene, 2, "fleet", FLEET_ID);
    expect_refused(scene, 0, FENCE_ECONFLICT, "belongs to the fleet " FLEET_ID);
    assert_string_equal(get(scene, 1, "state"), "");
}

static void survivor_in_anothers_place_is_refused(void **state)
{
    struct scene *scene = *state;
    make_new(scene);
    flush_all_but(scene, 2);
    set(scene, 2, "member", "1");
    expect_refused(scene, 0, FENCE_ECONFLICT, "member 1");
    assert_string_equal(get(scene, 0, "state"), "");
}

static void marker_that_cannot_be_read_is_refused(void **state)
{
    struct scene *scene = *state;
    set(scene, 1, "fleet", FLEET_ID);
    expect_refused(scene, 0, FENCE_ECONFLICT, "redis-cli DEL pawl:fleet");
    flush(scene, 1);
    make_new(scene);
    flush_all_but(scene, 2);
    set(scene, 2, "view", "1,2,9007190664806399");
    expect_refused(scene, 0, FENCE_ECONFLICT, "incarnation");
    assert_string_equal(get(scene, 0, "state"), "");
}

/* A survivor does not know all that it voted for if it was replaced, or is being taken back. */
static void survivors_that_may_have_forgotten_are_no_majority(void **state)
{
    struct scene *scene = *state;
    static const struct {
        const char *field;
        const char *value;
    } rows[] = {
        {"state", "joining"},
        {"run", FLEET_ID},
        {"view", "1,1,1"}, /* the first recorded a higher one of it */
    };
    for (size_t k = 0; k < COUNT(rows); k++) {
        flush_all(scene);
        make_new(scene);
        flush(scene, 2);
        expect_refused(scene, 0, FENCE_ECONFLICT, "nothing was lost: 2 of 3");
        set(scene, 1, rows[k].field, rows[k].value);
        expect_went_on(scene, 0, FENCE_FLOOR_MARGIN);
        assert_int_equal(scene->made.survivors, 2);
    }
}

static void restart(struct scene *scene, unsigned i)
{
    redis_fleet_kill(scene->fleet, i);
    redis_fleet_restart(scene->fleet, i, true);
}

static void survivor_that_restarted_with_all_its_data_remembers(void **state)
{
    struct scene *scene = *state;
    make_new(scene);
    restart(scene, 0);
    restart(scene, 1);
    flush(scene, 2);
    expect_refused(scene, 0, FENCE_ECONFLICT, "nothing was lost: 2 of 3");
    set(scene, 1, "durable", "no");
    expect_went_on(scene, 0, FENCE_FLOOR_MARGIN);
}

static void survivor_whose_lineage_alone_changed_remembers(void **state)
{
    struct scene *scene = *state;
    make_new(scene);
    set(scene, 0, "lineage", FLEET_ID ":0"); /* as after a first replica */
    flush(scene, 2);
    expect_refused(scene, 0, FENCE_ECONFLICT, "nothing was lost: 2 of 3");
}

static void survivor_that_was_a_replica_meanwhile_does_not_remember(void **state)
{
    struct scene *scene = *state;
    make_new(scene);
    freeReplyObject(redis_fleet_command(scene->fleet, 1, "REPLICAOF 127.0.0.1 1"));
    freeReplyObject(redis_fleet_command(scene->fleet, 1, "REPLICAOF NO ONE"));
    flush(scene, 2);
    expect_went_on(scene, 0, FENCE_FLOOR_MARGIN);
    assert_int_equal(scene->made.survivors, 2);
}

static void new_fleet_that_was_half_made_grants_nothing_and_is_made_again(void **state)
{
    struct scene *scene = *state;
    write_no_more(scene, 2, "1");
    assert_int_equal(make(scene), FENCE_EIO);
    assert_non_null(strstr(scene->why, "master 3"));
    assert_non_null(strstr(scene->why, "run init again"));
    assert_string_equal(get(scene, 0, "state"), "joining");
    assert_string_equal(get(scene, 0, "init"), "new");
    expect_nobody_is_active(scene);
    write_no_more(scene, 2, "0");
    make_new(scene);
    assert_string_equal(get(scene, 0, "floor"), "");
}

/* All masters were blank, so that nothing else tells of the tokens that were granted. */
static void floor_that_was_cut_short_is_not_made_a_new_fleet(void **state)
{
    struct scene *scene = *state;
    write_no_more(scene, 2, "1");
    assert_int_equal(go_on(scene, 1000), FENCE_EIO);
    write_no_more(scene, 2, "0");
    assert_int_equal(make(scene), FENCE_ECONFLICT);
    assert_non_null(strstr(scene->why, "--token-floor"));
    expect_nobody_is_active(scene);
    expect_went_on(scene, 1000, 1000 + FENCE_FLOOR_MARGIN);
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
