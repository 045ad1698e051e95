#include "storage/redis_master_look.h"

#include "storage/lua/undurable.lua.h"
#include "storage/redis_keys.h"
#include "storage/redis_master_state.h"

#include <assert.h>
#include <time.h>

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
            storage_facts_read(question, reply, master->config.members, &look->facts) != 0;
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

/* Scripts notice a marker that is gone by themselves, but only when somebody asks for a lock. */
static void on_marker(redisAsyncContext *context, void *reply, void *unused)
{
    struct storage_redis_master *master = context->data;
    (void)unused;
    read_fact(context, STORAGE_ASK_MARKER, reply);
    if (!master->look.failed && master->facts.marked && !master->look.facts.marked)
        storage_master_fail(master, FENCE_REASON_ERROR, "its marker is gone");
}

static void on_time(redisAsyncContext *context, void *reply, void *unused)
{
    const struct storage_redis_master *master = context->data;
    struct storage_look *look = take_answer(context, reply);
    (void)unused;
    if (!look)
        return;
    struct fence_clock_reading *clock = &look->facts.clock;
    clock->theirs_us = storage_facts_time_us(reply);
    clock->after_us = boot_clock_us();
    master->config.events.looked(master->config.events.context, master->config.index, &look->facts);
}

static bool ask(struct storage_redis_master *master, redisCallbackFn *on_answer, int n,
                const char *args[])
{
    bool asked = redisAsyncCommandArgv(master->context, on_answer, NULL, n, args, NULL) == REDIS_OK;
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
           ask(master, on_marker, marker_args, marker) && ask(master, on_time, 1, time);
}

/* Where nobody asks for locks, nothing else notices that a master went silent. One interval of
 * grace: after a pause of this process its timers are due before the answers that wait are read. */
static void miss(struct storage_redis_master *master)
{
    if (master->look.overdue)
        storage_master_fail(master, FENCE_REASON_SILENT, "a look was not answered");
    master->look.overdue = true;
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
    look->overdue = false;
    look->failed = false;
    look->facts = master->facts;
    look->facts.marked = false;
    look->facts.nonce = 0;
    look->facts.next = 0;
    look->facts.progress = 0;
    look->facts.clock = (struct fence_clock_reading){.before_us = boot_clock_us()};
    if (!ask_all(master))
        storage_master_fail(master, FENCE_REASON_UNREACHABLE, "out of memory");
}

void storage_master_keep_looking(struct storage_redis_master *master)
{
    uv_timer_start(&master->timer, on_look_due, 0, STORAGE_LOOK_INTERVAL_MS);
}

/* ---- the marker ------------------------------------------------------------------------------ */

/* Any answer but an error settles it: a marker that was changed meanwhile is another handshake's.
 */
static void on_disclaimed(redisAsyncContext *context, void *data, void *unused)
{
    struct storage_redis_master *master = context->data;
    const redisReply *reply = data;
    (void)unused;
    if (reply && is_current(context) && reply->type == REDIS_REPLY_INTEGER)
        master->facts.marked_durable = false;
}

void storage_redis_master_disclaim(struct storage_redis_master *master)
{
    const struct fence_facts *facts = &master->facts;
    assert(master->state == LINK_READY);
    if (redisAsyncCommand(master->context, on_disclaimed, NULL, "EVAL %s 1 %s %s %u %s",
                          storage_lua_undurable, STORAGE_FLEET_KEY, facts->fleet_id, facts->member,
                          facts->run_id) != REDIS_OK)
        storage_redis_master_reset(master);
}
