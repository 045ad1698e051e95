#include "server/pawld/supervisor.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum {
    LOOKS = 2, /* looks within the time after which the manager stops waiting */
};

/* Reports whether each loop has turned since the last look. Wakes idle loops for the next look. */
static bool all_turned(struct pawld_supervisor *supervisor)
{
    bool all = true;
    for (unsigned i = 0; i < supervisor->count; i++) {
        const uint64_t turns = server_worker_turns(supervisor->workers[i]);
        const bool ended = turns == SERVER_TURNS_ENDED;
        all = all && (ended || turns != supervisor->turns[i]);
        supervisor->turns[i] = turns;
        if (!ended)
            server_worker_look(supervisor->workers[i]);
    }
    return all;
}

static void tell_ready(struct pawld_supervisor *supervisor)
{
    char pid[32] = "";
    supervisor->ready = true;
    if (supervisor->took_place)
        (void)snprintf(pid, sizeof(pid), "\nMAINPID=%d", (int)getpid());
    if (!supervisor->stopping)
        server_notify_send(&supervisor->notify, "READY=1\nSTATUS=Serving with %u worker%s%s",
                           supervisor->count, supervisor->count > 1 ? "s" : "", pid);
}

static bool all_ready(const struct pawld_supervisor *supervisor)
{
    bool ready = true;
    for (unsigned i = 0; i < supervisor->count; i++)
        ready = ready && server_worker_ready(supervisor->workers[i]);
    return ready;
}

/* Makes the looks slower: the first looks follow quickly. */
static void slow_down(struct pawld_supervisor *supervisor)
{
    if (supervisor->serving || !supervisor->ready)
        return;
    if (supervisor->watchdog_ms > 0)
        uv_timer_set_repeat(&supervisor->timer, supervisor->watchdog_ms);
    else
        uv_timer_stop(&supervisor->timer);
}

static void on_look(uv_timer_t *timer)
{
    struct pawld_supervisor *supervisor = timer->data;
    assert(supervisor->count > 0);
    const bool all = all_turned(supervisor);
    supervisor->turned = supervisor->turned || all;
    if (all && !supervisor->ready && (!supervisor->took_place || all_ready(supervisor)))
        tell_ready(supervisor);
    if (supervisor->serving && supervisor->turned &&
        supervisor->serving(supervisor->context, all_ready(supervisor)))
        supervisor->serving = NULL;
    slow_down(supervisor);
    if (all && supervisor->watchdog_ms > 0)
        server_notify_send(&supervisor->notify, "WATCHDOG=1");
}

void pawld_supervisor_open(struct pawld_supervisor *supervisor)
{
    *supervisor = (struct pawld_supervisor){.count = 0};
    server_notify_open(&supervisor->notify);
}

void pawld_supervisor_close(struct pawld_supervisor *supervisor)
{
    server_notify_close(&supervisor->notify);
}

void pawld_supervise(struct pawld_supervisor *supervisor, struct server_worker *const workers[],
                     unsigned count)
{
    const uint64_t watchdog_us = server_notify_watchdog_us();
    assert(count > 0 && workers[0]);
    supervisor->workers = workers;
    supervisor->count = count;
    supervisor->watchdog_ms = watchdog_us / 1000 / LOOKS;
    if (watchdog_us > 0 && supervisor->watchdog_ms == 0)
        supervisor->watchdog_ms = 1;
    int failed = uv_timer_init(server_worker_loop(workers[0]), &supervisor->timer);
    supervisor->timer.data = supervisor;
    if (supervisor->notify.fd >= 0 || supervisor->serving)
        failed |=
            uv_timer_start(&supervisor->timer, on_look, PAWLD_READY_LOOK_MS, PAWLD_READY_LOOK_MS);
    assert(!failed); /* they only fill in memory */
}

void pawld_supervise_end(struct pawld_supervisor *supervisor)
{
    uv_close((uv_handle_t *)&supervisor->timer, NULL);
}

void pawld_supervise_reloading(struct pawld_supervisor *supervisor)
{
    struct timespec now = {.tv_sec = 0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    server_notify_send(&supervisor->notify, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64,
                       (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000);
}

void pawld_supervise_reloaded(struct pawld_supervisor *supervisor)
{
    server_notify_send(&supervisor->notify, "READY=1");
}

void pawld_supervise_stopping(struct pawld_supervisor *supervisor, uint64_t most_ms)
{
    supervisor->stopping = true;
    server_notify_send(&supervisor->notify,
                       "STOPPING=1\nSTATUS=Draining\nEXTEND_TIMEOUT_USEC=%" PRIu64, most_ms * 1000);
}
