/* The consequences of a Redis' answers: whether its data can be what its marker says. */
#include "storage/redis/note_process_counts.h"
#include "tests/lib/case.h"
#include "tests/unit/storage/redis/facts_fixture.h"

#include <string.h>

#define REWRITES     "aof_rewrite_in_progress:1\r\n"
#define NONE_EVICTED "evicted_keys:0\r\n"
#define SETS(n)      "cmdstat_config|set:calls=" n ",usec=9\r\n"
#define RESET(us)    "cmdstat_config|resetstat:calls=1,usec=" us ",usec_per_call=1.00\r\n"
#define SWITCHED_ON  "aof_rewrites:1\r\n" SETS("1")

static void file_that_is_rewritten_after_config_set_may_not_be_complete(void **state)
{
    struct facts_marker marker = facts_as_admitted;
    assert_true(facts_of("", &marker).durable);
    assert_true(facts_of(REWRITES, &marker).durable);
    assert_true(facts_of(SETS("2"), &marker).durable);
    assert_false(facts_of(REWRITES SETS("2"), &marker).durable);
    assert_false(facts_of("aof_rewrite_scheduled:1\r\n" SETS("2"), &marker).durable);
    marker.sets = "2::0"; /* when it was known to be complete */
    assert_true(facts_of(REWRITES SETS("2"), &marker).durable);
    marker.sets = "-::0";
    assert_false(facts_of(REWRITES SETS("2"), &marker).durable);
    marker.sets = "";
    assert_false(facts_of(REWRITES SETS("2"), &marker).durable);
    marker.sets = "0::0"; /* CONFIG SET is no longer counted */
    assert_false(facts_of(REWRITES RESET("5"), &marker).durable);
    marker.sets = "0:calls=1,usec=5:0";
    assert_true(facts_of(REWRITES RESET("5"), &marker).durable);
    assert_false(facts_of(REWRITES RESET("6"), &marker).durable);
}

/* The process is the one that was admitted. */
static void memory_is_intact_where_only_the_replication_id_changed(void **state)
{
    struct facts_marker marker = facts_as_admitted;
    assert_true(facts_of("", &marker).intact);
    marker.lineage = FACTS_OTHER_ID ":3"; /* a first replica, or a backlog that was freed */
    assert_true(facts_of("", &marker).intact);
    marker.durable = "no";
    assert_true(facts_of("", &marker).intact);
    marker.lineage = ""; /* written by an older pawld */
    assert_true(facts_of("", &marker).intact);
}

static void memory_is_not_intact_after_a_time_as_a_replica_or_an_eviction(void **state)
{
    struct facts_marker marker = facts_as_admitted;
    assert_false(facts_of("evicted_keys:4\r\n", &marker).intact);
    marker.lineage = FACTS_OTHER_ID ":2";
    assert_false(facts_of("", &marker).intact);
    marker.lineage = FACTS_OTHER_ID ":3";
    assert_false(facts_of("second_repl_offset:1\r\n", &marker).intact);
    assert_false(facts_of("cmdstat_replicaof:calls=2,usec=9\r\n", &marker).intact);
    assert_false(facts_of("cmdstat_slaveof:calls=2,usec=9\r\n", &marker).intact);
    assert_false(facts_of("cmdstat_failover:calls=1,usec=9\r\n", &marker).intact);
    marker.sets = "0::1"; /* it was told so before it was marked, and is what it was then */
    assert_true(facts_of("cmdstat_failover:calls=1,usec=9\r\n", &marker).intact);
    assert_false(facts_of("cmdstat_failover:calls=2,usec=9\r\n", &marker).intact);
}

/* It may look as if it had lost nothing after a restart, or a reset of its statistics. */
static void master_that_was_seen_to_have_lost_something_is_not_intact(void **state)
{
    struct facts_marker marker = facts_as_admitted;
    marker.doubt = "yes";
    assert_false(facts_of("", &marker).intact);
    marker.run = FACTS_OTHER_ID;
    assert_false(facts_of("evicted_keys:0\r\n", &marker).intact);
}

/* A file may have kept this, though it was not durable when it was read, is no loss. */
static void loss_is_what_no_later_start_can_undo(void **state)
{
    struct facts_marker marker = facts_as_admitted;
    assert_false(facts_reading("", &marker).lost);
    assert_true(facts_reading("evicted_keys:4\r\n", &marker).lost);
    marker.lineage = FACTS_OTHER_ID ":3";
    assert_false(facts_reading("", &marker).lost);
    assert_true(facts_reading("second_repl_offset:1\r\n", &marker).lost);
    marker.run = FACTS_OTHER_ID;
    assert_false(facts_reading(NONE_EVICTED REWRITES SETS("2"), &marker).lost);
    assert_true(facts_reading("aof_enabled:0\r\n", &marker).lost);
}

/* An import took nothing from it, so that it can be trusted alone should there be no other master
 * to ask.
 */
static void master_half_way_is_intact_where_it_was_when_that_began(void **state)
{
    struct facts_marker marker = facts_as_admitted;
    marker.state = "joining";
    marker.intact = "yes";
    assert_true(facts_of("", &marker).intact);
    marker.run = FACTS_OTHER_ID; /* and restarted since */
    assert_true(facts_of("evicted_keys:0\r\n", &marker).intact);
    assert_false(facts_of(SWITCHED_ON, &marker).intact);
    marker.intact = "no";
    assert_false(facts_of("", &marker).intact);
}

/* The process is another. */
static void disk_kept_all_where_it_was_durable_then_and_is_now(void **state)
{
    struct facts_marker marker = facts_as_admitted;
    marker.run = FACTS_OTHER_ID;
    marker.lineage = FACTS_OTHER_ID ":9"; /* a new process begins at none */
    assert_true(facts_of("evicted_keys:0\r\n", &marker).intact);
    marker.durable = "no";
    assert_false(facts_of("", &marker).intact);
    marker.durable = "yes";
    assert_false(facts_of(REWRITES SETS("2"), &marker).intact);

    struct storage_reading reading = {0};
    facts_read_info("", &reading);
    facts_read_config("yes", "everysec", "no", &reading);
    facts_read_marker(&marker, &reading);
    assert_false(reading.facts.intact);
}

static void disk_of_a_promoted_copy_or_one_that_was_switched_on_kept_nothing(void **state)
{
    struct facts_marker marker = facts_as_admitted;
    marker.run = FACTS_OTHER_ID;
    assert_true(facts_of(NONE_EVICTED, &marker).intact);
    assert_false(facts_of("evicted_keys:1\r\n", &marker).intact);
    assert_false(facts_of("second_repl_offset:1\r\n", &marker).intact);
    assert_false(facts_of("cmdstat_replicaof:calls=2,usec=9\r\n", &marker).intact);
    assert_false(facts_of("cmdstat_slaveof:calls=1,usec=9\r\n", &marker).intact);
    assert_false(facts_of(RESET("5"), &marker).intact);  /* who knows */
    assert_false(facts_of(SWITCHED_ON, &marker).intact); /* not what the process began with */
    assert_true(facts_of(NONE_EVICTED "aof_rewrites:1\r\n", &marker).intact);
    assert_true(facts_of(NONE_EVICTED SETS("1"), &marker).intact);
}

static void master_without_a_marker_kept_nothing(void **state)
{
    static const char *const nothing[FACTS_MARKER_FIELDS] = {"", "", "", "", "", "", "", "", "",
                                                             "", "", "", "", "", "", "", "", "",
                                                             "", "", "", "", "", "", ""};
    struct storage_reading reading = {0};
    char wire[FACTS_WIRE_MAX];
    facts_read_info("", &reading);
    facts_read_config("yes", "always", "no", &reading);
    facts_write_array(nothing, FACTS_MARKER_FIELDS, wire);
    assert_int_equal(facts_read_wire(STORAGE_ASK_MARKER, wire, &reading), 0);
    assert_false(reading.facts.marked);
    assert_false(reading.facts.intact);
    assert_true(reading.facts.durable);

    facts_read_info(REWRITES, &reading); /* rewrites of the file that it began with */
    assert_int_equal(facts_read_wire(STORAGE_ASK_MARKER, wire, &reading), 0);
    assert_true(reading.facts.durable);
}

static void reset_of_statistics_is_another_lineage(void **state)
{
    struct facts_marker marker = facts_as_admitted;
    marker.lineage = FACTS_REPL_ID ":0";
    assert_string_equal(facts_of("evicted_keys:0\r\n", &marker).lineage, FACTS_REPL_ID ":0");
    struct fence_facts reset = facts_of("evicted_keys:0\r\n" RESET("5"), &marker);
    assert_string_equal(reset.lineage, FACTS_REPL_ID ":0?");
    assert_true(reset.intact); /* the replication id is the marker's, so nothing else happened */
    assert_false(facts_of("evicted_keys:0\r\n" RESET("5") SETS("1"), &marker).intact);
    marker.lineage = FACTS_OTHER_ID ":0";
    assert_false(facts_of("evicted_keys:0\r\n" RESET("5"), &marker).intact);
    marker.sets = "0:calls=1,usec=5:0";
    assert_string_equal(facts_of("evicted_keys:0\r\n" RESET("5"), &marker).lineage,
                        FACTS_REPL_ID ":0");
    assert_true(facts_of("evicted_keys:0\r\n" RESET("5"), &marker).intact); /* counted since then */
    assert_string_equal(facts_of("total_net_input_bytes:8\r\n" RESET("5"), &marker).lineage,
                        FACTS_LINEAGE "?"); /* two that took as long */
}

#define ANSWERS(n) "errorstat_PAWLSTATS:count=" n "\r\n"

static const char *lineage_with(const char *more, const char *answers)
{
    static struct fence_facts read;
    struct facts_marker marker = facts_as_admitted;
    marker.answers = answers;
    read = facts_of(more, &marker);
    return read.lineage;
}

/* However much was received since. */
static void fewer_answers_than_noted_are_a_reset_of_statistics(void **state)
{
    static const char noted[] = "2@" FACTS_LINEAGE;
    assert_string_equal(lineage_with(ANSWERS("2"), noted), FACTS_LINEAGE);
    assert_string_equal(lineage_with(ANSWERS("3"), noted), FACTS_LINEAGE);
    assert_string_equal(lineage_with(ANSWERS("1"), noted), FACTS_LINEAGE "?");
    assert_string_equal(lineage_with("", noted), FACTS_LINEAGE "?");
    assert_string_equal(lineage_with("", ""), FACTS_LINEAGE);
    assert_string_equal(lineage_with("", "2@" FACTS_OTHER_ID ":3"),
                        FACTS_LINEAGE); /* not of this process */
    assert_string_equal(lineage_with("", "2"), FACTS_LINEAGE);
    assert_string_equal(lineage_with("errorstat_ERRORSTATS_DISABLED:count=1\r\n", noted),
                        FACTS_LINEAGE);
    assert_string_equal(lineage_with("total_net_input_bytes:8\r\n" ANSWERS("2"), noted),
                        FACTS_LINEAGE);
    assert_string_equal(
        lineage_with("total_net_input_bytes:8\r\nerrorstat_ERRORSTATS_DISABLED:count=1\r\n", noted),
        FACTS_LINEAGE "?");
}

/* Then the lineage that is read is the marker's, and the other id is to be noted. */
static void lineage_is_the_markers_where_only_the_replication_id_changed(void **state)
{
    static const char other[] = FACTS_OTHER_ID ":3";
    static const struct {
        const char *more;
        const char *sets;
        const char *answers;
        const char *run;
        const char *lineage; /* lineage of the marker */
        bool same;
    } rows[] = {
        {ANSWERS("2"), "0::0", "2@" FACTS_OTHER_ID ":3", FACTS_RUN_ID, other, true},
        {ANSWERS("2") "cmdstat_replicaof:calls=2\r\n", "-::2", "2@" FACTS_OTHER_ID ":3",
         FACTS_RUN_ID, other, true},
        {ANSWERS("2") "evicted_keys:4\r\n", "0::0", "2@" FACTS_OTHER_ID ":3", FACTS_RUN_ID, other,
         false},
        {ANSWERS("2") "second_repl_offset:1\r\n", "0::0", "2@" FACTS_OTHER_ID ":3", FACTS_RUN_ID,
         other, false},
        {ANSWERS("2") "role:slave\r\n", "0::0", "2@" FACTS_OTHER_ID ":3", FACTS_RUN_ID, other,
         false},
        {ANSWERS("2") "cmdstat_replicaof:calls=1\r\n", "0::0", "2@" FACTS_OTHER_ID ":3",
         FACTS_RUN_ID, other, false},
        {ANSWERS("3"), "0::0", "2@" FACTS_OTHER_ID ":3", FACTS_RUN_ID, other, false},
        {"", "0::0", "", FACTS_RUN_ID, other, false},
        {ANSWERS("2"), "0::0", "2@" FACTS_LINEAGE, FACTS_RUN_ID, other, false},
        {ANSWERS("2"), "", "2@" FACTS_OTHER_ID ":3", FACTS_RUN_ID, other, false},
        {ANSWERS("2") RESET("5"), "0::0", "2@" FACTS_OTHER_ID ":3", FACTS_RUN_ID, other, false},
        {ANSWERS("2"), "0::0", "2@" FACTS_OTHER_ID ":3", FACTS_OTHER_ID, other, false},
        {ANSWERS("2"), "0::0", "2@" FACTS_OTHER_ID, FACTS_RUN_ID, FACTS_OTHER_ID, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct facts_marker marker = facts_as_admitted;
        marker.sets = rows[i].sets;
        marker.answers = rows[i].answers;
        marker.run = rows[i].run;
        marker.lineage = rows[i].lineage;
        const struct storage_reading reading = facts_reading(rows[i].more, &marker);
        const bool same = strcmp(reading.facts.lineage, rows[i].lineage) == 0;
        if (same != rows[i].same || storage_note_process_counts_is_due(&reading) != same)
            fail_msg("row %zu: the lineage is %s", i, reading.facts.lineage);
    }
}

/* The notes are of the process before. */
static void fewer_answers_after_a_restart_are_no_reset(void **state)
{
    struct facts_marker marker = facts_as_admitted;
    marker.answers = "2@" FACTS_LINEAGE;
    marker.run = FACTS_OTHER_ID;
    assert_true(facts_of(NONE_EVICTED, &marker).intact);
}

static void answers_are_settled_where_none_are_noted_and_errors_are_counted(void **state)
{
    struct facts_marker marker = facts_as_admitted;
    struct storage_reading reading = facts_reading("", &marker);
    assert_false(storage_note_process_counts_is_due(
        &reading)); /* it would answer in vain, again and again */
    reading = facts_reading("# Errorstats\r\n", &marker);
    assert_true(storage_note_process_counts_is_due(&reading));
    marker.state = "joining";
    assert_true(storage_note_process_counts_is_due(&reading));
    marker.answers = "2@" FACTS_LINEAGE;
    reading = facts_reading("# Errorstats\r\n" ANSWERS("2"), &marker);
    assert_false(storage_note_process_counts_is_due(&reading));
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(file_that_is_rewritten_after_config_set_may_not_be_complete),
    cmocka_unit_test(memory_is_intact_where_only_the_replication_id_changed),
    cmocka_unit_test(memory_is_not_intact_after_a_time_as_a_replica_or_an_eviction),
    cmocka_unit_test(disk_kept_all_where_it_was_durable_then_and_is_now),
    cmocka_unit_test(disk_of_a_promoted_copy_or_one_that_was_switched_on_kept_nothing),
    cmocka_unit_test(master_that_was_seen_to_have_lost_something_is_not_intact),
    cmocka_unit_test(loss_is_what_no_later_start_can_undo),
    cmocka_unit_test(reset_of_statistics_is_another_lineage),
    cmocka_unit_test(fewer_answers_than_noted_are_a_reset_of_statistics),
    cmocka_unit_test(lineage_is_the_markers_where_only_the_replication_id_changed),
    cmocka_unit_test(fewer_answers_after_a_restart_are_no_reset),
    cmocka_unit_test(answers_are_settled_where_none_are_noted_and_errors_are_counted),
    cmocka_unit_test(master_half_way_is_intact_where_it_was_when_that_began),
    cmocka_unit_test(master_without_a_marker_kept_nothing),
};

CASE_MAIN(cases, NULL, NULL)
