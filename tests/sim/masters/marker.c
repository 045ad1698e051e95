#include "tests/sim/masters/marker.h"

#include "fence/master/marker.h"
#include "tests/sim/masters/mutant.h"
#include "tests/sim/masters/pages.h"
#include "tests/sim/masters/turn.h"

/* The facts that @rejoin was judged by. */
static struct fence_facts seen_facts(const struct sim_rejoin_request *rejoin)
{
    const struct sim_reply seen = {
        .run = rejoin->run,
        .lineage = rejoin->lineage,
        .persistence = rejoin->durable ? SIM_ALWAYS : SIM_NONE,
        .marker = rejoin->seen,
    };
    return sim_facts(&seen);
}

/* ---- the steps of a rejoin ------------------------------------------------------------------- */

static struct fence_rejoin_reply take_step(struct sim_turn *turn)
{
    const struct sim_rejoin_request *rejoin = &turn->request->rejoin;
    const struct fence_page page = {
        .bytes = (const char *)&rejoin->page,
        .len = rejoin->has_page ? sizeof(rejoin->page) : 0,
    };
    struct fence_facts seen;
    char fleet_id[FENCE_ID_HEX_LEN + 1];
    sim_fleet_text(fleet_id);
    if (rejoin->step == FENCE_REJOIN_MARK)
        seen = seen_facts(rejoin);
    const struct fence_rejoin_request request = {
        .step = rejoin->step,
        .member = rejoin->step == FENCE_REJOIN_MARK ? turn->request->member : rejoin->target,
        .incarnation = rejoin->incarnation,
        .fleet_id = fleet_id,
        .ttl_max_ms = rejoin->ttl_max_ms,
        .readers = rejoin->readers,
        .extensions_max = rejoin->extensions_max,
        .seen = &seen,
        .keeps = rejoin->keeps,
        .mark = rejoin->mark,
        .floor = rejoin->floor,
        .steps = rejoin->steps,
        .cursor = rejoin->cursor,
        .part = rejoin->part,
        .source = rejoin->source,
        .page = &page,
        .view = &turn->request->view,
    };
    return fence_master_rejoin(&turn->rules, &request);
}

/* The part of the step that a file lacks. */
static void note_done(struct sim_master *master, enum fence_rejoin_step step)
{
    struct sim_marker *marker = &master->memory.marker;
    marker->writes += step == FENCE_REJOIN_RECORD;
    if (step == FENCE_REJOIN_MARK || step == FENCE_REJOIN_ADMIT)
        marker->doubt = false;
    if (step != FENCE_REJOIN_ADMIT)
        return;
    master->memory.tainted = false;
    sim_pages_end(master);
}

struct sim_reply sim_marker_rejoin(struct sim_master *master, const struct sim_request *request,
                                   uint64_t local_us)
{
    struct sim_turn turn;
    sim_turn_begin(&turn, master, request, false, local_us);
    struct fence_rejoin_reply came = take_step(&turn);
    sim_turn_end(&turn);
    if (came.outcome == FENCE_REJOIN_DONE)
        note_done(master, request->rejoin.step);
    turn.reply.outcome = came.outcome;
    turn.reply.cursor = came.cursor;
    turn.reply.highest = came.highest;
    turn.reply.marker = master->memory.marker;
    return turn.reply;
}

/* ---- positions ------------------------------------------------------------------------------- */

/* The server's own word on its position: later than the one it has. */
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

struct sim_reply sim_marker_restamp(struct sim_master *master, const struct sim_request *request,
                                    uint64_t local_us)
{
    struct sim_turn turn;
    struct sim_marker *marker = &master->memory.marker;
    const struct fence_facts seen = seen_facts(&request->rejoin);
    const bool kept = !marker->doubt && (!lost_writes(marker) || SIM_MUTANT(POSITION_UNCHECKED));
    sim_turn_begin(&turn, master, request, false, local_us);
    const bool done = kept && fence_master_restamp(&turn.rules, &seen);
    sim_turn_end(&turn);
    if (done && !SIM_MUTANT(RESTAMP_UNCOUNTED))
        marker->writes += FENCE_RESTAMP_WRITES;
    return (struct sim_reply){.outcome = done ? FENCE_REJOIN_DONE : FENCE_REJOIN_CHANGED};
}
