#include "api/http/costly.h"

#include "api/http/request_state.h"
#include "api/http/transport.h"

#include <assert.h>

/* ---- the line -------------------------------------------------------------------------------- */

static void enqueue(struct api_costly *costly, struct api_request *request)
{
    assert(!request->lined);
    request->lined = true;
    request->line_next = NULL;
    request->line_prev = costly->last;
    if (costly->last != NULL)
        costly->last->line_next = request;
    else
        costly->first = request;
    costly->last = request;
}

static void dequeue(struct api_costly *costly, struct api_request *request)
{
    assert(request->lined);
    request->lined = false;
    if (request->line_prev != NULL)
        request->line_prev->line_next = request->line_next;
    else
        costly->first = request->line_next;
    if (request->line_next != NULL)
        request->line_next->line_prev = request->line_prev;
    else
        costly->last = request->line_prev;
}

/* ---- who may begin --------------------------------------------------------------------------- */

static bool is_free(const struct api_costly *costly, uint64_t now_us)
{
    return costly->served < API_COSTLY_SERVED && now_us >= costly->rests_until_us;
}

/* Sets the pause after a costly request. Without other callers there is no pause. */
static void rest(struct api_costly *costly, uint64_t now_us, uint64_t worked_us)
{
    if (worked_us > API_COSTLY_REST_MAX_US)
        worked_us = API_COSTLY_REST_MAX_US;
    if (now_us < costly->others_until_us && costly->rests_until_us < now_us + worked_us)
        costly->rests_until_us = now_us + worked_us;
}

static void begin(struct api_costly *costly, struct api_request *request, uint64_t now_us)
{
    assert(costly->served < API_COSTLY_SERVED && !request->costly && !request->lined);
    costly->served++;
    request->costly = true;
    request->began_us = now_us;
}

bool api_costly_begins(struct api_request *request)
{
    struct api_costly *costly = request->line;
    const uint64_t now_us = api_request_now_us();
    if (costly->first != NULL || !is_free(costly, now_us)) {
        enqueue(costly, request);
        return false;
    }
    begin(costly, request, now_us);
    return true;
}

void api_costly_saw_other(struct api_costly *costly)
{
    costly->others_until_us = api_request_now_us() + API_COSTLY_OTHERS_US;
}

void api_costly_ended(struct api_request *request)
{
    struct api_costly *costly = request->line;
    const uint64_t now_us = api_request_now_us();
    if (request->lined)
        dequeue(costly, request);
    if (!request->costly)
        return;
    assert(costly->served > 0);
    costly->served--;
    request->costly = false;
    rest(costly, now_us,
         request->may_wait ? (uint64_t)request->wait_locks * API_COSTLY_LOCK_US
                           : now_us - request->began_us);
}

/* ---- bodies ---------------------------------------------------------------------------------- */

static void allow_piece(struct api_request *request, uint64_t now_us)
{
    assert(request->state == API_REQUEST_READING);
    request->body_allowed += API_COSTLY_PIECE;
    rest(request->line, now_us, API_COSTLY_PIECE_US);
}

void api_costly_body_came(struct api_request *request)
{
    struct api_costly *costly = request->line;
    if (request->body_len + request->dropped <= API_COSTLY_BODY + request->body_allowed ||
        costly->released)
        return;
    const uint64_t now_us = api_request_now_us();
    if (costly->first == NULL && is_free(costly, now_us)) {
        allow_piece(request, now_us);
        return;
    }
    enqueue(costly, request);
    request->transport->suspend(request);
}

/* ---- turns ----------------------------------------------------------------------------------- */

static void serve_next(struct api_costly *costly, struct api_request *request, uint64_t now_us)
{
    dequeue(costly, request);
    if (request->state == API_REQUEST_READING) {
        allow_piece(request, now_us);
        request->transport->resume(request);
        return;
    }
    if (request->match.route->cost != API_COSTLY_EVEN_LEFT &&
        request->transport->has_left(request)) {
        costly->left(request);
        return;
    }
    assert(request->state == API_REQUEST_PARKED);
    begin(costly, request, now_us);
    request->match.route->handler(request, request->match.context);
}

void api_costly_turn(struct api_costly *costly)
{
    if (costly->first == NULL)
        return;
    uint64_t now_us = api_request_now_us();
    const uint64_t until_us = now_us + API_COSTLY_TURN_US;
    while (costly->first != NULL && is_free(costly, now_us) && now_us < until_us) {
        serve_next(costly, costly->first, now_us);
        now_us = api_request_now_us();
    }
}

int api_costly_timeout_ms(const struct api_costly *costly)
{
    if (costly->first == NULL || costly->served == API_COSTLY_SERVED)
        return -1;
    const uint64_t now_us = api_request_now_us();
    return now_us >= costly->rests_until_us ? 0
                                            : (int)((costly->rests_until_us - now_us + 999) / 1000);
}

void api_costly_release(struct api_costly *costly)
{
    struct api_request *next;
    costly->released = true;
    for (struct api_request *request = costly->first; request != NULL; request = next) {
        next = request->line_next;
        if (request->state != API_REQUEST_READING)
            continue;
        dequeue(costly, request);
        request->body_allowed = SIZE_MAX / 2;
        request->transport->resume(request);
    }
}
