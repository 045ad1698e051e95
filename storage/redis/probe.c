#include "storage/redis/probe.h"

#include "storage/redis/connection.h"
#include "storage/redis/keys.h"
#include "storage/redis/lua/lineage.lua.h"
#include "storage/redis/lua/settle.lua.h"

#include <assert.h>
#include <string.h>
#include <time.h>

enum {
    BYTES_AT_LEAST = 4096, /* between two notes of how many a master received */
};

/* The fence's clock: it counts while this machine sleeps, as the master's does. */
static uint64_t boot_clock_us(void)
{
    struct timespec now;
    int failed = clock_gettime(CLOCK_BOOTTIME, &now);
    assert(!failed);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* Whether a reply is of the connection that stands, and no handshake has begun on it since. */
static bool is_current(const redisAsyncContext *context)
{
    const struct storage_redis_master *master = context->data;
    return master->context == context && master->state == LINK_READY;
}

/* ---- looking --------------------------------------------------------------------------------- */

/* Takes one answer out of those owed; NULL where it is of no use. A look that is not answered in
 * full is dropped: the next one may be. */
static struct storage_look *take_answer(const redisAsyncContext *context, const redisReply *reply)
{
    struct storage_redis_master *master = context->data;
    struct storage_look *look = &master->look;
    look->owed--;
    look->failed = look->failed || !reply || !is_current(context);
    return look->failed ? NULL : look;
}

static void read_fact(const redisAsyncContext *context, enum storage_question question,
                      const redisReply *reply)
{
    const struct storage_redis_master *master = context->data;
    struct storage_look *look = take_answer(context, reply);
    if (look)
        look->failed =
            storage_facts_read(question, reply, master->config.members, &look->reading) != 0;
}

static void on_info(redisAsyncContext *context, void *reply, void *unused)
{
    (void)unused;
    read_fact(context, STORAGE_ASK_INFO, reply);
}

static void on_config(redisAsyncContext *context, void *reply, void *unused)
{
    (void)unused;
    read_fact(context, STORAGE_ASK_CONFIG, reply);
}

static const char *find_change_of_marker(const struct storage_redis_master *master)
{
    const struct fence_facts *was = &master->reading.facts;
    const struct fence_facts *is = &master->look.reading.facts;
    unsigned me = master->config.index;
    if (was->marked && !is->marked)
        return "Its marker is gone.";
    if (was->marked_durable != is->marked_durable ||
        was->view.incarnation[me] != is->view.incarnation[me])
        return "Its marker was written anew.";
    return NULL;
}

/* What a handshake would judge differently from the last one. Scripts notice most of it by
 * themselves, but only when somebody asks for a lock. */
static const char *find_change(const struct storage_redis_master *master)
{
    const struct fence_facts *was = &master->reading.facts;
    const struct fence_facts *is = &master->look.reading.facts;
    const char *change = master->leads ? NULL : find_change_of_marker(master);
    if (change)
        return change;
    if (was->replica != is->replica)
        return is->replica ? "It has become a replica." : "It is no longer a replica.";
    if (strcmp(was->lineage, is->lineage) != 0)
        return "It was a replica, or evicted keys, or its replication id changed.";
    if (master->reading.server.evicts != master->look.reading.server.evicts)
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

static void settle(struct storage_redis_master *master)
{
    const struct fence_facts *facts = &master->look.reading.facts;
    if (redisAsyncCommand(master->context, NULL, NULL, "EVAL %s%s 1 %s %s %u",
                          storage_redis_lua_lineage, storage_redis_lua_settle, STORAGE_FLEET_KEY,
                          facts->fleet_id, (unsigned)facts->member) != REDIS_OK)
        storage_master_fail(master, FENCE_REASON_UNREACHABLE, "out of memory");
}

static void on_marker(redisAsyncContext *context, void *reply, void *unused)
{
    struct storage_redis_master *master = context->data;
    (void)unused;
    read_fact(context, STORAGE_ASK_MARKER, reply);
    if (master->look.failed)
        return;
    const char *change = find_change(master);
    if (change)
        storage_master_fail(master, FENCE_REASON_CHANGED, change);
    else if (is_to_be_settled(&master->look.reading))
        settle(master);
    if (!change && master->look.reading.unswept)
        storage_master_sweep(master);
}

static void on_time(redisAsyncContext *context, void *reply, void *unused)
{
    const struct storage_redis_master *master = context->data;
    struct storage_look *look = take_answer(context, reply);
    (void)unused;
    if (!look)
        return;
    struct fence_clock_reading *clock = &look->reading.facts.clock;
    clock->theirs_us = storage_facts_time_us(reply);
    clock->after_us = boot_clock_us();
    master->config.events.looked(master->config.events.context, master->config.index,
                                 &look->reading.facts);
}

/* Whether it would take a lock, whatever else this look finds. */
static void on_probed(redisAsyncContext *context, void *data, void *unused)
{
    struct storage_redis_master *master = context->data;
    const redisReply *reply = data;
    struct storage_look *look = take_answer(context, reply);
    (void)unused;
    if (!reply || !is_current(context))
        return;
    const enum storage_probed probed = storage_master_probed(reply);
    if (probed == STORAGE_PROBED_ERROR || probed == STORAGE_PROBED_CHANGED)
        storage_master_refused(master, reply);
    else if (look)
        storage_redis_note_full(&look->reading, probed == STORAGE_PROBED_FULL);
}

static bool ask(struct storage_redis_master *master, redisCallbackFn *on_answer, int n,
                const char *args[])
{
    bool asked = redisAsyncCommandArgv(master->context, on_answer, NULL, n, args, NULL) == REDIS_OK;
    master->look.owed += asked;
    return asked;
}

/* One that is taken back takes no locks; and while this server does that, its own steps say what
 * they meet. */
static bool ask_for_a_write(struct storage_redis_master *master)
{
    if (!master->probed || master->leads)
        return true;
    bool asked = storage_master_probe(master, on_probed);
    master->look.owed += asked;
    return asked;
}

/* TIME comes last: its answer ends the look. */
static bool ask_all(struct storage_redis_master *master)
{
    const char *info[STORAGE_QUESTION_ARGS];
    const char *config[STORAGE_QUESTION_ARGS];
    const char *marker[STORAGE_QUESTION_ARGS];
    const char *time[] = {"TIME"};
    int info_args = storage_question_args(STORAGE_ASK_INFO, info);
    int config_args = storage_question_args(STORAGE_ASK_CONFIG, config);
    int marker_args = storage_question_args(STORAGE_ASK_MARKER, marker);
    return ask(master, on_info, info_args, info) && ask(master, on_config, config_args, config) &&
           ask(master, on_marker, marker_args, marker) && ask_for_a_write(master) &&
           ask(master, on_time, 1, time);
}

/* Where nobody asks for locks, nothing else notices that a master went silent. Some intervals of
 * grace: after a pause of this process its timers are due before the answers that wait are read. */
static void miss(struct storage_redis_master *master)
{
    if (++master->look.missed >= STORAGE_LOOKS_MISSED_MAX)
        storage_master_fail(master, FENCE_REASON_SILENT, "a look was not answered");
}

static void on_look_due(uv_timer_t *timer)
{
    struct storage_redis_master *master = timer->data;
    struct storage_look *look = &master->look;
    if (master->state != LINK_READY || !master->config.events.looked)
        return;
    if (look->owed > 0) {
        miss(master);
        return;
    }
    storage_master_listen(master);
    look->missed = 0;
    look->failed = false;
    memset(&look->reading, 0, sizeof(look->reading));
    memcpy(look->reading.facts.host, master->reading.facts.host, sizeof(look->reading.facts.host));
    look->reading.facts.clock = (struct fence_clock_reading){.before_us = boot_clock_us()};
    if (!ask_all(master))
        storage_master_fail(master, FENCE_REASON_UNREACHABLE, "out of memory");
}

void storage_master_keep_looking(struct storage_redis_master *master)
{
    uv_timer_start(&master->timer, on_look_due, 0, STORAGE_LOOK_INTERVAL_MS);
}
