#include "storage/redis/probe.h"

#include "storage/redis/acquire_check.h"
#include "storage/redis/clock.h"
#include "storage/redis/keys.h"
#include "storage/redis/note_process_counts.h"
#include "storage/redis/share_positions.h"

#include <assert.h>
#include <string.h>
#include <time.h>

/* Reports whether a reply belongs to the current connection, with no handshake since. */
static bool is_of_ready(const struct storage_probe *probe, const redisAsyncContext *context)
{
    return storage_connection_is(probe->session->connection, context, STORAGE_LINK_READY);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Takes one of the owed answers; returns false if it is of no use. A probe that is not answered
 * completely is dropped: the next one may be. */
static bool take_probe_answer(struct storage_probe *probe, const redisAsyncContext *context,
                              const redisReply *reply)
{
    assert(probe->owed > 0);
    probe->owed--;
    probe->failed = probe->failed || !reply || !is_of_ready(probe, context);
    return !probe->failed;
}

static void read_probe_fact(struct storage_probe *probe, const redisAsyncContext *context,
                            enum storage_question question, const redisReply *reply)
{
    if (take_probe_answer(probe, context, reply))
        probe->failed =
            storage_facts_read(question, reply, probe->session->members, &probe->reading) != 0;
}

static void on_probe_info(redisAsyncContext *context, void *reply, void *privdata)
{
    struct storage_probe *probe = privdata;
    if (reply && is_of_ready(probe, context))
        probe->session->connection->round_trip_us = (uv_hrtime() - probe->sent_ns) / 1000;
    read_probe_fact(probe, context, STORAGE_ASK_INFO, reply);
}

static void on_probe_config(redisAsyncContext *context, void *reply, void *probe)
{
    read_probe_fact(probe, context, STORAGE_ASK_CONFIG, reply);
}

static const char *find_change_of_marker(const struct storage_probe *probe)
{
    const struct fence_facts *was = &probe->session->reading.facts;
    const struct fence_facts *is = &probe->reading.facts;
    unsigned me = probe->session->index;
    if (strcmp(was->malformed, is->malformed) != 0)
        return "Its marker was changed by another program.";
    if (was->marked && !is->marked)
        return "Its marker was removed.";
    if (was->marked_durable != is->marked_durable || was->ttl_max_ms != is->ttl_max_ms ||
        was->view.incarnation[me] != is->view.incarnation[me])
        return "Its marker was rewritten.";
    return NULL;
}

/* Reports whether each lineage was the marker's at its time: another pawld noted a new replication
 * id in between. */
static bool has_settled_both(const struct fence_facts *was, const struct fence_facts *is)
{
    return !fence_facts_changed(was) && !fence_facts_changed(is);
}

/* Returns the change that a handshake would judge differently from the last one. Scripts notice
 * most changes, but only when a call asks for a lock. */
static const char *find_change(const struct storage_probe *probe)
{
    const struct fence_facts *was = &probe->session->reading.facts;
    const struct fence_facts *is = &probe->reading.facts;
    const unsigned me = probe->session->index;
    const char *change = probe->session->leads ? NULL : find_change_of_marker(probe);
    if (change)
        return change;
    if (was->replica != is->replica)
        return is->replica ? "It has become a replica." : "It is no longer a replica.";
    if (strcmp(was->lineage, is->lineage) != 0 && !has_settled_both(was, is))
        return "It was a replica, or evicted keys, or its replication id changed.";
    if (probe->session->reading.server.evicts != probe->reading.server.evicts)
        return "Its maxmemory-policy changed.";
    if (fence_facts_lost_writes(is, me) && !fence_facts_lost_writes(was, me))
        return "It lost writes: a pawld reported a later position.";
    if (was->marked_durable && was->durable != is->durable)
        return "Its persistence changed.";
    return NULL;
}

static void on_probe_marker(redisAsyncContext *context, void *reply, void *privdata)
{
    struct storage_probe *probe = privdata;
    read_probe_fact(probe, context, STORAGE_ASK_MARKER, reply);
    if (probe->failed)
        return;
    const char *change = find_change(probe);
    if (change)
        storage_connection_fail(probe->session->connection, FENCE_REASON_CHANGED, change);
    else if (storage_note_process_counts_is_due(&probe->reading) &&
             !storage_note_process_counts(probe->session->connection, probe->reading.facts.fleet_id,
                                          probe->reading.facts.member))
        storage_connection_fail(probe->session->connection, FENCE_REASON_UNREACHABLE,
                                "out of memory");
    if (!change && probe->reading.unswept)
        storage_sweeper_start(probe->sweeper);
}

static void on_probe_time(redisAsyncContext *context, void *reply, void *privdata)
{
    struct storage_probe *probe = privdata;
    const struct storage_master_events *events = probe->session->events;
    if (!take_probe_answer(probe, context, reply))
        return;
    assert(probe->owed == 0);
    struct fence_clock_reading *clock = &probe->reading.facts.clock;
    clock->theirs_us = storage_facts_time_us(reply);
    clock->after_us = storage_clock_us();
    events->probed(events->context, probe->session->index, &probe->reading.facts);
}

/* Reads whether the master would take a lock. This counts even if the rest of the probe is of no
 * use. */
static void on_probe_check(redisAsyncContext *context, void *data, void *privdata)
{
    struct storage_probe *probe = privdata;
    const redisReply *reply = data;
    bool of_use = take_probe_answer(probe, context, reply);
    if (!reply || !is_of_ready(probe, context))
        return;
    const enum storage_acquire_check check = storage_acquire_check_read(reply);
    if (check == STORAGE_ACQUIRE_CHECK_ERROR || check == STORAGE_ACQUIRE_CHECK_CHANGED)
        storage_connection_refused(probe->session->connection, reply);
    else if (of_use)
        storage_redis_note_full(&probe->reading, check == STORAGE_ACQUIRE_CHECK_FULL);
}

static bool ask_probe(struct storage_probe *probe, redisCallbackFn *on_answer, int n,
                      const char *args[])
{
    assert(probe->session->connection->context && n > 0);
    bool asked = redisAsyncCommandArgv(probe->session->connection->context, on_answer, probe, n,
                                       args, NULL) == REDIS_OK;
    probe->owed += asked;
    return asked;
}

/* Asks for a trial write. A master that rejoins takes no locks. While this server leads the rejoin,
 * its own steps report failures. */
static bool ask_for_a_write(struct storage_probe *probe)
{
    if (!probe->session->takes_locks || probe->session->leads)
        return true;
    bool asked = storage_acquire_check_ask(probe->session, on_probe_check, probe);
    probe->owed += asked;
    return asked;
}

/* TIME comes last: its answer ends the probe. */
static bool ask_all(struct storage_probe *probe)
{
    const char *info[STORAGE_QUESTION_ARGS];
    const char *config[STORAGE_QUESTION_ARGS];
    const char *marker[STORAGE_QUESTION_ARGS];
    const char *time[] = {"TIME"};
    int info_args = storage_question_args(STORAGE_ASK_INFO, info);
    int config_args = storage_question_args(STORAGE_ASK_CONFIG, config);
    int marker_args = storage_question_args(STORAGE_ASK_MARKER, marker);
    return ask_probe(probe, on_probe_info, info_args, info) &&
           ask_probe(probe, on_probe_config, config_args, config) && storage_tell(probe->session) &&
           ask_probe(probe, on_probe_marker, marker_args, marker) && ask_for_a_write(probe) &&
           ask_probe(probe, on_probe_time, 1, time);
}

/* Without calls nothing else notices a silent master. Some intervals of grace: after a pause of
 * this process its timers are due before the waiting answers are read. */
static void miss(struct storage_probe *probe)
{
    assert(probe->owed > 0 && probe->missed < probe->missed_max);
    if (++probe->missed >= probe->missed_max)
        storage_connection_fail(probe->session->connection, FENCE_REASON_SILENT,
                                "a probe was not answered");
}

static void on_probe_due(void *context)
{
    struct storage_probe *probe = context;
    const struct storage_session *session = probe->session;
    if (session->connection->link != STORAGE_LINK_READY || !session->events->probed)
        return;
    if (probe->owed > 0) {
        miss(probe);
        return;
    }
    storage_listener_open(probe->listener);
    probe->missed = 0;
    probe->failed = false;
    memset(&probe->reading, 0, sizeof(probe->reading));
    memcpy(probe->reading.facts.host, session->reading.facts.host,
           sizeof(probe->reading.facts.host));
    probe->reading.facts.module = session->reading.facts.module;
    probe->reading.facts.clock = (struct fence_clock_reading){.before_us = storage_clock_us()};
    probe->sent_ns = uv_hrtime();
    if (!ask_all(probe))
        storage_connection_fail(session->connection, FENCE_REASON_UNREACHABLE, "out of memory");
}

void storage_probe_set_interval(struct storage_probe *probe, unsigned interval_ms)
{
    assert(interval_ms > 0);
    unsigned missed = STORAGE_PROBE_SILENCE_MS / interval_ms;
    probe->interval_ms = interval_ms;
    probe->missed_max = missed > STORAGE_PROBES_MISSED_MAX ? missed : STORAGE_PROBES_MISSED_MAX;
}

void storage_probe_begin(struct storage_probe *probe)
{
    storage_connection_every(probe->session->connection, probe->interval_ms, on_probe_due, probe);
}
