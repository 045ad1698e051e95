/* What is read out of a Redis' answers, on answers as they come over the wire. */
#include "storage/redis/facts.h"
#include "storage/redis/settle.h"
#include "tests/lib/case.h"

#include <stdio.h>
#include <string.h>

enum {
    MARKER_FIELDS = 19,
    MARKER_CLOSED = 17,
    WIRE_MAX = 4096,
    MASTERS = 3,
};

#define RUN_ID   "0123456789abcdef0123456789abcdef01234567"
#define OTHER_ID "cccccccccccccccccccccccccccccccccccccccc"
#define REPL_ID  "fedcba9876543210fedcba9876543210fedcba98"
#define LINEAGE  REPL_ID ":3"

/* The reply that the bytes @wire are; the caller frees it. */
static redisReply *reply_of(const char *wire)
{
    void *reply = NULL;
    redisReader *reader = redisReaderCreate();
    assert_int_equal(redisReaderFeed(reader, wire, strlen(wire)), REDIS_OK);
    assert_int_equal(redisReaderGetReply(reader, &reply), REDIS_OK);
    assert_non_null(reply);
    redisReaderFree(reader);
    return reply;
}

static int read_wire(enum storage_question question, const char *wire,
                     struct storage_reading *reading)
{
    redisReply *reply = reply_of(wire);
    int error = storage_facts_read(question, reply, MASTERS, reading);
    freeReplyObject(reply);
    return error;
}

/* INFO of a Redis 7.0.15 that never was anything but a master, with @more lines. The first line of
 * a field counts. */
static void read_info(const char *more, struct storage_reading *reading)
{
    char text[WIRE_MAX / 2];
    char wire[WIRE_MAX];
    snprintf(text, sizeof(text),
             "# Server\r\n%sredis_version:7.0.15\r\nrun_id:" RUN_ID "\r\n"
             "master_replid:" REPL_ID "\r\nsecond_repl_offset:-1\r\nevicted_keys:3\r\n"
             "aof_enabled:1\r\naof_rewrite_in_progress:0\r\naof_rewrite_scheduled:0\r\n"
             "total_net_input_bytes:100\r\n",
             more);
    snprintf(wire, sizeof(wire), "$%zu\r\n%s\r\n", strlen(text), text);
    assert_int_equal(read_wire(STORAGE_ASK_INFO, wire, reading), 0);
}

static struct storage_reading info_reading(const char *more)
{
    struct storage_reading reading = {.promoted = true};
    read_info(more, &reading);
    assert_string_equal(reading.facts.server_id, RUN_ID);
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

static void server_without_a_name_is_a_redis(void **state)
{
    (void)state;
    struct fence_facts facts = info("");
    assert_string_equal(facts.server, "redis");
    assert_string_equal(facts.version, "7.0.15");
}

static void server_with_a_name_has_a_version_of_its_own(void **state)
{
    (void)state;
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
    (void)state;
    static const char *const names[] = {
        "server_name:0123456789012345678901234567890123456789\r\n",
        "server_name:val\x1b[31mkey\r\n",
    };
    for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
        assert_string_equal(info(names[k]).server, "redis");
}

/* An array of bulk strings; "" where nothing is there. */
static void write_array(const char *const items[], size_t n, char wire[static WIRE_MAX])
{
    size_t len = (size_t)snprintf(wire, WIRE_MAX, "*%zu\r\n", n);
    for (size_t i = 0; i < n; i++)
        len += (size_t)(items[i][0] ? snprintf(wire + len, WIRE_MAX - len, "$%zu\r\n%s\r\n",
                                               strlen(items[i]), items[i])
                                    : snprintf(wire + len, WIRE_MAX - len, "$-1\r\n"));
}

static void read_config(const char *aof, const char *fsync, const char *rewrite,
                        struct storage_reading *reading)
{
    const char *const items[] = {
        "appendonly", aof, "appendfsync", fsync, "no-appendfsync-on-rewrite", rewrite};
    char wire[WIRE_MAX];
    write_array(items, 6, wire);
    assert_int_equal(read_wire(STORAGE_ASK_CONFIG, wire, reading), 0);
}

static struct storage_reading config(const char *aof, const char *fsync, const char *rewrite)
{
    struct storage_reading reading = {.configured = true}; /* as an earlier probe found it */
    read_config(aof, fsync, rewrite, &reading);
    return reading;
}

struct marker {
    const char *run;
    const char *durable;
    const char *lineage;
    const char *sets;
    const char *init;
    const char *state;
    const char *intact;
    const char *doubt;
    const char *view;
    const char *extensions;
    const char *closed;
    const char *answers;
};

static const struct marker as_admitted = {RUN_ID, "yes", LINEAGE, "0::0", "", "active",
                                          "",     "",    "1,2,3", "",     "", ""};

static void read_marker(const struct marker *marker, struct storage_reading *reading)
{
    const char *const fields[] = {RUN_ID,
                                  "2",
                                  marker->run,
                                  "300000",
                                  marker->durable,
                                  marker->state,
                                  marker->view,
                                  marker->lineage,
                                  "",
                                  "",
                                  marker->init,
                                  marker->sets,
                                  "",
                                  "9",
                                  marker->intact,
                                  marker->doubt,
                                  marker->extensions,
                                  marker->closed,
                                  marker->answers};
    char wire[WIRE_MAX];
    write_array(fields, MARKER_FIELDS, wire);
    assert_int_equal(read_wire(STORAGE_ASK_MARKER, wire, reading), 0);
}

/* What all three answers come to, of a server that is configured durable. */
static struct fence_facts facts(const char *more, const struct marker *marker)
{
    struct storage_reading reading = {.promoted = true};
    read_info(more, &reading);
    read_config("yes", "always", "no", &reading);
    read_marker(marker, &reading);
    return reading.facts;
}

static uint64_t time_us(const char *wire)
{
    redisReply *reply = reply_of(wire);
    uint64_t us = storage_facts_time_us(reply);
    freeReplyObject(reply);
    return us;
}

/* ---- INFO ------------------------------------------------------------------------------------ */

static void keys_may_be_dropped_where_memory_is_bounded_and_the_policy_drops(void **state)
{
    (void)state;
    assert_true(may_evict("maxmemory:1048576\r\nmaxmemory_policy:allkeys-lru\r\n"));
    assert_true(may_evict("maxmemory:1048576\r\nmaxmemory_policy:volatile-ttl\r\n"));
    assert_false(may_evict("maxmemory:1048576\r\nmaxmemory_policy:noeviction\r\n"));
    assert_false(may_evict("maxmemory:0\r\nmaxmemory_policy:allkeys-lru\r\n"));
    assert_false(may_evict("maxmemory_human:1K\r\nmaxmemory_policy:allkeys-lru\r\n"));
}

static void memory_is_full_where_it_is_used_up_and_nothing_is_dropped(void **state)
{
    (void)state;
    assert_true(info("used_memory:9\r\nmaxmemory:8\r\nmaxmemory_policy:noeviction\r\n").full);
    assert_true(info("used_memory:8\r\nmaxmemory:8\r\nmaxmemory_policy:noeviction\r\n").full);
    assert_false(info("used_memory:7\r\nmaxmemory:8\r\nmaxmemory_policy:noeviction\r\n").full);
    assert_false(info("used_memory:9\r\nmaxmemory:8\r\nmaxmemory_policy:allkeys-lru\r\n").full);
    assert_false(info("used_memory:9\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n").full);
}

static void attached_replicas_are_counted(void **state)
{
    (void)state;
    assert_int_equal(info("role:master\r\nconnected_slaves:2\r\n").replicas, 2);
    assert_int_equal(info("role:master\r\nconnected_slaves:0\r\n").replicas, 0);
    assert_int_equal(info("role:master\r\n").replicas, 0);
}

static void info_that_is_refused_is_no_look(void **state)
{
    (void)state;
    struct storage_reading reading = {0};
    assert_int_equal(read_wire(STORAGE_ASK_INFO, "-LOADING loading\r\n", &reading), FENCE_EIO);
    assert_int_equal(read_wire(STORAGE_ASK_INFO, "$4\r\n\r\n\r\n\r\n", &reading), FENCE_EIO);
}

/* Its append-only file is off meanwhile, as if somebody had switched it off. */
static void info_while_data_are_loaded_is_no_look(void **state)
{
    (void)state;
    struct storage_reading reading = {0};
    assert_int_equal(read_wire(STORAGE_ASK_INFO, "$9\r\nloading:1\r\n", &reading), FENCE_EBUSY);
    (void)info("loading:0\r\n");
}

static void lineage_is_the_replication_id_and_the_keys_evicted(void **state)
{
    (void)state;
    assert_string_equal(info("").lineage, LINEAGE);
    assert_string_equal(info("evicted_keys:18446744073709551615\r\n").lineage,
                        REPL_ID ":18446744073709551615");
    assert_string_equal(info("master_replid:" OTHER_ID "\r\n").lineage, OTHER_ID ":3");
}

/* ---- CONFIG ---------------------------------------------------------------------------------- */

static void durable_is_always_and_during_rewrites_too(void **state)
{
    (void)state;
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
    (void)state;
    struct storage_reading reading = {.configured = true, .facts.persistence = "always"};
    assert_int_equal(read_wire(STORAGE_ASK_CONFIG, "-NOPERM no permissions\r\n", &reading), 0);
    assert_false(reading.configured);
    assert_string_equal(reading.facts.persistence, "unknown");
    read_info("", &reading);
    read_marker(&as_admitted, &reading);
    assert_false(reading.facts.durable);
}

static bool reply_is_durable(const char *wire)
{
    redisReply *reply = reply_of(wire);
    bool durable = storage_durable_reply(reply);
    freeReplyObject(reply);
    return durable;
}

static void question_behind_a_call_is_answered_by_what_makes_durable(void **state)
{
    (void)state;
    char wire[WIRE_MAX];
    const char *const durable[] = {"appendonly", "yes",         "no-appendfsync-on-rewrite",
                                   "no",         "appendfsync", "always"};
    const char *const weak[] = {"appendonly", "yes",         "no-appendfsync-on-rewrite",
                                "no",         "appendfsync", "everysec"};
    write_array(durable, 6, wire);
    assert_true(reply_is_durable(wire));
    write_array(weak, 6, wire);
    assert_false(reply_is_durable(wire));
    write_array(durable, 4, wire);
    assert_false(reply_is_durable(wire));
    assert_false(reply_is_durable("*0\r\n"));
    assert_false(reply_is_durable("-NOPERM no permissions\r\n"));
}

/* ---- what follows: durable ------------------------------------------------------------------- */

#define REWRITES     "aof_rewrite_in_progress:1\r\n"
#define NONE_EVICTED "evicted_keys:0\r\n"
#define SETS(n)      "cmdstat_config|set:calls=" n ",usec=9\r\n"
#define RESET(us)    "cmdstat_config|resetstat:calls=1,usec=" us ",usec_per_call=1.00\r\n"
#define SWITCHED_ON  "aof_rewrites:1\r\n" SETS("1")

static void file_that_is_rewritten_after_config_set_may_not_be_complete(void **state)
{
    (void)state;
    struct marker marker = as_admitted;
    assert_true(facts("", &marker).durable);
    assert_true(facts(REWRITES, &marker).durable);
    assert_true(facts(SETS("2"), &marker).durable);
    assert_false(facts(REWRITES SETS("2"), &marker).durable);
    assert_false(facts("aof_rewrite_scheduled:1\r\n" SETS("2"), &marker).durable);
    marker.sets = "2::0"; /* when it was known to be complete */
    assert_true(facts(REWRITES SETS("2"), &marker).durable);
    marker.sets = "-::0";
    assert_false(facts(REWRITES SETS("2"), &marker).durable);
    marker.sets = "";
    assert_false(facts(REWRITES SETS("2"), &marker).durable);
    marker.sets = "0::0"; /* CONFIG SET is no longer counted */
    assert_false(facts(REWRITES RESET("5"), &marker).durable);
    marker.sets = "0:calls=1,usec=5:0";
    assert_true(facts(REWRITES RESET("5"), &marker).durable);
    assert_false(facts(REWRITES RESET("6"), &marker).durable);
}

/* ---- what follows: intact -------------------------------------------------------------------- */

/* The process is the one that was admitted. */
static void memory_is_intact_where_only_the_replication_id_changed(void **state)
{
    (void)state;
    struct marker marker = as_admitted;
    assert_true(facts("", &marker).intact);
    marker.lineage = OTHER_ID ":3"; /* a first replica, or a backlog that was freed */
    assert_true(facts("", &marker).intact);
    marker.durable = "no";
    assert_true(facts("", &marker).intact);
    marker.lineage = ""; /* by an older pawld */
    assert_true(facts("", &marker).intact);
}

static void memory_is_not_intact_after_a_time_as_a_replica_or_an_eviction(void **state)
{
    (void)state;
    struct marker marker = as_admitted;
    assert_false(facts("evicted_keys:4\r\n", &marker).intact);
    marker.lineage = OTHER_ID ":2";
    assert_false(facts("", &marker).intact);
    marker.lineage = OTHER_ID ":3";
    assert_false(facts("second_repl_offset:1\r\n", &marker).intact);
    assert_false(facts("cmdstat_replicaof:calls=2,usec=9\r\n", &marker).intact);
    assert_false(facts("cmdstat_slaveof:calls=2,usec=9\r\n", &marker).intact);
    assert_false(facts("cmdstat_failover:calls=1,usec=9\r\n", &marker).intact);
    marker.sets = "0::1"; /* it was told so before it was marked, and is what it was then */
    assert_true(facts("cmdstat_failover:calls=1,usec=9\r\n", &marker).intact);
    assert_false(facts("cmdstat_failover:calls=2,usec=9\r\n", &marker).intact);
}

/* It may look as if it had lost nothing after a restart, or a reset of its statistics. */
static void master_that_was_seen_to_have_lost_something_is_not_intact(void **state)
{
    (void)state;
    struct marker marker = as_admitted;
    marker.doubt = "yes";
    assert_false(facts("", &marker).intact);
    marker.run = OTHER_ID;
    assert_false(facts("evicted_keys:0\r\n", &marker).intact);
}

static struct storage_reading reading_of(const char *more, const struct marker *marker)
{
    struct storage_reading reading = {0};
    read_info(more, &reading);
    read_config("yes", "always", "no", &reading);
    read_marker(marker, &reading);
    return reading;
}

/* What a file may have kept, though it was not durable when it was read, is no loss. */
static void loss_is_what_no_later_start_can_undo(void **state)
{
    (void)state;
    struct marker marker = as_admitted;
    assert_false(reading_of("", &marker).lost);
    assert_true(reading_of("evicted_keys:4\r\n", &marker).lost);
    marker.lineage = OTHER_ID ":3";
    assert_false(reading_of("", &marker).lost);
    assert_true(reading_of("second_repl_offset:1\r\n", &marker).lost);
    marker.run = OTHER_ID;
    assert_false(reading_of(NONE_EVICTED REWRITES SETS("2"), &marker).lost);
    assert_true(reading_of("aof_enabled:0\r\n", &marker).lost);
}

static void reset_of_statistics_is_another_lineage(void **state)
{
    (void)state;
    struct marker marker = as_admitted;
    marker.lineage = REPL_ID ":0";
    assert_string_equal(facts("evicted_keys:0\r\n", &marker).lineage, REPL_ID ":0");
    struct fence_facts reset = facts("evicted_keys:0\r\n" RESET("5"), &marker);
    assert_string_equal(reset.lineage, REPL_ID ":0?");
    assert_true(reset.intact); /* the replication id is the marker's, so nothing else happened */
    assert_false(facts("evicted_keys:0\r\n" RESET("5") SETS("1"), &marker).intact);
    marker.lineage = OTHER_ID ":0";
    assert_false(facts("evicted_keys:0\r\n" RESET("5"), &marker).intact);
    marker.sets = "0:calls=1,usec=5:0";
    assert_string_equal(facts("evicted_keys:0\r\n" RESET("5"), &marker).lineage, REPL_ID ":0");
    assert_true(facts("evicted_keys:0\r\n" RESET("5"), &marker).intact); /* counted since then */
    assert_string_equal(facts("total_net_input_bytes:8\r\n" RESET("5"), &marker).lineage,
                        LINEAGE "?"); /* two that took as long */
}

#define ANSWERS(n) "errorstat_PAWLSTATS:count=" n "\r\n"

static const char *lineage_with(const char *more, const char *answers)
{
    static struct fence_facts read;
    struct marker marker = as_admitted;
    marker.answers = answers;
    read = facts(more, &marker);
    return read.lineage;
}

/* However much was received since. */
static void fewer_answers_than_noted_are_a_reset_of_statistics(void **state)
{
    (void)state;
    static const char noted[] = "2@" LINEAGE;
    assert_string_equal(lineage_with(ANSWERS("2"), noted), LINEAGE);
    assert_string_equal(lineage_with(ANSWERS("3"), noted), LINEAGE);
    assert_string_equal(lineage_with(ANSWERS("1"), noted), LINEAGE "?");
    assert_string_equal(lineage_with("", noted), LINEAGE "?");
    assert_string_equal(lineage_with("", ""), LINEAGE);
    assert_string_equal(lineage_with("", "2@" OTHER_ID ":3"), LINEAGE); /* not of this process */
    assert_string_equal(lineage_with("", "2"), LINEAGE);
    assert_string_equal(lineage_with("errorstat_ERRORSTATS_DISABLED:count=1\r\n", noted), LINEAGE);
    assert_string_equal(lineage_with("total_net_input_bytes:8\r\n" ANSWERS("2"), noted), LINEAGE);
    assert_string_equal(
        lineage_with("total_net_input_bytes:8\r\nerrorstat_ERRORSTATS_DISABLED:count=1\r\n", noted),
        LINEAGE "?");
}

/* What is noted is of the process before. */
static void fewer_answers_after_a_restart_are_no_reset(void **state)
{
    (void)state;
    struct marker marker = as_admitted;
    marker.answers = "2@" LINEAGE;
    marker.run = OTHER_ID;
    assert_true(facts(NONE_EVICTED, &marker).intact);
}

static void answers_are_settled_where_none_are_noted_and_errors_are_counted(void **state)
{
    (void)state;
    struct marker marker = as_admitted;
    struct storage_reading reading = reading_of("", &marker);
    assert_false(storage_settle_is_due(&reading)); /* it would answer in vain, again and again */
    reading = reading_of("# Errorstats\r\n", &marker);
    assert_true(storage_settle_is_due(&reading));
    marker.state = "joining";
    assert_true(storage_settle_is_due(&reading));
    marker.answers = "2@" LINEAGE;
    reading = reading_of("# Errorstats\r\n" ANSWERS("2"), &marker);
    assert_false(storage_settle_is_due(&reading));
}

/* An import took nothing from it, so that it can be trusted alone should there be nobody to ask. */
static void master_half_way_is_intact_where_it_was_when_that_began(void **state)
{
    (void)state;
    struct marker marker = as_admitted;
    marker.state = "joining";
    marker.intact = "yes";
    assert_true(facts("", &marker).intact);
    marker.run = OTHER_ID; /* and restarted since */
    assert_true(facts("evicted_keys:0\r\n", &marker).intact);
    assert_false(facts(SWITCHED_ON, &marker).intact);
    marker.intact = "no";
    assert_false(facts("", &marker).intact);
}

/* The process is another. */
static void disk_kept_all_where_it_was_durable_then_and_is_now(void **state)
{
    (void)state;
    struct marker marker = as_admitted;
    marker.run = OTHER_ID;
    marker.lineage = OTHER_ID ":9"; /* a new process begins at none */
    assert_true(facts("evicted_keys:0\r\n", &marker).intact);
    marker.durable = "no";
    assert_false(facts("", &marker).intact);
    marker.durable = "yes";
    assert_false(facts(REWRITES SETS("2"), &marker).intact);

    struct storage_reading reading = {0};
    read_info("", &reading);
    read_config("yes", "everysec", "no", &reading);
    read_marker(&marker, &reading);
    assert_false(reading.facts.intact);
}

static void disk_of_a_promoted_copy_or_one_that_was_switched_on_kept_nothing(void **state)
{
    (void)state;
    struct marker marker = as_admitted;
    marker.run = OTHER_ID;
    assert_true(facts(NONE_EVICTED, &marker).intact);
    assert_false(facts("evicted_keys:1\r\n", &marker).intact);
    assert_false(facts("second_repl_offset:1\r\n", &marker).intact);
    assert_false(facts("cmdstat_replicaof:calls=2,usec=9\r\n", &marker).intact);
    assert_false(facts("cmdstat_slaveof:calls=1,usec=9\r\n", &marker).intact);
    assert_false(facts(RESET("5"), &marker).intact);  /* who knows */
    assert_false(facts(SWITCHED_ON, &marker).intact); /* not what the process began with */
    assert_true(facts(NONE_EVICTED "aof_rewrites:1\r\n", &marker).intact);
    assert_true(facts(NONE_EVICTED SETS("1"), &marker).intact);
}

static void master_without_a_marker_kept_nothing(void **state)
{
    (void)state;
    static const char *const nothing[MARKER_FIELDS] = {"", "", "", "", "", "", "", "", "", "",
                                                       "", "", "", "", "", "", "", "", ""};
    struct storage_reading reading = {0};
    char wire[WIRE_MAX];
    read_info("", &reading);
    read_config("yes", "always", "no", &reading);
    write_array(nothing, MARKER_FIELDS, wire);
    assert_int_equal(read_wire(STORAGE_ASK_MARKER, wire, &reading), 0);
    assert_false(reading.facts.marked);
    assert_false(reading.facts.intact);
    assert_true(reading.facts.durable);

    read_info(REWRITES, &reading); /* of the file that it began with */
    assert_int_equal(read_wire(STORAGE_ASK_MARKER, wire, &reading), 0);
    assert_true(reading.facts.durable);
}

static void marker_says_which_init_is_not_done(void **state)
{
    (void)state;
    struct marker marker = as_admitted;
    assert_false(facts("", &marker).initialising);
    marker.init = "new";
    assert_true(facts("", &marker).initialising);
    assert_false(facts("", &marker).issued);
    marker.init = "floor";
    assert_true(facts("", &marker).initialising);
    assert_true(facts("", &marker).issued);
}

static void marker_of_a_fleet_with_other_members_is_told_from_one_of_this(void **state)
{
    (void)state;
    struct marker marker = as_admitted;
    assert_int_equal(facts("", &marker).other_members, 0);
    marker.view = "1,2,3,4,5";
    assert_int_equal(facts("", &marker).other_members, 5);
    marker.view = "1";
    assert_int_equal(facts("", &marker).other_members, 1);
}

/* What the fields of a marker come to, where only the last one is there. */
static int read_closed(const char *closed, struct fence_facts *ret_facts)
{
    struct storage_reading reading = {0};
    const char *fields[MARKER_FIELDS];
    char wire[WIRE_MAX];
    for (size_t i = 0; i < MARKER_FIELDS; i++)
        fields[i] = i == MARKER_CLOSED ? closed : "";
    read_info("", &reading);
    write_array(fields, MARKER_FIELDS, wire);
    int error = read_wire(STORAGE_ASK_MARKER, wire, &reading);
    *ret_facts = reading.facts;
    return error;
}

static void marker_says_how_often_a_grant_may_be_extended(void **state)
{
    (void)state;
    struct marker marker = as_admitted;
    assert_int_equal(facts("", &marker).extensions_max, 0); /* of before it could be set */
    marker.extensions = "1000000000";
    assert_int_equal(facts("", &marker).extensions_max, 1000000000);
}

static void closed_master_tells_its_fleet_its_highest_token_and_who_follows(void **state)
{
    (void)state;
    struct fence_facts closed;
    assert_int_equal(read_closed(RUN_ID ":9007199254740991:300000:1000000000:abc", &closed), 0);
    assert_true(closed.closed);
    assert_false(closed.marked);
    assert_string_equal(closed.closed_fleet_id, RUN_ID);
    assert_int_equal(closed.closed_floor, INT64_C(9007199254740991));
    assert_int_equal(closed.closed_ttl_max_ms, 300000);
    assert_int_equal(closed.closed_extensions_max, 1000000000);
    assert_string_equal(closed.closed_for, "abc");
}

static void closed_master_that_pawl_did_not_write_is_refused(void **state)
{
    (void)state;
    static const char long_fleet[] = RUN_ID "a:1:2:3:def";
    static const char long_follower[] = "abc:1:2:3:" RUN_ID "a";
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
        "abc:1:2:3:def:4",
        "abc\x1b:1:2:3:def",
    };
    for (size_t k = 0; k < sizeof(texts) / sizeof(texts[0]); k++) {
        struct fence_facts facts;
        assert_int_equal(read_closed(texts[k], &facts), FENCE_EINVAL);
        assert_false(facts.closed);
    }
}

/* ---- TIME ------------------------------------------------------------------------------------ */

static void time_is_seconds_and_microseconds(void **state)
{
    (void)state;
    assert_int_equal(time_us("*2\r\n$10\r\n1795187593\r\n$3\r\n123\r\n"),
                     UINT64_C(1795187593000123));
    assert_int_equal(time_us("*2\r\n$10\r\n1795187593\r\n$1\r\n7\r\n"), UINT64_C(1795187593000007));
}

static void time_that_is_no_time_is_none(void **state)
{
    (void)state;
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
    cmocka_unit_test(file_that_is_rewritten_after_config_set_may_not_be_complete),
    cmocka_unit_test(memory_is_intact_where_only_the_replication_id_changed),
    cmocka_unit_test(memory_is_not_intact_after_a_time_as_a_replica_or_an_eviction),
    cmocka_unit_test(disk_kept_all_where_it_was_durable_then_and_is_now),
    cmocka_unit_test(disk_of_a_promoted_copy_or_one_that_was_switched_on_kept_nothing),
    cmocka_unit_test(master_that_was_seen_to_have_lost_something_is_not_intact),
    cmocka_unit_test(loss_is_what_no_later_start_can_undo),
    cmocka_unit_test(reset_of_statistics_is_another_lineage),
    cmocka_unit_test(fewer_answers_than_noted_are_a_reset_of_statistics),
    cmocka_unit_test(fewer_answers_after_a_restart_are_no_reset),
    cmocka_unit_test(answers_are_settled_where_none_are_noted_and_errors_are_counted),
    cmocka_unit_test(master_half_way_is_intact_where_it_was_when_that_began),
    cmocka_unit_test(server_without_a_name_is_a_redis),
    cmocka_unit_test(server_with_a_name_has_a_version_of_its_own),
    cmocka_unit_test(name_that_is_too_long_or_not_plain_is_not_taken),
    cmocka_unit_test(master_without_a_marker_kept_nothing),
    cmocka_unit_test(marker_says_which_init_is_not_done),
    cmocka_unit_test(marker_of_a_fleet_with_other_members_is_told_from_one_of_this),
    cmocka_unit_test(marker_says_how_often_a_grant_may_be_extended),
    cmocka_unit_test(closed_master_tells_its_fleet_its_highest_token_and_who_follows),
    cmocka_unit_test(closed_master_that_pawl_did_not_write_is_refused),
    cmocka_unit_test(time_is_seconds_and_microseconds),
    cmocka_unit_test(time_that_is_no_time_is_none),
};

CASE_MAIN(cases, NULL, NULL)
