#include "tests/sim/marker.h"

#include "tests/sim/mutant.h"

#include <assert.h>
#include <string.h>

enum {
    WIPED_AT_A_TIME = 1, /* locks: as with a real SCAN, one call is not enough */
};

/* ---- views ----------------------------------------------------------------------------------- */

/* Learns what @named knows better, of other members and of this one. */
static void learn(struct sim_marker *marker, const struct fence_view *named)
{
    (void)fence_view_merge(&marker->view, named, FENCE_MASTERS_MAX);
}

/* Of itself a master knows best, and of others no more than is named. */
static bool stands(const struct sim_marker *marker, const struct fence_view *named)
{
    for (unsigned i = 0; i < FENCE_MASTERS_MAX; i++) {
        int64_t known = marker->view.incarnation[i];
        if (known > named->incarnation[i])
            return false;
        if (i == marker->member && known != named->incarnation[i])
            return false;
    }
    return true;
}

int sim_marker_check_view(struct sim_master *master, const struct sim_request *request)
{
    struct sim_marker *marker = &master->memory.marker;
    if (!marker->present || !marker->active || marker->member != request->member)
        return FENCE_REPLY_REFUSED;
    if (!stands(marker, &request->view))
        return SIM_MUTANT(VIEW_UNCHECKED) ? 0 : FENCE_REPLY_STALE;
    if (!SIM_MUTANT(NOTHING_RECORDED))
        learn(marker, &request->view);
    return 0;
}

/* ---- the steps of a rejoin ------------------------------------------------------------------- */

static bool same_marker(const struct sim_marker *a, const struct sim_marker *b)
{
    if (!a->present || !b->present)
        return a->present == b->present;
    return a->member == b->member && a->run == b->run && a->active == b->active &&
           a->nonce == b->nonce && memcmp(&a->view, &b->view, sizeof(a->view)) == 0;
}

static bool claim(struct sim_master *master, const struct sim_request *request)
{
    const struct sim_rejoin_request *rejoin = &request->rejoin;
    struct sim_marker *marker = &master->memory.marker;
    if (!same_marker(marker, &rejoin->seen) && !SIM_MUTANT(CLAIM_UNSEEN))
        return false;
    if (rejoin->keep_locks) {
        marker->nonce = rejoin->nonce;
        marker->next = rejoin->incarnation;
        marker->progress = 0;
        return true;
    }
    /* What it recorded of others stays, and its own incarnation is what it was. */
    struct fence_view view = request->view;
    if (marker->present)
        view.incarnation[request->member] = marker->view.incarnation[request->member];
    (void)fence_view_merge(&view, &marker->view, FENCE_MASTERS_MAX);
    *marker = (struct sim_marker){
        .present = true,
        .member = request->member,
        .run = rejoin->run,
        .ttl_max_ms = rejoin->ttl_max_ms,
        .durable = rejoin->durable,
        .nonce = rejoin->nonce,
        .next = rejoin->incarnation,
        .view = view,
    };
    return true;
}

static bool wipe(struct sim_master *master, const struct sim_rejoin_request *rejoin,
                 uint64_t *ret_cursor)
{
    if (!master->memory.marker.present || master->memory.marker.nonce != rejoin->nonce)
        return false;
    master->memory.marker.progress++;
    uint64_t next = rejoin->cursor + WIPED_AT_A_TIME;
    if (rejoin->cursor < master->resources && !SIM_MUTANT(LOCKS_KEPT))
        master->memory.locks[rejoin->cursor].present = false;
    *ret_cursor = next < master->resources ? next : 0;
    return true;
}

static void raise_to(int64_t *counter, int64_t given)
{
    if (*counter < given && !SIM_MUTANT(COUNTERS_NOT_RAISED))
        *counter = given;
}

static bool admit(struct sim_master *master, const struct sim_request *request)
{
    const struct sim_rejoin_request *rejoin = &request->rejoin;
    struct sim_marker *marker = &master->memory.marker;
    bool claimed =
        marker->present && marker->nonce == rejoin->nonce && marker->progress >= rejoin->wiped;
    if (!claimed && !(marker->present && SIM_MUTANT(NONCE_UNCHECKED)))
        return false;
    raise_to(&master->memory.counters.floor, rejoin->counters.floor);
    for (unsigned slot = 0; slot < SIM_RESOURCES_MAX; slot++)
        raise_to(&master->memory.counters.slot[slot], rejoin->counters.slot[slot]);
    learn(marker, &request->view);
    marker->view.incarnation[marker->member] = request->view.incarnation[marker->member];
    marker->active = true;
    marker->run = rejoin->run;
    marker->durable = rejoin->durable;
    marker->nonce = 0;
    marker->next = 0;
    marker->progress = 0;
    return true;
}

static enum fence_rejoin_outcome done_or_changed(bool done)
{
    return done ? FENCE_REJOIN_DONE : FENCE_REJOIN_CHANGED;
}

/* The view that is named has the incarnation to record in it, so this is a request like any other
 * that answers the counters. */
static enum fence_rejoin_outcome record(struct sim_master *master,
                                        const struct sim_request *request)
{
    int refusal = sim_marker_check_view(master, request);
    return refusal == FENCE_REPLY_REFUSED ? FENCE_REJOIN_LOST : done_or_changed(refusal == 0);
}

/* One counter in each answer: where there are several, it takes several. */
static struct sim_counters read_counters(const struct sim_master *master, uint64_t *cursor)
{
    const struct sim_counters *counters = &master->memory.counters;
    struct sim_counters part = {.floor = counters->floor};
    assert(*cursor < master->slots);
    part.slot[*cursor] = counters->slot[*cursor];
    *cursor = (*cursor + 1) % master->slots;
    return part;
}

struct sim_reply sim_marker_rejoin(struct sim_master *master, const struct sim_request *request)
{
    struct sim_reply reply = {.outcome = FENCE_REJOIN_CHANGED};
    switch (request->rejoin.step) {
    case FENCE_REJOIN_CLAIM:
        reply.outcome = done_or_changed(claim(master, request));
        break;
    case FENCE_REJOIN_WIPE:
        reply.outcome = done_or_changed(wipe(master, &request->rejoin, &reply.cursor));
        break;
    case FENCE_REJOIN_RECORD:
        reply.outcome = record(master, request);
        reply.cursor = request->rejoin.cursor;
        reply.counters = read_counters(master, &reply.cursor);
        break;
    case FENCE_REJOIN_ADMIT:
        reply.outcome = done_or_changed(admit(master, request));
        break;
    }
    reply.marker = master->memory.marker;
    return reply;
}

struct sim_reply sim_marker_restamp(struct sim_master *master, const struct sim_request *request)
{
    struct sim_marker *marker = &master->memory.marker;
    const struct sim_marker *seen = &request->rejoin.seen;
    bool unchanged = marker->present && marker->active && marker->member == seen->member &&
                     marker->run == seen->run && marker->nonce == seen->nonce;
    if (unchanged) {
        int64_t *own = &marker->view.incarnation[marker->member];
        if (*own < request->rejoin.incarnation)
            *own = request->rejoin.incarnation;
        marker->run = request->rejoin.run;
        marker->nonce = 0;
        marker->next = 0;
        marker->progress = 0;
    }
    return (struct sim_reply){.outcome = done_or_changed(unchanged)};
}
