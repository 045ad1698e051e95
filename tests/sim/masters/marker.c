#include "tests/sim/masters/marker.h"

#include "tests/sim/masters/import.h"
#include "tests/sim/masters/mutant.h"

#include <string.h>

enum {
    CLEARED_AT_A_TIME = 1, /* locks: as with a real SCAN, one call is not enough */
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
    bool reads = request->ask == SIM_ASK_REJOIN;
    bool unchecked =
        reads ? SIM_MUTANT(LINEAGE_UNCHECKED_READ) : SIM_MUTANT(LINEAGE_UNCHECKED_TAKE);
    if (!marker->present || !marker->active || marker->member != request->member)
        return FENCE_REPLY_REFUSED;
    if (sim_master_strayed(master) && !unchecked)
        return FENCE_REPLY_REFUSED;
    bool extends = !reads && (request->lock.kind == FENCE_REQUEST_EXTEND ||
                              request->lock.kind == FENCE_REQUEST_JOIN);
    bool breaks = !reads && request->lock.kind == FENCE_REQUEST_BREAK;
    if (!stands(marker, &request->view))
        return SIM_MUTANT(VIEW_UNCHECKED) || (extends && SIM_MUTANT(EXTEND_VIEW_UNCHECKED)) ||
                       (breaks && SIM_MUTANT(BREAK_VIEW_UNCHECKED))
                   ? 0
                   : FENCE_REPLY_STALE;
    if (!SIM_MUTANT(NOTHING_RECORDED))
        learn(marker, &request->view);
    return 0;
}

/* ---- the steps of a rejoin ------------------------------------------------------------------- */

static bool same_marker(const struct sim_marker *a, const struct sim_marker *b)
{
    if (!a->present || !b->present)
        return a->present == b->present;
    return a->member == b->member && a->run == b->run && a->lineage == b->lineage &&
           a->active == b->active && a->next == b->next &&
           memcmp(&a->view, &b->view, sizeof(a->view)) == 0;
}

/* What it recorded of others stays, and its own incarnation is what it was. */
static bool mark(struct sim_master *master, const struct sim_request *request)
{
    const struct sim_rejoin_request *rejoin = &request->rejoin;
    struct sim_marker *marker = &master->memory.marker;
    if (!same_marker(marker, &rejoin->seen) && !SIM_MUTANT(MARK_UNSEEN))
        return false;
    struct fence_view view = request->view;
    if (marker->present)
        view.incarnation[request->member] = marker->view.incarnation[request->member];
    (void)fence_view_merge(&view, &marker->view, FENCE_MASTERS_MAX);
    *marker = (struct sim_marker){
        .present = true,
        .member = request->member,
        .run = master->run,
        .lineage = master->lineage,
        .durable = rejoin->durable && master->persistence == SIM_ALWAYS,
        .ttl_max_ms = rejoin->ttl_max_ms,
        .extensions_max = rejoin->extensions_max,
        .next = rejoin->incarnation,
        .init = rejoin->mark,
        .intact = rejoin->keeps &&
                  (rejoin->lineage == master->lineage || SIM_MUTANT(LINEAGE_UNCHECKED_MARK)),
        .view = view,
        .writes = marker->writes,
        .heard = marker->heard,
    };
    return true;
}

/* It counts no more. Of a master that seems to have kept all it knew it stays in the way. */
static void clear_lock(const struct sim_marker *marker, struct sim_lock *lock)
{
    if (SIM_MUTANT(LOCKS_KEPT))
        return;
    lock->present = lock->present && marker->intact;
    lock->imported = true;
    lock->from = 0;
}

/* Whether it is being taken back under the incarnation that is named. */
static bool is_joining(const struct sim_marker *marker, const struct sim_rejoin_request *rejoin)
{
    return marker->present && !marker->active && marker->next == rejoin->incarnation;
}

static bool clear(struct sim_master *master, const struct sim_rejoin_request *rejoin,
                  uint64_t *ret_cursor)
{
    struct sim_marker *marker = &master->memory.marker;
    if (!marker->present || marker->next != rejoin->incarnation)
        return false;
    if (marker->progress != rejoin->steps && !SIM_MUTANT(CLEAR_UNCOUNTED))
        return false; /* a copy: what it would remove was imported since */
    marker->progress++;
    uint64_t next = rejoin->cursor + CLEARED_AT_A_TIME;
    if (rejoin->cursor < master->resources)
        clear_lock(marker, &master->memory.locks[rejoin->cursor]);
    *ret_cursor = next < master->resources ? next : 0;
    return true;
}

static bool install(struct sim_master *master, const struct sim_rejoin_request *rejoin,
                    uint64_t local_us)
{
    struct sim_marker *marker = &master->memory.marker;
    bool joining = is_joining(marker, rejoin) ||
                   (SIM_MUTANT(INSTALL_NONCE_UNCHECKED) && marker->present && !marker->active);
    if (!joining || (sim_master_strayed(master) && !SIM_MUTANT(LINEAGE_UNCHECKED_INSTALL)))
        return false;
    if (marker->progress != rejoin->steps && !SIM_MUTANT(PROGRESS_UNCHECKED))
        return marker->progress > rejoin->steps; /* a copy; or what came before is missing */
    marker->progress++;
    if (rejoin->has_page)
        sim_import_merge(master, &rejoin->page, rejoin->source, local_us);
    return true;
}

static bool admit(struct sim_master *master, const struct sim_request *request)
{
    const struct sim_rejoin_request *rejoin = &request->rejoin;
    struct sim_marker *marker = &master->memory.marker;
    bool joining = is_joining(marker, rejoin) ||
                   (SIM_MUTANT(ADMIT_NONCE_UNCHECKED) && marker->present && !marker->active);
    int64_t incarnation = SIM_MUTANT(ADMIT_NONCE_UNCHECKED) ? marker->next : rejoin->incarnation;
    if (!joining || (sim_master_strayed(master) && !SIM_MUTANT(LINEAGE_UNCHECKED_INSTALL)))
        return false;
    if (marker->progress != rejoin->steps && !SIM_MUTANT(PROGRESS_UNCHECKED))
        return false;
    sim_import_end(master);
    learn(marker, &request->view);
    marker->view.incarnation[marker->member] = incarnation;
    marker->active = true;
    marker->intact = false;
    marker->init = FENCE_MARK_REJOIN;
    marker->doubt = false;
    master->memory.tainted = false;
    marker->next = 0;
    marker->progress = 0;
    if (master->memory.counters.floor < rejoin->floor)
        master->memory.counters.floor = rejoin->floor;
    return true;
}

/* The highest number of any counter, or the floor. */
static bool survey(const struct sim_master *master, const struct sim_rejoin_request *rejoin,
                   int64_t *ret_highest)
{
    const struct sim_memory *memory = &master->memory;
    if (!memory->marker.present || memory->marker.next != rejoin->incarnation)
        return false;
    *ret_highest = memory->counters.floor;
    for (uint32_t slot = 0; slot < master->slots; slot++)
        if (*ret_highest < memory->counters.slot[slot])
            *ret_highest = memory->counters.slot[slot];
    for (uint32_t r = 0; r < master->resources; r++)
        if (*ret_highest < memory->named[r])
            *ret_highest = memory->named[r];
    return true;
}

static enum fence_rejoin_outcome done_or_changed(bool done)
{
    return done ? FENCE_REJOIN_DONE : FENCE_REJOIN_CHANGED;
}

/* The view that is named has the incarnation to record in it. */
static enum fence_rejoin_outcome record(struct sim_master *master,
                                        const struct sim_request *request)
{
    int refusal = sim_marker_check_view(master, request);
    master->memory.marker.writes += refusal == 0;
    return refusal == FENCE_REPLY_REFUSED ? FENCE_REJOIN_LOST : done_or_changed(refusal == 0);
}

/* A page is of what this master was when it recorded. */
static enum fence_rejoin_outcome read_page(struct sim_master *master,
                                           const struct sim_request *request, uint64_t local_us,
                                           struct sim_reply *reply)
{
    const struct sim_rejoin_request *rejoin = &request->rejoin;
    const struct sim_marker *marker = &master->memory.marker;
    if (!marker->present || !marker->active || marker->member != request->member ||
        (sim_master_strayed(master) && !SIM_MUTANT(LINEAGE_UNCHECKED_READ)))
        return FENCE_REJOIN_LOST;
    bool same =
        marker->view.incarnation[request->member] == request->view.incarnation[request->member] &&
        marker->view.incarnation[rejoin->target] == rejoin->incarnation;
    if (same || SIM_MUTANT(PAGES_UNCHECKED))
        sim_import_read(master, rejoin, local_us, reply);
    return done_or_changed(same || SIM_MUTANT(PAGES_UNCHECKED));
}

struct sim_reply sim_marker_rejoin(struct sim_master *master, const struct sim_request *request,
                                   uint64_t local_us)
{
    const struct sim_rejoin_request *rejoin = &request->rejoin;
    struct sim_reply reply = {.outcome = FENCE_REJOIN_CHANGED};
    sim_master_expire_due(master, local_us);
    switch (rejoin->step) {
    case FENCE_REJOIN_MARK:
        reply.outcome = done_or_changed(mark(master, request));
        break;
    case FENCE_REJOIN_CLEAR:
        reply.outcome = done_or_changed(clear(master, rejoin, &reply.cursor));
        break;
    case FENCE_REJOIN_RECORD:
        reply.outcome = record(master, request);
        break;
    case FENCE_REJOIN_READ:
        reply.outcome = read_page(master, request, local_us, &reply);
        break;
    case FENCE_REJOIN_INSTALL:
        reply.outcome = done_or_changed(install(master, rejoin, local_us));
        break;
    case FENCE_REJOIN_ADMIT:
        reply.outcome = done_or_changed(admit(master, request));
        break;
    case FENCE_REJOIN_SURVEY:
        reply.outcome = done_or_changed(survey(master, rejoin, &reply.highest));
        break;
    case FENCE_REJOIN_LEASES:
    case FENCE_REJOIN_CLOSE: /* no fleet of the simulator moves */
        reply.outcome = FENCE_REJOIN_REFUSED;
        break;
    }
    reply.marker = master->memory.marker;
    return reply;
}

/* What a server told it of its own position: later than the one it has. */
static bool lost_writes(const struct sim_marker *marker)
{
    struct fence_position own = {
        .incarnation = marker->active ? marker->view.incarnation[marker->member] : marker->next,
        .writes = marker->writes,
    };
    return fence_position_is_behind(own, marker->heard.of[marker->member]);
}

void sim_marker_hear(struct sim_marker *marker, const struct sim_request *request)
{
    if (request->tells && marker->present && marker->member == request->member)
        fence_positions_merge(&marker->heard, &request->positions, FENCE_MASTERS_MAX);
}

struct sim_reply sim_marker_restamp(struct sim_master *master, const struct sim_request *request)
{
    const struct sim_rejoin_request *rejoin = &request->rejoin;
    struct sim_marker *marker = &master->memory.marker;
    const struct sim_marker *seen = &rejoin->seen;
    bool half_way = marker->present && !marker->active && marker->intact;
    bool unchanged = marker->present && (marker->active || half_way) && !marker->doubt &&
                     marker->member == seen->member && marker->run == seen->run &&
                     marker->lineage == seen->lineage && master->run == rejoin->run &&
                     master->lineage == rejoin->lineage &&
                     (!lost_writes(marker) || SIM_MUTANT(POSITION_UNCHECKED));
    if (unchanged && half_way) {
        marker->view.incarnation[marker->member] = marker->next;
        marker->active = true;
        marker->intact = false;
        marker->next = 0;
        marker->progress = 0;
    }
    if (unchanged) {
        marker->writes += SIM_MUTANT(RESTAMP_UNCOUNTED) ? 0 : FENCE_RESTAMP_WRITES;
        marker->run = rejoin->run;
        marker->lineage = rejoin->lineage;
    }
    return (struct sim_reply){.outcome = done_or_changed(unchanged)};
}
