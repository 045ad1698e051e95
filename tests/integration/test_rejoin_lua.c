/* The scripts that take a master back, on a real Redis: each rule that the argument leans on. The
 * master under test is the second of three, except where it is one of those that record. */
#include "fence/fleet.h"
#include "storage/redis_rejoin.h"
#include "tests/lib/case.h"
#include "tests/lib/redis_fleet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FLEET_ID  "f1ee7f1ee7f1ee7f1ee7f1ee7f1ee7f1ee7f1ee7"
#define RUN_THEN  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define RUN_NOW   "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define NONCE     UINT64_C(0x00112233445566aa)
#define NONCE_HEX "00112233445566aa"

enum {
    MASTERS = 3,
    ME = 1, /* from 0 */
    TTL_MAX_MS = 2000,
};

static struct redis_fleet *fleet; /* of one server, which plays the part it is given */
static redisContext *link;
static struct fence_counters *counters;
static struct fence_view known;

static int start(void **state)
{
    (void)state;
    fleet = redis_fleet_new(1, REDIS_VOLATILE);
    link = redisConnect("127.0.0.1", fleet->master[0].port);
    assert_true(link && !link->err);
    counters = calloc(1, sizeof(*counters));
    assert_non_null(counters);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    free(counters);
    redisFree(link);
    redis_fleet_free(fleet);
    return 0;
}

static void redis(const char *command)
{
    freeReplyObject(redis_fleet_command(fleet, 0, command));
}

static void assert_field(const char *field, const char *expected)
{
    redisReply *reply = redis_fleet_command(fleet, 0, "HGET pawl:fleet %s", field);
    if (expected)
        assert_string_equal(reply->str, expected);
    else
        assert_int_equal(reply->type, REDIS_REPLY_NIL);
    freeReplyObject(reply);
}

/* The marker of member @member, active, in a fleet that knows incarnations 10, 20 and 30. */
static void mark(const char *member)
{
    freeReplyObject(redis_fleet_command(fleet, 0,
                                        "HSET pawl:fleet fleet " FLEET_ID " member %s run " RUN_THEN
                                        " max_ttl_ms 2000 durable yes state active view 10,20,30",
                                        member));
}

static struct fence_facts facts_of_mark(void)
{
    return (struct fence_facts){
        .run_id = RUN_NOW,
        .marked = true,
        .fleet_id = FLEET_ID,
        .member = ME + 1,
        .marked_run_id = RUN_THEN,
        .marked_durable = true,
        .marked_active = true,
        .ttl_max_ms = TTL_MAX_MS,
        .view = {{10, 20, 30}},
    };
}

static struct fence_rejoin_reply run(struct fence_rejoin_request request, unsigned to)
{
    static const struct fence_view view = {{10, 20, 30}};
    static struct fence_facts facts;
    facts = facts_of_mark();
    request.member = ME;
    request.fleet_id = FLEET_ID;
    request.ttl_max_ms = TTL_MAX_MS;
    if (!request.nonce)
        request.nonce = NONCE;
    if (!request.view)
        request.view = &view;
    if (!request.seen)
        request.seen = &facts;
    char *command = NULL;
    size_t len = 0;
    assert_int_equal(storage_rejoin_command(&request, to, MASTERS, &command, &len), 0);
    assert_int_equal(redisAppendFormattedCommand(link, command, len), REDIS_OK);
    redisFreeCommand(command);
    redisReply *reply = NULL;
    assert_int_equal(redisGetReply(link, (void **)&reply), REDIS_OK);
    if (reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, "PAWL", 4) != 0)
        fail_msg("%s", reply->str);
    struct fence_rejoin_reply read =
        storage_rejoin_reply(request.step, reply, MASTERS, counters, &known);
    freeReplyObject(reply);
    return read;
}

static enum fence_rejoin_outcome step(enum fence_rejoin_step step)
{
    return run((struct fence_rejoin_request){.step = step}, ME).outcome;
}

/* ---- claim ----------------------------------------------------------------------------------- */

static void claim_of_a_blank_master_marks_it_as_joining(void **state)
{
    (void)state;
    const struct fence_facts blank = {.run_id = RUN_NOW, .durable = true};
    struct fence_rejoin_request claim = {.step = FENCE_REJOIN_CLAIM, .seen = &blank};
    assert_int_equal(run(claim, ME).outcome, FENCE_REJOIN_DONE);
    assert_field("fleet", FLEET_ID);
    assert_field("member", "2");
    assert_field("run", RUN_NOW);
    assert_field("max_ttl_ms", "2000");
    assert_field("durable", "yes");
    assert_field("next", NULL);
    assert_field("state", "joining");
    assert_field("nonce", NONCE_HEX);
    assert_field("view", "10,20,30");
}

static void claim_of_a_master_that_is_not_blank_any_more_changes_nothing(void **state)
{
    (void)state;
    const struct fence_facts blank = {.run_id = RUN_NOW};
    mark("2");
    struct fence_rejoin_request claim = {.step = FENCE_REJOIN_CLAIM, .seen = &blank};
    assert_int_equal(run(claim, ME).outcome, FENCE_REJOIN_CHANGED);
    assert_field("state", "active");
    assert_field("nonce", NULL);
}

static void claim_wants_the_marker_as_it_was_seen(void **state)
{
    (void)state;
    static const char *const changes[] = {"fleet other",   "member 3",   "run another",
                                          "state joining", "nonce 1111", "view 10,20,31"};
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        char change[64];
        redis("FLUSHALL");
        mark("2");
        snprintf(change, sizeof(change), "HSET pawl:fleet %s", changes[i]);
        redis(change);
        assert_int_equal(step(FENCE_REJOIN_CLAIM), FENCE_REJOIN_CHANGED);
    }
}

static void claim_keeps_what_the_master_recorded_of_others(void **state)
{
    (void)state;
    mark("2");
    const struct fence_view named = {{9, 99, 31}};
    struct fence_rejoin_request claim = {.step = FENCE_REJOIN_CLAIM, .view = &named};
    assert_int_equal(run(claim, ME).outcome, FENCE_REJOIN_DONE);
    assert_field("view", "10,20,31"); /* and its own incarnation stays what it was */
}

static void claim_that_keeps_locks_leaves_all_but_the_nonce(void **state)
{
    (void)state;
    mark("2");
    struct fence_rejoin_request claim = {
        .step = FENCE_REJOIN_CLAIM, .keep_locks = true, .incarnation = 25};
    assert_int_equal(run(claim, ME).outcome, FENCE_REJOIN_DONE);
    assert_field("state", "active");
    assert_field("run", RUN_THEN);
    assert_field("nonce", NONCE_HEX);
    assert_field("next", "25");
    assert_field("view", "10,20,30");
}

/* ---- wipe ------------------------------------------------------------------------------------ */

static void wipe_removes_all_locks_and_nothing_else(void **state)
{
    (void)state;
    enum {
        LOCKS = 5000,
    };
    mark("2");
    for (int i = 0; i < LOCKS; i++)
        assert_int_equal(redisAppendCommand(link, "SET pawl:lock:%d x", i), REDIS_OK);
    for (int i = 0; i < LOCKS; i++) {
        void *reply = NULL;
        assert_int_equal(redisGetReply(link, &reply), REDIS_OK);
        freeReplyObject(reply);
    }
    redis("SET somebody-elses x");
    redis("HSET pawl:fleet nonce " NONCE_HEX);
    struct fence_rejoin_request wipe = {.step = FENCE_REJOIN_WIPE};
    unsigned calls = 0;
    do {
        struct fence_rejoin_reply reply = run(wipe, ME);
        assert_int_equal(reply.outcome, FENCE_REJOIN_DONE);
        wipe.cursor = reply.cursor;
        calls++;
    } while (wipe.cursor != 0);
    assert_true(calls >= 2); /* in bounded steps, */
    redisReply *progress = redis_fleet_command(fleet, 0, "HGET pawl:fleet progress");
    assert_int_equal(strtoul(progress->str, NULL, 10), calls); /* each of which others can see */
    freeReplyObject(progress);
    assert_int_equal(redis_fleet_integer(fleet, 0, "DBSIZE"), 2);
}

static void wipe_under_another_nonce_removes_nothing(void **state)
{
    (void)state;
    mark("2");
    redis("SET pawl:lock:a x");
    assert_int_equal(step(FENCE_REJOIN_WIPE), FENCE_REJOIN_CHANGED);
    redis("HSET pawl:fleet nonce ffffffffffffffff");
    assert_int_equal(step(FENCE_REJOIN_WIPE), FENCE_REJOIN_CHANGED);
    assert_int_equal(redis_fleet_integer(fleet, 0, "EXISTS pawl:lock:a"), 1);
}

/* ---- record ---------------------------------------------------------------------------------- */

static struct fence_rejoin_reply record_from(uint64_t cursor, int64_t a, int64_t b, int64_t c)
{
    static struct fence_view view;
    view = (struct fence_view){{a, b, c}};
    return run(
        (struct fence_rejoin_request){.step = FENCE_REJOIN_RECORD, .view = &view, .cursor = cursor},
        0);
}

static struct fence_rejoin_reply record(int64_t a, int64_t b, int64_t c)
{
    return record_from(0, a, b, c);
}

static void record_answers_every_counter_and_keeps_the_incarnation(void **state)
{
    (void)state;
    mark("1");
    redis("HSET pawl:fleet 0 7 16383 9007199254740991 42 100000000000000 floor 4294967296");
    struct fence_rejoin_reply reply = record(10, 25, 30);
    assert_int_equal(reply.outcome, FENCE_REJOIN_DONE);
    assert_true(reply.counters->slot[0] == 7);
    assert_true(reply.counters->slot[42] == INT64_C(100000000000000));
    assert_true(reply.counters->slot[1] == 0);
    assert_true(reply.counters->floor == INT64_C(4294967296));
    assert_field("view", "10,25,30");
    unsigned calls = 1;
    for (; reply.cursor != 0; calls++) {
        reply = record_from(reply.cursor, 10, 25, 30);
        assert_int_equal(reply.outcome, FENCE_REJOIN_DONE);
    }
    assert_int_equal(calls, FENCE_SLOTS / STORAGE_READ_AT_A_TIME);
    assert_true(reply.counters->slot[16383] == FENCE_TOKEN_MAX);
}

static void record_of_a_lower_incarnation_is_refused_with_what_is_known(void **state)
{
    (void)state;
    mark("1");
    struct fence_rejoin_reply reply = record(10, 19, 30);
    assert_int_equal(reply.outcome, FENCE_REJOIN_CHANGED);
    assert_int_equal(reply.view->incarnation[ME], 20);
    assert_field("view", "10,20,30");
}

static void record_under_another_view_of_the_others_is_refused(void **state)
{
    (void)state;
    mark("1");
    assert_int_equal(record(9, 25, 30).outcome, FENCE_REJOIN_CHANGED);  /* it is another itself */
    assert_int_equal(record(11, 25, 30).outcome, FENCE_REJOIN_CHANGED); /* it was replaced */
    assert_int_equal(record(10, 25, 29).outcome, FENCE_REJOIN_CHANGED); /* it knows more */
    assert_field("view", "10,20,30");
    assert_int_equal(record(10, 25, 31).outcome, FENCE_REJOIN_DONE); /* it is told more */
    assert_field("view", "10,25,31");
}

static void master_that_is_not_active_does_not_record(void **state)
{
    (void)state;
    assert_int_equal(record(10, 25, 30).outcome, FENCE_REJOIN_LOST);
    mark("1");
    redis("HSET pawl:fleet state joining");
    assert_int_equal(record(10, 25, 30).outcome, FENCE_REJOIN_LOST);
    mark("3");
    assert_int_equal(record(10, 25, 30).outcome, FENCE_REJOIN_LOST);
    assert_field("view", "10,20,30");
}

/* ---- admit ----------------------------------------------------------------------------------- */

static struct fence_rejoin_reply admit(const struct fence_counters *read)
{
    static const struct fence_view view = {{10, 25, 31}};
    return run(
        (struct fence_rejoin_request){.step = FENCE_REJOIN_ADMIT, .view = &view, .counters = read},
        ME);
}

static void admission_raises_counters_and_lowers_none(void **state)
{
    (void)state;
    struct fence_counters *read = calloc(1, sizeof(*read));
    assert_non_null(read);
    for (unsigned slot = 0; slot < FENCE_SLOTS; slot++)
        read->slot[slot] = slot == 1 ? 0 : INT64_C(4503599627370495) + slot;
    mark("2");
    redis("HSET pawl:fleet state joining nonce " NONCE_HEX
          " next 25 progress 9 1 5 2 9007199254740991 floor 3");
    assert_int_equal(admit(read).outcome, FENCE_REJOIN_DONE);
    assert_field("0", "4503599627370495");
    assert_field("1", "5");
    assert_field("2", "9007199254740991");
    assert_field("16383", "4503599627386878");
    assert_field("floor", "3");
    assert_field("state", "active");
    assert_field("run", RUN_NOW);
    assert_field("durable", "no"); /* as it is now */
    assert_field("nonce", NULL);
    assert_field("next", NULL);
    assert_field("progress", NULL);
    assert_field("view", "10,25,31");
    free(read);
}

static void admission_keeps_higher_incarnations_of_others(void **state)
{
    (void)state;
    mark("2");
    redis("HSET pawl:fleet state joining nonce " NONCE_HEX " view 11,26,30");
    assert_int_equal(admit(counters).outcome, FENCE_REJOIN_DONE);
    assert_field("view", "11,25,31"); /* its own is the one it is admitted as */
}

static void admission_happens_once(void **state)
{
    (void)state;
    mark("2");
    redis("HSET pawl:fleet state joining nonce " NONCE_HEX);
    assert_int_equal(admit(counters).outcome, FENCE_REJOIN_DONE);
    redis("HSET pawl:fleet run x");
    assert_int_equal(admit(counters).outcome, FENCE_REJOIN_CHANGED);
    assert_field("run", "x");
}

/* The master forgot again, and a late copy of the claim brought the nonce back. */
static void admission_wants_what_was_wiped_since_the_claim(void **state)
{
    (void)state;
    const struct fence_view view = {{10, 25, 31}};
    struct fence_rejoin_request request = {
        .step = FENCE_REJOIN_ADMIT, .view = &view, .counters = counters, .wiped = 1};
    mark("2");
    redis("HSET pawl:fleet state joining nonce " NONCE_HEX);
    assert_int_equal(run(request, ME).outcome, FENCE_REJOIN_CHANGED);
    assert_field("state", "joining");
    redis("HSET pawl:fleet progress 1");
    assert_int_equal(run(request, ME).outcome, FENCE_REJOIN_DONE);
}

static void admission_under_another_nonce_does_nothing(void **state)
{
    (void)state;
    mark("2");
    redis("HSET pawl:fleet state joining nonce ffffffffffffffff");
    assert_int_equal(admit(counters).outcome, FENCE_REJOIN_CHANGED);
    assert_field("state", "joining");
    assert_field("view", "10,20,30");
}

#define SCRIPT_CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)

static const struct CMUnitTest cases[] = {
    SCRIPT_CASE(claim_of_a_blank_master_marks_it_as_joining),
    SCRIPT_CASE(claim_of_a_master_that_is_not_blank_any_more_changes_nothing),
    SCRIPT_CASE(claim_wants_the_marker_as_it_was_seen),
    SCRIPT_CASE(claim_keeps_what_the_master_recorded_of_others),
    SCRIPT_CASE(claim_that_keeps_locks_leaves_all_but_the_nonce),
    SCRIPT_CASE(wipe_removes_all_locks_and_nothing_else),
    SCRIPT_CASE(wipe_under_another_nonce_removes_nothing),
    SCRIPT_CASE(record_answers_every_counter_and_keeps_the_incarnation),
    SCRIPT_CASE(record_of_a_lower_incarnation_is_refused_with_what_is_known),
    SCRIPT_CASE(record_under_another_view_of_the_others_is_refused),
    SCRIPT_CASE(master_that_is_not_active_does_not_record),
    SCRIPT_CASE(admission_raises_counters_and_lowers_none),
    SCRIPT_CASE(admission_keeps_higher_incarnations_of_others),
    SCRIPT_CASE(admission_happens_once),
    SCRIPT_CASE(admission_wants_what_was_wiped_since_the_claim),
    SCRIPT_CASE(admission_under_another_nonce_does_nothing),
};

CASE_MAIN(cases, NULL, NULL)
