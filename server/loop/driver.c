#include "server/loop/driver.h"

#include "fence/state/trace.h"
#include "server/loop/audit.h"
#include "server/loop/batch_delay.h"
#include "server/loop/deferred_calls.h"
#include "server/loop/effects.h"
#include "server/loop/lag.h"
#include "server/loop/masters.h"
#include "server/loop/masters_log.h"
#include "server/loop/undelivered_grant.h"
#include "server/system/clock.h"
#include "server/system/log.h"

#include <assert.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LONG_SLEEPS = 2, /* so many of them make a deadline of masters */
};

struct server_driver {
    struct server_driver_config config;
    struct fence_core *core;
    struct storage_master *masters[FENCE_MASTERS_MAX];
    struct server_masters_log masters_log;
    struct server_audit audit;
    struct server_random random;
    uv_timer_t timer;
    uv_check_t check;
    struct server_lag lag;
    struct server_batch_delay batch_delay;
    bool looks_again;                /* the loop reads the sockets again before the core learns
                                      * the time */
    uint64_t now_us;                 /* time of the current event */
    uint64_t timer_due_us;           /* FENCE_NEVER: not set */
    int handles;                     /* not yet closed */
    bool stepped;                    /* an event came since this was cleared */
    struct server_declined declined; /* the grant of this step whose client has disconnected */
    bool calling;                    /* the current event is a call */
    bool tells_waits;                /* waits are reported to config.waits */
    struct server_later later;       /* calls that arrived while effects were carried out */
    bool acting; /* effects are being carried out: no event may come in between */
};

/* ---- effects --------------------------------------------------------------------------------- */

static void answer_client(struct server_driver *driver, const struct fence_answer *answer)
{
    if (!driver->calling) /* calls that are refused at once are not a burst of waiting clients */
        server_batch_delay_answered(&driver->batch_delay, driver->now_us);
    bool arrived = driver->config.answer(driver->config.context, answer);
    if (!arrived && answer->kind == FENCE_CALL_ACQUIRE && !answer->error)
        server_declined_note(&driver->declined, answer);
}

static void act(struct server_driver *driver, const struct fence_effect *effect)
{
    assert(driver->acting);
    if (effect->kind == FENCE_EFFECT_ANSWER)
        answer_client(driver, &effect->answer);
    else
        server_effects_act(driver->masters, fence_core_fleet(driver->core), effect);
}

static void take_back(struct server_driver *driver);
static void begin_later(struct server_driver *driver);

static void step(struct server_driver *driver, struct fence_event *event)
{
    struct fence_effects effects;
    assert(!driver->acting);
    event->now_us = driver->now_us;
    event->random = server_random_u64(&driver->random);
    fence_step(driver->core, event, &effects);
    driver->stepped = true;
    driver->acting = true;
    for (unsigned i = 0; i < effects.count; i++)
        act(driver, &effects.items[i]);
    driver->acting = false;
    if (driver->declined.any)
        take_back(driver);
    begin_later(driver);
}

/* Undoes the undelivered grant. One step answers at most one grant, and undoing a grant grants
 * nothing. */
static void take_back(struct server_driver *driver)
{
    assert(driver->declined.any);
    struct fence_event event = {
        .kind = FENCE_EVENT_DECLINED,
        .declined = driver->declined.taken,
    };
    driver->declined.any = false;
    step(driver, &event);
}

/* ---- events ---------------------------------------------------------------------------------- */

/* Logs when a master starts or ceases to vote, and why. */
static void log_changes(struct server_driver *driver)
{
    server_masters_log_votes(&driver->masters_log, fence_core_fleet(driver->core), driver->now_us);
}

static void refresh_clock(struct server_driver *driver)
{
    driver->now_us = server_clock_us();
}

/* Reads the clock once for all replies of a batch: the replies were read before it. */
static void on_batch(void *context, unsigned i, unsigned requests, uint64_t round_trip_us)
{
    const struct server_driver *driver = context;
    refresh_clock(context);
    if (round_trip_us > 0 && driver->config.batch)
        driver->config.batch(driver->config.context, i, requests, round_trip_us);
}

static void audit(struct server_driver *driver, unsigned i, const struct fence_facts *facts)
{
    server_audit_probed(&driver->audit, i, server_driver_address(driver, i), facts, driver->now_us);
}

static void on_facts(void *context, unsigned i, const struct fence_facts *facts)
{
    struct server_driver *driver = context;
    assert(i < driver->config.addresses.n);
    struct fence_event event = {.kind = FENCE_EVENT_FACTS, .master = i, .facts = *facts};
    refresh_clock(driver);
    step(driver, &event);
    server_masters_log_terms(&driver->masters_log, fence_core_fleet(driver->core),
                             driver->config.ttl_max_ms, driver->config.extensions_max);
    log_changes(driver);
    audit(driver, i, facts);
}

static void on_probed(void *context, unsigned i, const struct fence_facts *facts)
{
    struct server_driver *driver = context;
    struct fence_event event = {.kind = FENCE_EVENT_HEARD, .master = i};
    event.heard.positions = facts->heard;
    event.heard.writes = facts->writes;
    refresh_clock(driver);
    step(driver, &event);
    audit(driver, i, facts);
    log_changes(driver);
}

static const struct fence_fleet *fleet_of(void *context)
{
    const struct server_driver *driver = context;
    return fence_core_fleet(driver->core);
}

static void on_down(void *context, unsigned i, enum fence_reason reason)
{
    struct fence_event event = {.kind = FENCE_EVENT_DOWN, .master = i, .reason = reason};
    refresh_clock(context);
    step(context, &event);
    log_changes(context);
}

static void on_master_reply(void *context, unsigned i, const struct fence_reply *reply)
{
    assert(i < ((const struct server_driver *)context)->config.addresses.n);
    struct fence_event event; /* large; not worth clearing for each reply */
    event.kind = FENCE_EVENT_REPLY;
    event.master = i;
    event.reply = *reply;
    step(context, &event);
}

static void on_released(void *context, const char *lock_id, const char *resource)
{
    struct fence_event event = {
        .kind = FENCE_EVENT_RELEASED,
        .released = {.resource = resource, .lock_id = lock_id},
    };
    refresh_clock(context);
    step(context, &event);
}

static void on_place(void *context, const struct fence_place *place)
{
    struct fence_event event = {.kind = FENCE_EVENT_PLACE, .place = *place};
    refresh_clock(context);
    step(context, &event);
}

static void on_rejoin(void *context, unsigned i, const struct fence_rejoin_reply *reply)
{
    struct fence_event event = {.kind = FENCE_EVENT_REJOIN, .master = i, .rejoin = *reply};
    refresh_clock(context);
    step(context, &event);
    log_changes(context);
}

void server_driver_left(struct server_driver *driver, uint64_t client)
{
    struct fence_event event = {.kind = FENCE_EVENT_LEFT, .client = client};
    refresh_clock(driver);
    step(driver, &event);
}

static void begin_core_call(struct server_driver *driver, const struct fence_call *call)
{
    struct fence_event event;
    server_batch_delay_asked(&driver->batch_delay);
    refresh_clock(driver); /* the client's deadline counts from now, not from an earlier moment */
    event.kind = FENCE_EVENT_CALL;
    event.master = 0;
    event.call = *call;
    driver->calling = true;
    step(driver, &event);
    driver->calling = false;
}

static void begin_later(struct server_driver *driver)
{
    struct fence_call call;
    if (driver->later.begins)
        return;
    driver->later.begins = true;
    while (server_later_take(&driver->later, &call))
        begin_core_call(driver, &call);
    driver->later.begins = false;
}

void server_driver_call(struct server_driver *driver, const struct fence_call *call)
{
    if (!driver->acting)
        begin_core_call(driver, call);
    else if (!server_later_add(&driver->later, call))
        server_later_refuse(call, driver->config.answer, driver->config.context);
}

/* ---- the turn -------------------------------------------------------------------------------- */

static void on_driver_timer(uv_timer_t *timer)
{
    struct server_driver *driver = timer->data;
    driver->timer_due_us = FENCE_NEVER; /* due timers are served after the poll */
}

static void set_timer(struct server_driver *driver, bool at_once);

static void tell_lag(struct server_driver *driver, uint64_t lag_us)
{
    struct fence_event event = {.kind = FENCE_EVENT_LAGGED, .lag_us = lag_us};
    if (lag_us < SERVER_LAG_LEAST_US)
        return;
    refresh_clock(driver);
    step(driver, &event);
}

static void note_lag(struct server_driver *driver)
{
    const uint64_t woken_us = server_clock_us();
    tell_lag(driver, server_lag_woke(&driver->lag, driver->timer_due_us, woken_us));
    if (fence_core_deadline(driver->core) <= woken_us)
        tell_lag(driver, server_lag_ran_late_us(&driver->lag, woken_us));
}

/* Runs right after the sockets were read. A reply may have arrived while this process did not run.
 * Such a reply is not late, and the core must see it before it judges a master silent. After a long
 * sleep the sockets may not have been read: if the process was stopped, a signal ends the poll, and
 * then libuv only looks at the clock. So the sockets are read once more. */
static void after_poll(uv_check_t *check)
{
    struct server_driver *driver = check->data;
    unsigned ticks = 0;
    note_lag(driver);
    bool slept_long = server_clock_us() - driver->lag.slept_from_us >
                      UINT64_C(1000) * driver->config.deadline_ms / LONG_SLEEPS;
    driver->looks_again = slept_long && !driver->looks_again;
    if (driver->looks_again) {
        set_timer(driver, true);
        return;
    }
    for (; ticks < SERVER_TICKS_A_TURN; ticks++) {
        refresh_clock(driver);
        if (fence_core_deadline(driver->core) > driver->now_us)
            break;
        struct fence_event event = {.kind = FENCE_EVENT_TICK};
        step(driver, &event);
    }
    if (ticks > 0)
        log_changes(driver);
}

/* Sets the timer. A timer that is too early costs one idle turn; moving the timer at each step
 * would cost more. */
static void set_timer(struct server_driver *driver, bool at_once)
{
    uint64_t due_us = at_once ? 0 : fence_core_deadline(driver->core);
    if (due_us >= driver->timer_due_us)
        return;
    uint64_t now_us = server_clock_us();
    uint64_t delay_ms = due_us > now_us ? (due_us - now_us + 999) / 1000 : 0;
    uv_update_time(driver->config.loop);
    uv_timer_start(&driver->timer, on_driver_timer, delay_ms, 0);
    driver->timer_due_us = due_us;
}

static bool could_send(const struct server_driver *driver)
{
    for (unsigned i = 0; i < driver->config.addresses.n; i++)
        if (storage_master_could_send(driver->masters[i]))
            return true;
    return false;
}

static bool holds_back(struct server_driver *driver, bool sends)
{
    return server_masters_fill_batches(&driver->config.addresses) &&
           server_batch_delay_waits(&driver->batch_delay, sends, driver->lag.slept_from_us);
}

void server_driver_turn(struct server_driver *driver)
{
    assert(!driver->acting && !driver->declined.any);
    bool sends = could_send(driver);
    const uint64_t now_us = server_clock_us();
    server_lag_sleeps(&driver->lag, now_us);
    if (now_us >= driver->masters_log.due_us)
        server_masters_log_votes(&driver->masters_log, fence_core_fleet(driver->core), now_us);
    if (holds_back(driver, sends)) {
        set_timer(driver, true);
        return;
    }
    driver->stepped = false;
    for (unsigned i = 0; i < driver->config.addresses.n; i++)
        storage_master_flush(driver->masters[i]);
    /* Sending may find lost connections. The core may then have requests for masters that were
     * already flushed. */
    set_timer(driver, driver->stepped);
    /* Sending woke masters on this machine. Masters on this core can run only while this process
     * does not. So the process yields, and then reads their replies together, not one by one. */
    if (sends)
        (void)sched_yield();
}

/* ---- setting up ------------------------------------------------------------------------------ */

static void log_decision(void *context, const struct fence_trace *trace)
{
    const struct server_driver *driver = context;
    const char *only = driver->config.trace_lock;
    char text[FENCE_TRACE_TEXT_MAX];
    if (only && strcmp(only, trace->resource) != 0)
        return;
    fence_trace_text(trace, text);
    server_log(SERVER_LOG_TRACE, "%s%s", driver->config.label, text);
}

static void on_decision(void *context, const struct fence_trace *trace)
{
    const struct server_driver *driver = context;
    if (trace->kind == FENCE_TRACE_WAITS && driver->tells_waits)
        driver->config.waits(driver->config.context, trace->client, trace->resource);
    if (driver->config.traces)
        log_decision(context, trace);
}

/* Without a tracer, a decision costs one comparison. */
static void set_tracer(struct server_driver *driver)
{
    struct fence_tracer tracer = {.line = NULL};
    if (driver->config.traces || driver->tells_waits)
        tracer = (struct fence_tracer){.line = on_decision, .context = driver};
    fence_core_trace(driver->core, tracer);
}

void server_driver_tell_waits(struct server_driver *driver, bool tells)
{
    if (driver->tells_waits == tells || !driver->config.waits)
        return;
    driver->tells_waits = tells;
    set_tracer(driver);
}

static int new_masters(struct server_driver *driver)
{
    const struct storage_master_events events = {
        .context = driver,
        .facts = on_facts,
        .probed = on_probed,
        .fleet = fleet_of,
        .down = on_down,
        .batch = on_batch,
        .reply = on_master_reply,
        .released = on_released,
        .place = on_place,
        .rejoin = on_rejoin,
    };
    server_audit_init(&driver->audit, driver->config.addresses.n, driver->config.tells_audit);
    driver->audit.found.deadline_us = UINT64_C(1000) * driver->config.deadline_ms;
    return server_masters_new(driver->config.loop, &driver->config.addresses,
                              driver->config.probe_ms, &events, driver->masters);
}

int server_driver_new(const struct server_driver_config *config, struct server_driver **ret_driver)
{
    struct server_driver *driver = calloc(1, sizeof(*driver));
    if (!driver)
        return FENCE_ENOMEM;
    driver->config = *config;
    driver->timer_due_us = FENCE_NEVER;
    server_lag_init(&driver->lag, server_clock_us());
    server_masters_log_init(&driver->masters_log, config->label, driver->masters,
                            server_clock_us());
    int failed =
        uv_timer_init(config->loop, &driver->timer) | uv_check_init(config->loop, &driver->check);
    assert(!failed); /* they only fill in memory */
    driver->timer.data = driver;
    driver->check.data = driver;
    driver->handles = 2;
    failed = uv_check_start(&driver->check, after_poll);
    assert(!failed);

    struct fence_config fence = {
        .masters = config->addresses.n,
        .calls = config->calls,
        .waiters = config->waiters,
        .extensions = FENCE_EXTENSIONS_MAX,
        .deadline_us = UINT64_C(1000) * config->deadline_ms,
        .counters = config->counters,
        .ask = config->ask,
        .seed = server_random_u64(&driver->random),
    };
    int error = fence_core_new(&fence, &driver->core);
    if (!error)
        set_tracer(driver);
    if (!error)
        error = new_masters(driver);
    if (error) {
        server_driver_free(driver);
        return error;
    }
    *ret_driver = driver;
    return 0;
}

static void on_driver_closed(uv_handle_t *handle)
{
    struct server_driver *driver = handle->data;
    assert(driver->handles > 0);
    if (--driver->handles > 0)
        return;
    fence_core_free(driver->core);
    server_lag_fini(&driver->lag);
    free(driver);
}

void server_driver_free(struct server_driver *driver)
{
    if (!driver)
        return;
    for (unsigned i = 0; i < FENCE_MASTERS_MAX; i++)
        storage_master_free(driver->masters[i]);
    uv_close((uv_handle_t *)&driver->timer, on_driver_closed);
    uv_close((uv_handle_t *)&driver->check, on_driver_closed);
}

/* ---- what others may know -------------------------------------------------------------------- */

const struct fence_fleet *server_driver_fleet(const struct server_driver *driver)
{
    return fence_core_fleet(driver->core);
}

const char *server_driver_address(const struct server_driver *driver, unsigned i)
{
    assert(i < driver->config.addresses.n);
    return storage_master_address(driver->masters[i]);
}

void server_driver_masters(const struct server_driver *driver,
                           struct api_master_status ret_masters[static FENCE_MASTERS_MAX])
{
    const struct fence_fleet *fleet = fence_core_fleet(driver->core);
    const uint64_t now_us = server_clock_us();
    for (unsigned i = 0; i < driver->config.addresses.n; i++) {
        const uint64_t due_us = fleet->master[i].eligible_at_us;
        ret_masters[i] = (struct api_master_status){
            .address = storage_master_address(driver->masters[i]),
            .last_failure = storage_master_detail(driver->masters[i]),
            .round_trip_us = storage_master_round_trip_us(driver->masters[i]),
            .state_for_us = now_us - server_masters_log_since_us(&driver->masters_log, i),
            .returns = due_us != 0,
            .returns_in_us = due_us > now_us ? due_us - now_us : 0,
        };
    }
}

const struct fence_counts *server_driver_counts(const struct server_driver *driver)
{
    return fence_core_counts(driver->core);
}

unsigned server_driver_cleanups(const struct server_driver *driver)
{
    return fence_core_cleanups(driver->core);
}

uint64_t server_driver_now_us(const struct server_driver *driver)
{
    return driver->now_us;
}

const struct fence_audit *server_driver_audit(const struct server_driver *driver)
{
    return &driver->audit.found;
}

struct storage_master *server_driver_master(struct server_driver *driver, unsigned i)
{
    assert(i < driver->config.addresses.n);
    return driver->masters[i];
}

unsigned server_driver_calls(const struct server_driver *driver)
{
    return fence_core_calls(driver->core);
}

unsigned server_driver_waiting(const struct server_driver *driver)
{
    return fence_core_waiting(driver->core);
}

struct server_random *server_driver_random(struct server_driver *driver)
{
    return &driver->random;
}
