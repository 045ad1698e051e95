#include "server/loop/bootstrap.h"

#include "server/system/clock.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include <sodium.h>
#include <uv.h>

enum {
    DETAIL_MAX = 256, /* bytes of the text about a fault of a connection */
};

/* The connection to a master, and what the master answered since the run began. */
struct line {
    bool up; /* its handshake ended well */
    struct fence_facts facts;
    bool down; /* it was lost since, or the master cannot be reached */
    enum fence_reason reason;
};

struct run {
    const struct server_bootstrap_config *config;
    uv_loop_t loop;
    uv_timer_t timer;
    bool timed_out;
    struct storage_master *masters[FENCE_MASTERS_MAX];
    struct line lines[FENCE_MASTERS_MAX];
    uint64_t tag; /* tag of the step under way */
    bool answered;
    struct fence_rejoin_reply reply;
    bool told; /* the caller was told that the run waits */
};

/* ---- what masters tell ----------------------------------------------------------------------- */

static void on_bootstrap_facts(void *context, unsigned i, const struct fence_facts *facts)
{
    struct run *run = context;
    run->lines[i].facts = *facts;
    run->lines[i].up = true;
}

/* A slow master is tried again until the deadline. */
static void on_bootstrap_down(void *context, unsigned i, enum fence_reason reason)
{
    struct run *run = context;
    struct line *line = &run->lines[i];
    if (reason == FENCE_REASON_SILENT && !line->up)
        return;
    line->down = true;
    line->reason = reason;
}

static void on_bootstrap_step(void *context, unsigned i, const struct fence_rejoin_reply *reply)
{
    struct run *run = context;
    (void)i;
    if (reply->tag != run->tag)
        return; /* too late */
    run->reply = *reply;
    run->answered = true;
}

/* Never called: no request about a lock is sent. */
static void on_bootstrap_reply(void *context, unsigned i, const struct fence_reply *reply)
{
    (void)context;
    (void)i;
    (void)reply;
    assert(false);
}

/* ---- the loop -------------------------------------------------------------------------------- */

static void on_bootstrap_late(uv_timer_t *timer)
{
    struct run *run = timer->data;
    run->timed_out = true;
}

static void set_bootstrap_timer(struct run *run, uint64_t after_ms)
{
    run->timed_out = false;
    uv_update_time(&run->loop);
    uv_timer_start(&run->timer, on_bootstrap_late, after_ms, 0);
}

/* One turn of the loop, which waits for something to happen. */
static void turn(struct run *run)
{
    for (unsigned i = 0; i < run->config->addresses.n; i++)
        storage_master_flush(run->masters[i]);
    uv_run(&run->loop, UV_RUN_ONCE);
}

/* Opens the masters over the loop of @run, which exists. */
static int open_run(struct run *run, const struct server_bootstrap_config *config)
{
    const struct storage_master_events events = {
        .context = run,
        .facts = on_bootstrap_facts,
        .down = on_bootstrap_down,
        .reply = on_bootstrap_reply,
        .rejoin = on_bootstrap_step,
    };
    run->config = config;
    uv_timer_init(&run->loop, &run->timer);
    run->timer.data = run;
    return server_masters_new(&run->loop, &config->addresses, 0, &events, run->masters);
}

static void close_run(struct run *run)
{
    for (unsigned i = 0; i < FENCE_MASTERS_MAX; i++)
        storage_master_free(run->masters[i]);
    uv_close((uv_handle_t *)&run->timer, NULL);
    uv_run(&run->loop, UV_RUN_DEFAULT);
    int busy = uv_loop_close(&run->loop);
    assert(!busy);
}

/* ---- effects --------------------------------------------------------------------------------- */

static void set_bootstrap_lost(struct fence_bootstrap_event *event, unsigned i)
{
    event->kind = FENCE_BOOTSTRAP_LOST;
    event->master = i;
}

static void do_look(struct run *run, unsigned i, struct fence_bootstrap_event *event)
{
    const struct line *line = &run->lines[i];
    assert(i < run->config->addresses.n);
    set_bootstrap_timer(run, SERVER_BOOTSTRAP_DEADLINE_MS);
    while (!line->up && !line->down && !run->timed_out)
        turn(run);
    if (!line->up || line->down) {
        set_bootstrap_lost(event, i);
        return;
    }
    event->kind = FENCE_BOOTSTRAP_FACTS;
    event->facts = &line->facts;
}

static void do_send(struct run *run, const struct fence_bootstrap_effect *effect,
                    struct fence_bootstrap_event *event)
{
    const struct line *line = &run->lines[effect->master];
    assert(effect->master < run->config->addresses.n);
    struct fence_rejoin_request request = effect->request;
    request.tag = ++run->tag;
    run->answered = false;
    set_bootstrap_timer(run, SERVER_BOOTSTRAP_DEADLINE_MS);
    if (!line->down)
        storage_master_rejoin(run->masters[effect->master], &request);
    while (!run->answered && !line->down && !run->timed_out)
        turn(run);
    if (!run->answered) {
        set_bootstrap_lost(event, effect->master);
        return;
    }
    event->kind = FENCE_BOOTSTRAP_REPLY;
    event->reply = &run->reply;
}

/* A lost master ends the wait: it is better to report the fault at once than after the wait. */
static void do_wait(struct run *run, uint64_t until_us, struct fence_bootstrap_event *event)
{
    uint64_t now_us = server_clock_us();
    event->kind = FENCE_BOOTSTRAP_TIME;
    set_bootstrap_timer(run, until_us > now_us ? (until_us - now_us) / 1000 + 1 : 0);
    while (!run->timed_out) {
        turn(run);
        for (unsigned i = 0; i < run->config->addresses.n; i++)
            if (run->lines[i].down) {
                set_bootstrap_lost(event, i);
                return;
            }
    }
}

static void tell_wait(struct run *run, const struct fence_bootstrap *bootstrap)
{
    if (!run->told && run->config->waits)
        run->config->waits(run->config->context, bootstrap,
                           fence_bootstrap_wait_ms(bootstrap, server_clock_us()));
    run->told = true;
}

static void carry_out(struct run *run, const struct fence_bootstrap *bootstrap,
                      const struct fence_bootstrap_effect *effect,
                      struct fence_bootstrap_event *ret_event)
{
    *ret_event = (struct fence_bootstrap_event){.master = effect->master};
    if (effect->act == FENCE_BOOTSTRAP_LOOK) {
        do_look(run, effect->master, ret_event);
    } else if (effect->act == FENCE_BOOTSTRAP_SEND) {
        do_send(run, effect, ret_event);
    } else {
        tell_wait(run, bootstrap);
        do_wait(run, effect->until_us, ret_event);
    }
    ret_event->now_us = server_clock_us();
}

/* ---- a run ----------------------------------------------------------------------------------- */

static void draw_params(const struct server_bootstrap_config *config,
                        struct fence_bootstrap_params *ret_params)
{
    unsigned char id[FENCE_ID_HEX_LEN / 2];
    *ret_params = config->params;
    ret_params->n = config->addresses.n;
    randombytes_buf(id, sizeof(id));
    if (ret_params->fleet_id[0] == '\0')
        sodium_bin2hex(ret_params->fleet_id, sizeof(ret_params->fleet_id), id, sizeof(id));
    randombytes_buf(ret_params->random, sizeof(ret_params->random));
}

/* Describes the fault of the connection to master @i. */
static void describe_line(const struct run *run, unsigned i, char ret_detail[static DETAIL_MAX])
{
    const char *detail = storage_master_detail(run->masters[i]);
    if (!run->lines[i].down || detail[0] == '\0')
        detail = "it did not answer in time";
    (void)snprintf(ret_detail, DETAIL_MAX, "%s", detail);
}

static void explain(const struct run *run, const struct fence_bootstrap *bootstrap,
                    char ret_why[static SERVER_BOOTSTRAP_WHY_MAX])
{
    char detail[DETAIL_MAX];
    const unsigned i = bootstrap->outcome.master;
    describe_line(run, i, detail);
    server_bootstrap_words(bootstrap, storage_master_address(run->masters[i]), detail, ret_why);
}

/* Does the rest of a run whose parameters are valid: @effect is the first effect. */
static void play(struct run *run, struct fence_bootstrap *bootstrap,
                 struct fence_bootstrap_effect *effect)
{
    struct fence_bootstrap_event event;
    while (effect->act != FENCE_BOOTSTRAP_END) {
        carry_out(run, bootstrap, effect, &event);
        fence_bootstrap_step(bootstrap, &event, effect);
    }
}

static int open_and_play(const struct server_bootstrap_config *config,
                         struct fence_bootstrap *bootstrap, struct fence_bootstrap_effect *effect,
                         char ret_why[static SERVER_BOOTSTRAP_WHY_MAX])
{
    struct run run = {.timed_out = false};
    const int failed = uv_loop_init(&run.loop);
    if (failed) {
        (void)snprintf(ret_why, SERVER_BOOTSTRAP_WHY_MAX,
                       "cannot make an event loop: %s. Raise the limit of open files (ulimit -n)",
                       uv_strerror(failed));
        return FENCE_EIO;
    }
    int error = open_run(&run, config);
    if (!error) {
        play(&run, bootstrap, effect);
        error = fence_bootstrap_error(bootstrap);
        if (error)
            explain(&run, bootstrap, ret_why);
    }
    close_run(&run);
    return error;
}

int server_bootstrap(const struct server_bootstrap_config *config, struct fence_bootstrap *ret_done,
                     char ret_why[static SERVER_BOOTSTRAP_WHY_MAX])
{
    struct fence_bootstrap_params params;
    struct fence_bootstrap_effect effect;
    const struct fence_bootstrap_event begin = {
        .kind = FENCE_BOOTSTRAP_BEGIN,
        .now_us = server_clock_us(),
    };
    ret_why[0] = '\0';
    draw_params(config, &params);
    fence_bootstrap_init(ret_done, &params);
    fence_bootstrap_step(ret_done, &begin, &effect);
    if (effect.act != FENCE_BOOTSTRAP_END)
        return open_and_play(config, ret_done, &effect, ret_why);
    server_bootstrap_words(ret_done, "", "", ret_why);
    return fence_bootstrap_error(ret_done);
}
