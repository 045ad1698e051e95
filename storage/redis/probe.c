#include "storage/redis/probe.h"

#include "storage/redis/clock.h"
#include "storage/redis/keys.h"
#include "storage/redis/lua/lineage.lua.h"
#include "storage/redis/lua/settle.lua.h"
#include "storage/redis/trial.h"

#include <assert.h>
#include <string.h>
#include <time.h>

enum {
    BYTES_AT_LEAST = 4096, /* between two notes of how many a master received */
};

/* Whether a reply is of the connection that stands, and no handshake has begun on it since. */
static bool is_of_ready(const struct storage_look *look, const redisAsyncContext *context)
{
    return storage_connection_is(look->session->connection, context, STORAGE_LINK_READY);
}

/* ---- looking --------------------------------------------------------------------------------- */

/* Takes one answer out of those owed; false where it is of no use. A look that is not answered in
 * full is dropped: the next one may be. */
static bool take_answer(struct storage_look *look, const redisAsyncContext *context,
                        const redisReply *reply)
{
    look->owed--;
    look->failed = look->failed || !reply || !is_of_ready(look, context);
    return !look->failed;
}

static void read_look_fact(struct storage_look *look, const redisAsyncContext *context,
                           enum storage_question question, const redisReply *reply)
{
    if (take_answer(look, context, reply))
        look->failed =
            storage_facts_read(question, reply, look->session->members, &look->reading) != 0;
}

static void on_look_info(redisAsyncContext *context, void *reply, void *look)
{
    read_look_fact(look, context, STORAGE_ASK_INFO, reply);
}

static void on_look_config(redisAsyncContext *context, void *reply, void *look)
{
    read_look_fact(look, context, STORAGE_ASK_CONFIG, reply);
}

static const char *find_change_of_marker(const struct storage_look *look)
{
    const struct fence_facts *was = &look->session->reading.facts;
    const struct fence_facts *is = &look->reading.facts;
    unsigned me = look->session->index;
    if (was->marked && !is->marked)
        return "Its marker is gone.";
    if (was->marked_durable != is->marked_durable ||
        was->view.incarnation[me] != is->view.incarnation[me])
        return "Its marker was written anew.";
    return NULL;
}

/* What a handshake would judge differently from the last one. Scripts notice most of it by
 * themselves, but only when somebody asks for a lock. */
static const char *find_change(const struct storage_look *look)
{
    const struct fence_facts *was = &look->session->reading.facts;
    const struct fence_facts *is = &look->reading.facts;
    const char *change = look->session->leads ? NULL : find_change_of_marker(look);
    if (change)
        return change;
    if (was->replica != is->replica)
        return is->replica ? "It has become a replica." : "It is no longer a replica.";
    if (strcmp(was->lineage, is->lineage) != 0)
        return "It was a replica, or evicted keys, or its replication id changed.";
    if (look->session->reading.server.evicts != look->reading.server.evicts)
        return "Its maxmemory-policy changed.";
    if (was->marked_durable && was->durable != is->durable)
        return "Its persistence changed.";
    return NULL;
}

/* The marker notes when the append-only file is known to be complete, and that bytes were counted
 * (storage/redis/lua/lineage.lua): often at first, then seldom. */
static bool is_to_be_settled(const struct storage_reading *reading)
{
    const struct fence_facts *facts = &reading->facts;
    bool complete = facts->durable || !facts->marked_durable;
    bool sets = complete && !reading->rewriting && !reading->settled;
    bool bytes = reading->bytes > 2 * reading->marked_bytes + BYTES_AT_LEAST;
    return facts->marked_active && (sets || bytes) &&
           strcmp(facts->lineage, facts->marked_lineage) == 0;
}

static void settle(const struct storage_look *look)
{
    struct storage_connection *connection = look->session->connection;
    const struct fence_facts *facts = &look->reading.facts;
    if (redisAsyncCommand(connection->context, NULL, NULL, "EVAL %s%s 1 %s %s %u",
                          storage_redis_lua_lineage, storage_redis_lua_settle, STORAGE_FLEET_KEY,
                          facts->fleet_id, (unsigned)facts->member) != REDIS_OK)
        storage_connection_fail(connection, FENCE_REASON_UNREACHABLE, "out of memory");
}

static void on_look_marker(redisAsyncContext *context, void *reply, void *privdata)
{
    struct storage_look *look = privdata;
    read_look_fact(look, context, STORAGE_ASK_MARKER, reply);
    if (look->failed)
        return;
    const char *change = find_change(look);
    if (change)
        storage_connection_fail(look->session->connection, FENCE_REASON_CHANGED, change);
    else if (is_to_be_settled(&look->reading))
        settle(look);
    if (!change && look->reading.unswept)
        storage_sweeper_start(look->sweeper);
}

static void on_look_time(redisAsyncContext *context, void *reply, void *privdata)
{
    struct storage_look *look = privdata;
    const struct storage_master_events *events = look->session->events;
    if (!take_answer(look, context, reply))
        return;
    struct fence_clock_reading *clock = &look->reading.facts.clock;
    clock->theirs_us = storage_facts_time_us(reply);
    clock->after_us = storage_clock_us();
    events->looked(events->context, look->session->index, &look->reading.facts);
}

/* Whether it would take a lock, whatever else this look finds. */
static void on_probe_trial(redisAsyncContext *context, void *data, void *privdata)
{
    struct storage_look *look = privdata;
    const redisReply *reply = data;
    bool of_use = take_answer(look, context, reply);
    if (!reply || !is_of_ready(look, context))
        return;
    const enum storage_trial trial = storage_trial_read(reply);
    if (trial == STORAGE_TRIAL_ERROR || trial == STORAGE_TRIAL_CHANGED)
        storage_connection_refused(look->session->connection, reply);
    else if (of_use)
        storage_redis_note_full(&look->reading, trial == STORAGE_TRIAL_FULL);
}

static bool ask_look(struct storage_look *look, redisCallbackFn *on_answer, int n,
                     const char *args[])
{
    bool asked = redisAsyncCommandArgv(look->session->connection->context, on_answer, look, n, args,
                                       NULL) == REDIS_OK;
    look->owed += asked;
    return asked;
}

/* One that is taken back takes no locks; and while this server does that, its own steps say what
 * they meet. */
static bool ask_for_a_write(struct storage_look *look)
{
    if (!look->session->takes_locks || look->session->leads)
        return true;
    bool asked = storage_trial_ask(look->session, on_probe_trial, look);
    look->owed += asked;
    return asked;
}

/* TIME comes last: its answer ends the look. */
static bool ask_all(struct storage_look *look)
{
    const char *info[STORAGE_QUESTION_ARGS];
    const char *config[STORAGE_QUESTION_ARGS];
    const char *marker[STORAGE_QUESTION_ARGS];
    const char *time[] = {"TIME"};
    int info_args = storage_question_args(STORAGE_ASK_INFO, info);
    int config_args = storage_question_args(STORAGE_ASK_CONFIG, config);
    int marker_args = storage_question_args(STORAGE_ASK_MARKER, marker);
    return ask_look(look, on_look_info, info_args, info) &&
           ask_look(look, on_look_config, config_args, config) &&
           ask_look(look, on_look_marker, marker_args, marker) && ask_for_a_write(look) &&
           ask_look(look, on_look_time, 1, time);
}

/* Where nobody asks for locks, nothing else notices that a master went silent. Some intervals of
 * grace: after a pause of this process its timers are due before the answers that wait are read. */
static void miss(struct storage_look *look)
{
    if (++look->missed >= STORAGE_LOOKS_MISSED_MAX)
        storage_connection_fail(look->session->connection, FENCE_REASON_SILENT,
                                "a look was not answered");
}

static void on_look_due(void *context)
{
    struct storage_look *look = context;
    const struct storage_session *session = look->session;
    if (session->connection->link != STORAGE_LINK_READY || !session->events->looked)
        return;
    if (look->owed > 0) {
        miss(look);
        return;
    }
    storage_listener_open(look->listener);
    look->missed = 0;
    look->failed = false;
    memset(&look->reading, 0, sizeof(look->reading));
    memcpy(look->reading.facts.host, session->reading.facts.host, sizeof(look->reading.facts.host));
    look->reading.facts.clock = (struct fence_clock_reading){.before_us = storage_clock_us()};
    if (!ask_all(look))
        storage_connection_fail(session->connection, FENCE_REASON_UNREACHABLE, "out of memory");
}

void storage_look_begin(struct storage_look *look)
{
    storage_connection_every(look->session->connection, STORAGE_LOOK_INTERVAL_MS, on_look_due,
                             look);
}
