/* How a worker ends: the phases of server/loop/worker.h. */
#include "server/loop/worker_state.h"
#include "server/system/log.h"

#include <assert.h>

enum {
    PASSED_LEAD_MS = 250, /* the shortest lead if another process has the sockets: clients need
                           * time to move */
    TOLD_A_TURN = 256,    /* waiting calls that get the answer in one turn */
};

/* Ends waiting calls as if their clients had disconnected. The clients are still connected, so each
 * call gets an answer within this function. */
static void tell_waiters(struct server_worker *worker)
{
    for (int told = 0; told < TOLD_A_TURN; told++) {
        const struct api_request *request = api_http_waiting(worker->http);
        if (!request)
            return;
        server_driver_left(worker->driver, api_request_client(request));
    }
    server_http_loop_answered(&worker->http_loop); /* more calls may wait: the next turn comes
                                                    * soon */
}

/* Reports whether masters owe answers. An owed answer may be about a lock that no call holds and
 * that has to be cleaned up. If the process ended first, the clean-up might never be sent, and the
 * lock would block until its lease ends. A master that votes answers within its deadline, or no
 * longer votes. */
static bool masters_owe(const struct server_worker *worker)
{
    const struct fence_fleet *fleet = server_driver_fleet(worker->driver);
    bool owe = false;
    for (unsigned i = 0; i < fleet->n; i++)
        owe |= fleet->master[i].state == FENCE_MASTER_ACTIVE && fleet->master[i].in_flight > 0;
    return owe;
}

bool server_worker_may_end(const struct server_worker *worker)
{
    return worker->phase == WORKER_DRAINING && server_driver_calls(worker->driver) == 0 &&
           !masters_owe(worker) && api_http_parked(worker->http) == 0 &&
           (!worker->config.others || atomic_load(worker->config.others) == 0);
}

static void on_drain_over(uv_timer_t *timer)
{
    struct server_worker *worker = timer->data;
    assert(worker->phase == WORKER_DRAINING);
    const unsigned parked = api_http_parked(worker->http);
    if (parked > 0)
        server_log(SERVER_LOG_WARNING,
                   "%s%u calls were not answered within the drain time of %u ms", worker->label,
                   parked, (unsigned)worker->config.ends.drain_ms);
    uv_stop(timer->loop);
}

static void begin_drain(struct server_worker *worker)
{
    assert(worker->phase != WORKER_DRAINING);
    server_log(SERVER_LOG_DEBUG, "%sdraining: %u calls, %u connections", worker->label,
               server_driver_calls(worker->driver), api_http_connections(worker->http));
    worker->phase = WORKER_DRAINING;
    worker->backend.draining = true;
    server_event_streams_stop(worker->event_streams);
    uv_timer_start(&worker->phase_timer, on_drain_over, worker->config.ends.drain_ms, 0);
}

static void on_lead_over(uv_timer_t *timer)
{
    assert(((const struct server_worker *)timer->data)->phase == WORKER_LEAVING);
    begin_drain(timer->data);
}

static void begin_lead(struct server_worker *worker, uint32_t lead_ms)
{
    assert(worker->phase == WORKER_SERVING);
    server_log(SERVER_LOG_DEBUG, "%sthe drain begins in %u ms", worker->label, (unsigned)lead_ms);
    worker->phase = WORKER_LEAVING;
    if (lead_ms > 0)
        uv_timer_start(&worker->phase_timer, on_lead_over, lead_ms, 0);
    else
        begin_drain(worker);
}

void server_worker_leave(struct server_worker *worker)
{
    uint32_t lead_ms = worker->config.ends.lead_ms;
    if (worker->handed_over && worker->phase == WORKER_LEAVING)
        begin_drain(worker); /* a halt was ordered */
    if (worker->phase != WORKER_SERVING)
        return;
    worker->backend.leaving = true;
    api_http_leave(worker->http);
    if (!api_http_is_open(worker->http) && lead_ms < PASSED_LEAD_MS)
        lead_ms = PASSED_LEAD_MS;
    begin_lead(worker, lead_ms);
}

/* Another process continues the service, so /readyz does not fail. If both processes can serve,
 * there is no haste. A file can be open in one process only, and the next process waits for it. */
void server_worker_give_up_listeners(struct server_worker *worker)
{
    worker->handed_over = true;
    api_http_hand_over(worker->http);
    server_event_streams_stop(worker->event_streams); /* their clients follow events at the other
                                                       * process */
    if (worker->phase == WORKER_SERVING)
        begin_lead(worker,
                   worker->config.addresses.store ? PASSED_LEAD_MS : worker->config.ends.drain_ms);
}

/* Reports whether all clients have disconnected; no new client can connect. */
static bool has_left(const struct server_worker *worker)
{
    return !api_http_is_open(worker->http) && api_http_connections(worker->http) == 0;
}

void server_worker_end_turn(struct server_worker *worker)
{
    if (worker->phase == WORKER_LEAVING && has_left(worker))
        begin_drain(worker);
    if (worker->phase == WORKER_DRAINING)
        tell_waiters(worker);
}
