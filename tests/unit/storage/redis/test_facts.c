/* The values from a Redis' answers, on answers as they come over the wire. */
#include "tests/lib/case.h"
#include "tests/unit/storage/redis/facts_fixture.h"
#include "tests/unit/storage/redis/wire.h"

#include <stdio.h>
#include <string.h>

static struct storage_reading info_reading(const char *more)
{
    struct storage_reading reading = {.promoted = true};
    facts_read_info(more, &reading);
    assert_string_equal(reading.facts.server_id, FACTS_RUN_ID);
    assert_int_equal(reading.server.version, 70015);
    return reading;
}

static struct fence_facts info(const char *more)
{
    return info_reading(more).facts;
}

static bool may_evict(const char *more)
{
    struct storage_reading reading = info_reading(more);
    assert_true(reading.server.evicts ==
                (reading.facts.unfit && strcmp(reading.facts.unfit->name, "evicts") == 0));
    return reading.server.evicts;
}

static struct storage_reading config(const char *aof, const char *fsync, const char *rewrite)
{
    struct storage_reading reading = {.configured = true}; /* as an earlier probe found it */
    facts_read_config(aof, fsync, rewrite, &reading);
    return reading;
}

static uint64_t time_us(const char *wire)
{
    redisReply *reply = wire_reply(wire);
    uint64_t us = storage_facts_time_us(reply);
    freeReplyObject(reply);
    return us;
}

static void server_without_a_name_is_a_redis(void **state)
{
    struct fence_facts facts = info("");
    assert_string_equal(facts.server, "redis");
    assert_string_equal(facts.version, "7.0.15");
}

static void server_with_a_name_has_a_version_of_its_own(void **state)
{
    struct fence_facts facts = info("server_name:valkey\r\nvalkey_version:8.1.1\r\n");
    assert_string_equal(facts.server, "valkey");
    assert_string_equal(facts.version, "8.1.1");
    facts = info("redict_version:7.3.6\r\n");
    assert_string_equal(facts.server, "redict");
    assert_string_equal(facts.version, "7.3.6");
    facts = info("server_name:other\r\n");
    assert_string_equal(facts.server, "other");
    assert_string_equal(facts.version, "7.0.15");
}

/* It is shown to people and to their terminals. */
static void name_that_is_too_long_or_not_plain_is_not_taken(void **state)
{
    static const char *const names[] = {
        "server_name:0123456789012345678901234567890123456789\r\n",
        "server_name:val\x1b[31mkey\r\n",
    };
    for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
        assert_string_equal(info(names[k]).server, "redis");
}

static void keys_may_be_dropped_where_memory_is_bounded_and_the_policy_drops(void **state)
{
    assert_true(may_evict("maxmemory:1048576\r\nmaxmemory_policy:allkeys-lru\r\n"));
    assert_true(may_evict("maxmemory:1048576\r\nmaxmemory_policy:volatile-ttl\r\n"));
    assert_false(may_evict("maxmemory:1048576\r\nmaxmemory_policy:noeviction\r\n"));
    assert_false(may_evict("maxmemory:0\r\nmaxmemory_policy:allkeys-lru\r\n"));
    assert_false(may_evict("maxmemory_human:1K\r\nmaxmemory_policy:allkeys-lru\r\n"));
}

static void memory_is_full_where_it_is_used_up_and_nothing_is_dropped(void **state)
{
    assert_true(info("used_memory:9\r\nmaxmemory:8\r\nmaxmemory_policy:noeviction\r\n").full);
    assert_true(info("used_memory:8\r\nmaxmemory:8\r\nmaxmemory_policy:noeviction\r\n").full);
    assert_false(info("used_memory:7\r\nmaxmemory:8\r\nmaxmemory_policy:noeviction\r\n").full);
    assert_false(info("used_memory:9\r\nmaxmemory:8\r\nmaxmemory_policy:allkeys-lru\r\n").full);
    assert_false(info("used_memory:9\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n").full);
}

static void attached_replicas_are_counted(void **state)
{
    assert_int_equal(info("role:master\r\nconnected_slaves:2\r\n").replicas, 2);
    assert_int_equal(info("role:master\r\nconnected_slaves:0\r\n").replicas, 0);
    assert_int_equal(info("role:master\r\n").replicas, 0);
}

static void info_that_is_refused_is_no_look(void **state)
{
    struct storage_reading reading = {0};
    assert_int_equal(facts_read_wire(STORAGE_ASK_INFO, "-LOADING loading\r\n", &reading),
                     FENCE_EIO);
    assert_int_equal(facts_read_wire(STORAGE_ASK_INFO, "$4\r\n\r\n\r\n\r\n", &reading), FENCE_EIO);
}

/* Its append-only file is off meanwhile, as if somebody had switched it off. */
static void info_while_data_are_loaded_is_no_look(void **state)
{
    struct storage_reading reading = {0};
    assert_int_equal(facts_read_wire(STORAGE_ASK_INFO, "$9\r\nloading:1\r\n", &reading),
                     FENCE_EBUSY);
    (void)info("loading:0\r\n");
}

static void lineage_is_the_replication_id_and_the_keys_evicted(void **state)
{
    assert_string_equal(info("").lineage, FACTS_LINEAGE);
    assert_string_equal(info("evicted_keys:18446744073709551615\r\n").lineage,
                        FACTS_REPL_ID ":18446744073709551615");
    assert_string_equal(info("master_replid:" FACTS_OTHER_ID "\r\n").lineage, FACTS_OTHER_ID ":3");
}

static void durable_is_always_and_during_rewrites_too(void **state)
{
    assert_true(config("yes", "always", "no").configured);
    assert_false(config("yes", "always", "yes").configured);
    assert_false(config("yes", "everysec", "no").configured);
    assert_false(config("no", "always", "no").configured);
    assert_string_equal(config("yes", "always", "yes").facts.persistence, "always");
    assert_string_equal(config("yes", "everysec", "no").facts.persistence, "everysec");
    assert_string_equal(config("no", "always", "no").facts.persistence, "none");
}

static void config_that_is_refused_is_not_durable_any_more(void **state)
{
    struct storage_reading reading = {.configured = true, .facts.persistence = "always"};
    assert_int_equal(facts_read_wire(STORAGE_ASK_CONFIG, "-NOPERM no permissions\r\n", &reading),
                     0);
    assert_false(reading.configured);
    assert_string_equal(reading.facts.persistence, "unknown");
    facts_read_info("", &reading);
    facts_read_marker(&facts_as_admitted, &reading);
    assert_false(reading.facts.durable);
}

static bool reply_is_durable(const char *wire)
{
    redisReply *reply = wire_reply(wire);
    bool durable = storage_durable_reply(reply);
    freeReplyObject(reply);
    return durable;
}

static void question_behind_a_call_is_answered_by_what_makes_durable(void **state)
{
    char wire[FACTS_WIRE_MAX];
    const char *const durable[] = {"appendonly", "yes",         "no-appendfsync-on-rewrite",
                                   "no",         "appendfsync", "always"};
    const char *const weak[] = {"appendonly", "yes",         "no-appendfsync-on-rewrite",
                                "no",         "appendfsync", "everysec"};
    facts_write_array(durable, 6, wire);
    assert_true(reply_is_durable(wire));
    facts_write_array(weak, 6, wire);
    assert_false(reply_is_durable(wire));
    facts_write_array(durable, 4, wire);
    assert_false(reply_is_durable(wire));
    assert_false(reply_is_durable("*0\r\n"));
    assert_false(reply_is_durable("-NOPERM no permissions\r\n"));
}

static void marker_says_which_init_is_not_done(void **state)
{
    struct facts_marker marker = facts_as_admitted;
    assert_false(facts_of("", &marker).initialising);
    marker.init = "new";
    assert_true(facts_of("", &marker).initialising);
    assert_false(facts_of("", &marker).issued);
    marker.init = "floor";
    assert_true(facts_of("", &marker).initialising);
    assert_true(facts_of("", &marker).issued);
}

static void marker_of_a_fleet_with_other_members_is_told_from_one_of_this(void **state)
{
    struct facts_marker marker = facts_as_admitted;
    assert_int_equal(facts_of("", &marker).other_members, 0);
    marker.view = "1,2,3,4,5";
    assert_int_equal(facts_of("", &marker).other_members, 5);
    marker.view = "1";
    assert_int_equal(facts_of("", &marker).other_members, 1);
}

static void marker_says_how_often_a_grant_may_be_extended(void **state)
{
    struct facts_marker marker = facts_as_admitted;
    assert_int_equal(facts_of("", &marker).extensions_max,
                     0); /* a marker of before it could be set */
    marker.extensions = "1000000000";
    assert_int_equal(facts_of("", &marker).extensions_max, 1000000000);
}

/* @marker, which Pawl did not write: the facts name @field, and say nothing else of it. */
static void expect_malformed(const struct facts_marker *marker, const char *field,
                             const char *value)
{
    const struct fence_facts facts = facts_of("", marker);
    assert_string_equal(facts.malformed, field);
    assert_false(facts.marked);
    assert_false(facts.intact);
    assert_int_equal(facts.malformed_len, strlen(value));
    assert_memory_equal(facts.malformed_bytes, value,
                        strlen(value) < FENCE_FIELD_BYTES_MAX ? strlen(value)
                                                              : FENCE_FIELD_BYTES_MAX);
}

static void field_that_pawl_did_not_write_is_named_and_the_marker_is_none(void **state)
{
    static const char long_text[] = FACTS_RUN_ID FACTS_RUN_ID;
    struct facts_marker marker = facts_as_admitted;
    assert_string_equal(facts_of("", &marker).malformed, "");
    const struct {
        const char **field;
        const char *name;
        const char *values[3];
    } rows[] = {
        {&marker.run, "run", {"", long_text, "a\x1b"}},
        {&marker.durable, "durable", {"", "maybe", "YES"}},
        {&marker.state, "state", {"", "idle", long_text}},
        {&marker.view, "view", {"", "1,x,3", "1,2,3,"}},
        {&marker.lineage, "lineage", {long_text, "a\x1b", "\t"}},
        {&marker.init, "init", {"old", "0", "floors"}},
        {&marker.extensions, "max_extensions", {"0", "many", "1000000001"}},
        {&marker.closed, "closed", {"no", "1:2", ":"}},
        {&marker.predecessors, "predecessors", {",", "a,", "a\x1b"}},
    };
    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        const char *const was = *rows[k].field;
        for (size_t i = 0; i < 3; i++) {
            *rows[k].field = rows[k].values[i];
            expect_malformed(&marker, rows[k].name, rows[k].values[i]);
        }
        *rows[k].field = was;
    }
}

/* The meaning of the fields of a marker, where only the last one is there. */
static int read_closed(const char *closed, struct fence_facts *ret_facts)
{
    struct storage_reading reading = {0};
    const char *fields[FACTS_MARKER_FIELDS];
    char wire[FACTS_WIRE_MAX];
    for (size_t i = 0; i < FACTS_MARKER_FIELDS; i++)
        fields[i] = i == FACTS_MARKER_CLOSED ? closed : "";
    facts_read_info("", &reading);
    facts_write_array(fields, FACTS_MARKER_FIELDS, wire);
    int error = facts_read_wire(STORAGE_ASK_MARKER, wire, &reading);
    *ret_facts = reading.facts;
    return error;
}

static void marker_says_how_far_it_has_written_and_what_it_was_told(void **state)
{
    struct facts_marker marker = facts_as_admitted;
    marker.writes = "12";
    marker.positions = "1:5,2:13,3:0";
    const struct fence_facts facts = facts_of("", &marker);
    assert_int_equal(facts.writes, 12);
    assert_int_equal(facts.heard.of[1].incarnation, 2);
    assert_int_equal(facts.heard.of[1].writes, 13);
    assert_true(fence_facts_lost_writes(&facts, 1));
    assert_false(fence_facts_lost_writes(&facts, 0));
}

/* They are a second source. The marker is what it is without them. */
static void positions_that_pawl_did_not_write_say_nothing(void **state)
{
    struct facts_marker marker = facts_as_admitted;
    marker.writes = "twelve";
    marker.positions = "1:5,2:13";
    const struct fence_facts facts = facts_of("", &marker);
    assert_true(facts.marked);
    assert_int_equal(facts.writes, 0);
    assert_int_equal(facts.heard.of[1].writes, 0);
    assert_false(fence_facts_lost_writes(&facts, 1));
}

static void marker_tells_which_fleets_its_fleet_follows(void **state)
{
    struct facts_marker marker = facts_as_admitted;
    marker.predecessors = FACTS_OTHER_ID ",abc";
    const struct fence_facts facts = facts_of("", &marker);
    assert_true(facts.marked);
    assert_int_equal(facts.predecessors.n, 2);
    assert_true(fence_predecessors_have(&facts.predecessors, "abc"));
}

static void closed_master_tells_its_fleet_its_highest_token_and_who_follows(void **state)
{
    struct fence_facts closed;
    assert_int_equal(read_closed(FACTS_RUN_ID ":9007199254740991:300000:1000000000:abc", &closed),
                     0);
    assert_true(closed.closed);
    assert_false(closed.marked);
    assert_string_equal(closed.closed_fleet_id, FACTS_RUN_ID);
    assert_int_equal(closed.closed_floor, INT64_C(9007199254740991));
    assert_int_equal(closed.closed_ttl_max_ms, 300000);
    assert_int_equal(closed.closed_extensions_max, 1000000000);
    assert_string_equal(closed.closed_for, "abc");
    assert_true(fence_predecessors_have(&closed.predecessors, FACTS_RUN_ID));
    assert_int_equal(closed.closed_readers, 0);
    assert_int_equal(read_closed(FACTS_RUN_ID ":1:300000:1:abc:63", &closed), 0);
    assert_int_equal(closed.closed_readers, 63);
}

static void closed_master_that_pawl_did_not_write_is_refused(void **state)
{
    static const char long_fleet[] = FACTS_RUN_ID "a:1:2:3:def";
    static const char long_follower[] = "abc:1:2:3:" FACTS_RUN_ID "a";
    static const char *const texts[] = {
        "abc",
        long_fleet,
        long_follower,
        "abc:1:2:def",
        "abc:1:2:3",
        "abc:1:2:3:",
        ":1:2:3:def",
        "abc:-1:2:3:def",
        "abc:1::3:def",
        "abc:9007199254740992:2:3:def",
        "abc:1:99999999999:3:def",
        "abc:1:2:1000000001:def",
        "abc:1:2:3:def:64",
        "abc:1:2:3:def:4:5",
        "abc\x1b:1:2:3:def",
    };
    for (size_t k = 0; k < sizeof(texts) / sizeof(texts[0]); k++) {
        struct fence_facts facts;
        assert_int_equal(read_closed(texts[k], &facts), 0);
        assert_string_equal(facts.malformed, "closed");
        assert_false(facts.closed);
    }
}

static void time_is_seconds_and_microseconds(void **state)
{
    assert_int_equal(time_us("*2\r\n$10\r\n1795187593\r\n$3\r\n123\r\n"),
                     UINT64_C(1795187593000123));
    assert_int_equal(time_us("*2\r\n$10\r\n1795187593\r\n$1\r\n7\r\n"), UINT64_C(1795187593000007));
}

static void time_that_is_no_time_is_none(void **state)
{
    assert_int_equal(time_us("-NOPERM no permissions\r\n"), 0);
    assert_int_equal(time_us("*1\r\n$10\r\n1795187593\r\n"), 0);
    assert_int_equal(time_us("*2\r\n$1\r\n-\r\n$1\r\n7\r\n"), 0);
    assert_int_equal(time_us("*2\r\n:1795187593\r\n:7\r\n"), 0);
    assert_int_equal(time_us("*2\r\n$12\r\n999999999999\r\n$1\r\n7\r\n"), 0);
    assert_int_equal(time_us("*2\r\n$0\r\n\r\n$1\r\n7\r\n"), 0);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(keys_may_be_dropped_where_memory_is_bounded_and_the_policy_drops),
    cmocka_unit_test(memory_is_full_where_it_is_used_up_and_nothing_is_dropped),
    cmocka_unit_test(attached_replicas_are_counted),
    cmocka_unit_test(info_that_is_refused_is_no_look),
    cmocka_unit_test(info_while_data_are_loaded_is_no_look),
    cmocka_unit_test(lineage_is_the_replication_id_and_the_keys_evicted),
    cmocka_unit_test(durable_is_always_and_during_rewrites_too),
    cmocka_unit_test(config_that_is_refused_is_not_durable_any_more),
    cmocka_unit_test(question_behind_a_call_is_answered_by_what_makes_durable),
    cmocka_unit_test(server_without_a_name_is_a_redis),
    cmocka_unit_test(server_with_a_name_has_a_version_of_its_own),
    cmocka_unit_test(name_that_is_too_long_or_not_plain_is_not_taken),
    cmocka_unit_test(marker_says_which_init_is_not_done),
    cmocka_unit_test(marker_of_a_fleet_with_other_members_is_told_from_one_of_this),
    cmocka_unit_test(marker_says_how_often_a_grant_may_be_extended),
    cmocka_unit_test(marker_says_how_far_it_has_written_and_what_it_was_told),
    cmocka_unit_test(positions_that_pawl_did_not_write_say_nothing),
    cmocka_unit_test(field_that_pawl_did_not_write_is_named_and_the_marker_is_none),
    cmocka_unit_test(marker_tells_which_fleets_its_fleet_follows),
    cmocka_unit_test(closed_master_tells_its_fleet_its_highest_token_and_who_follows),
    cmocka_unit_test(closed_master_that_pawl_did_not_write_is_refused),
    cmocka_unit_test(time_is_seconds_and_microseconds),
    cmocka_unit_test(time_that_is_no_time_is_none),
};

CASE_MAIN(cases, NULL, NULL)
