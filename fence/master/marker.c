#include "fence/master/marker.h"

#include "fence/master/lock.h"

#include <assert.h>
#include <string.h>

/* ---- views ----------------------------------------------------------------------------------- */

bool fence_master_has_strayed(const struct fence_turn *turn)
{
    return strcmp(turn->marker.lineage, turn->lineage) != 0 ||
           (turn->marker.durable && turn->keeps_nothing);
}

static bool is_active_member(const struct fence_turn *turn, const char *fleet_id)
{
    const struct fence_stored_marker *marker = &turn->marker;
    return marker->present && marker->active && marker->member == turn->me + 1 &&
           strcmp(marker->fleet_id, fleet_id) == 0;
}

/* A master trusts its own incarnation, and of other masters it knows no more than the request
 * names. */
static bool view_stands(const struct fence_turn *turn, const struct fence_view *named)
{
    const struct fence_view *known = &turn->marker.view;
    for (unsigned i = 0; i < turn->members; i++) {
        if (known->incarnation[i] > named->incarnation[i])
            return false;
        if (i == turn->me && known->incarnation[i] != named->incarnation[i])
            return false;
    }
    return true;
}

static void learn_view(struct fence_turn *turn, const struct fence_view *view)
{
    assert(turn->marker.present);
    if (fence_view_merge(&turn->marker.view, view, turn->members))
        turn->marker_changed = true;
}

enum fence_refusal fence_master_check(struct fence_turn *turn, const char *fleet_id,
                                      const struct fence_view *view)
{
    if (!is_active_member(turn, fleet_id))
        return FENCE_REFUSAL_GONE;
    if (fence_master_has_strayed(turn))
        return FENCE_REFUSAL_FORGOT;
    if (!view_stands(turn, view))
        return FENCE_REFUSAL_STALE;
    learn_view(turn, view);
    return FENCE_REFUSAL_NONE;
}

/* ---- the steps of a rejoin ------------------------------------------------------------------- */

static bool is_as_seen(const struct fence_turn *turn, const struct fence_facts *seen)
{
    const struct fence_stored_marker *marker = &turn->marker;
    if (!marker->present || !seen->marked)
        return marker->present == seen->marked;
    return strcmp(marker->fleet_id, seen->fleet_id) == 0 && marker->member == seen->member &&
           strcmp(marker->server_id, seen->marked_server_id) == 0 &&
           strcmp(marker->lineage, seen->marked_lineage) == 0 &&
           marker->active == seen->marked_active && marker->next == seen->next &&
           memcmp(&marker->view, &seen->view, sizeof(marker->view)) == 0;
}

/* Keeps the records of other masters and its own incarnation. */
static bool mark_joining(struct fence_turn *turn, const struct fence_rejoin_request *request)
{
    struct fence_stored_marker *marker = &turn->marker;
    if (!is_as_seen(turn, request->seen))
        return false;
    struct fence_stored_marker made = {
        .present = true,
        .member = request->member + 1,
        .ttl_max_ms = request->ttl_max_ms,
        .readers = request->readers,
        .extensions_max = request->extensions_max,
        .durable = request->seen->durable && turn->durable,
        .next = request->incarnation,
        .intact = request->keeps && strcmp(request->seen->lineage, turn->lineage) == 0,
        .mark = request->mark,
        .floor = marker->floor,
        .view = *request->view,
    };
    if (marker->present)
        made.view.incarnation[turn->me] = marker->view.incarnation[turn->me];
    (void)fence_view_merge(&made.view, &marker->view, turn->members);
    fence_stored_copy(made.fleet_id, sizeof(made.fleet_id), request->fleet_id);
    /* The process that was judged. A late copy of the mark may reach another process, which lost
     * its data: then the marker shows the change. */
    fence_stored_copy(made.server_id, sizeof(made.server_id), request->seen->server_id);
    fence_stored_copy(made.lineage, sizeof(made.lineage), turn->lineage);
    *marker = made;
    turn->marker_changed = true;
    return true;
}

/* The remaining locks of this master no longer count. If the master seems to have kept all its
 * data, its locks stay, as imported locks that no master had: they block in case the import never
 * ends. */
static bool clear_locks(struct fence_turn *turn, const struct fence_rejoin_request *request,
                        uint64_t *ret_cursor)
{
    struct fence_stored_marker *marker = &turn->marker;
    if (!marker->present || marker->next != request->incarnation)
        return false;
    if (marker->progress != request->steps)
        return false; /* a late copy must not touch data that was imported since */
    *ret_cursor = turn->store->clear(turn->context, marker->intact, request->cursor);
    marker->progress++;
    turn->marker_changed = true;
    return true;
}

/* Reports whether this master is rejoining under the incarnation in @request. */
static bool is_joining(const struct fence_turn *turn, const struct fence_rejoin_request *request)
{
    const struct fence_stored_marker *marker = &turn->marker;
    return marker->present && !marker->active && marker->next == request->incarnation &&
           !fence_master_has_strayed(turn);
}

/* Merging is commutative and idempotent. A copy of a page does nothing. */
static bool install_page(struct fence_turn *turn, const struct fence_rejoin_request *request)
{
    struct fence_stored_marker *marker = &turn->marker;
    if (!is_joining(turn, request))
        return false;
    if (marker->progress != request->steps)
        return marker->progress > request->steps;
    marker->progress++;
    turn->marker_changed = true;
    if (request->page->len > 0)
        turn->store->merge_page(turn->context, request->page, request->source);
    return true;
}

static bool admit_member(struct fence_turn *turn, const struct fence_rejoin_request *request)
{
    struct fence_stored_marker *marker = &turn->marker;
    if (!is_joining(turn, request) || marker->progress != request->steps)
        return false;
    (void)fence_view_merge(&marker->view, request->view, turn->members);
    marker->view.incarnation[turn->me] = request->incarnation;
    marker->active = true;
    marker->intact = false;
    marker->mark = FENCE_MARK_REJOIN;
    marker->next = 0;
    marker->progress = 0;
    if (marker->floor < request->floor)
        marker->floor = request->floor;
    turn->marker_changed = true;
    return true;
}

static bool survey_counters(struct fence_turn *turn, const struct fence_rejoin_request *request,
                            int64_t *ret_highest)
{
    const struct fence_stored_marker *marker = &turn->marker;
    if (!marker->present || marker->next != request->incarnation)
        return false;
    int64_t highest = turn->store->highest(turn->context);
    *ret_highest = highest > marker->floor ? highest : marker->floor;
    return true;
}

static enum fence_rejoin_outcome done_or_changed(bool done)
{
    return done ? FENCE_REJOIN_DONE : FENCE_REJOIN_CHANGED;
}

static void record_view(struct fence_turn *turn, const struct fence_rejoin_request *request,
                        struct fence_rejoin_reply *reply)
{
    switch (fence_master_check(turn, request->fleet_id, request->view)) {
    case FENCE_REFUSAL_NONE:
        reply->outcome = FENCE_REJOIN_DONE;
        break;
    case FENCE_REFUSAL_STALE:
        reply->outcome = FENCE_REJOIN_CHANGED;
        reply->view = &turn->marker.view;
        break;
    default:
        reply->outcome = FENCE_REJOIN_LOST;
        break;
    }
}

/* Reads a page of this master in the state in which it recorded. */
static void read_page_of(struct fence_turn *turn, const struct fence_rejoin_request *request,
                         struct fence_rejoin_reply *reply)
{
    const struct fence_stored_marker *marker = &turn->marker;
    if (!is_active_member(turn, request->fleet_id) || fence_master_has_strayed(turn)) {
        reply->outcome = FENCE_REJOIN_LOST;
        return;
    }
    bool same = marker->view.incarnation[turn->me] == request->view->incarnation[turn->me] &&
                marker->view.incarnation[request->member] == request->incarnation;
    reply->outcome = done_or_changed(same);
    if (same && !turn->store->read_page(turn->context, request, reply))
        reply->outcome = FENCE_REJOIN_REFUSED;
}

struct fence_rejoin_reply fence_master_rejoin(struct fence_turn *turn,
                                              const struct fence_rejoin_request *request)
{
    struct fence_rejoin_reply reply = {.outcome = FENCE_REJOIN_CHANGED, .tag = request->tag};
    switch (request->step) {
    case FENCE_REJOIN_MARK:
        reply.outcome = done_or_changed(mark_joining(turn, request));
        break;
    case FENCE_REJOIN_CLEAR:
        reply.outcome = done_or_changed(clear_locks(turn, request, &reply.cursor));
        break;
    case FENCE_REJOIN_RECORD:
        record_view(turn, request, &reply);
        break;
    case FENCE_REJOIN_READ:
        read_page_of(turn, request, &reply);
        break;
    case FENCE_REJOIN_INSTALL:
        reply.outcome = done_or_changed(install_page(turn, request));
        break;
    case FENCE_REJOIN_ADMIT:
        reply.outcome = done_or_changed(admit_member(turn, request));
        break;
    case FENCE_REJOIN_SURVEY:
        reply.outcome = done_or_changed(survey_counters(turn, request, &reply.highest));
        break;
    case FENCE_REJOIN_LEASES:
    case FENCE_REJOIN_CLOSE:
        reply.outcome = FENCE_REJOIN_REFUSED;
        break;
    }
    return reply;
}

/* ---- restamping ------------------------------------------------------------------------------ */

/* If this master was rejoining, and no other master is left to import from, it becomes active under
 * the incarnation that it was to get: its peers may have recorded that incarnation. */
bool fence_master_restamp(struct fence_turn *turn, const struct fence_facts *seen)
{
    struct fence_stored_marker *marker = &turn->marker;
    bool half_way = marker->present && !marker->active && marker->intact;
    if (!marker->present || (!marker->active && !half_way) || marker->member != seen->member ||
        strcmp(marker->fleet_id, seen->fleet_id) != 0 ||
        strcmp(marker->server_id, seen->marked_server_id) != 0 ||
        strcmp(marker->lineage, seen->marked_lineage) != 0 ||
        strcmp(turn->server_id, seen->server_id) != 0 || strcmp(turn->lineage, seen->lineage) != 0)
        return false;
    if (half_way)
        marker->view.incarnation[turn->me] = marker->next;
    marker->active = true;
    marker->intact = false;
    marker->next = 0;
    marker->progress = 0;
    fence_stored_copy(marker->server_id, sizeof(marker->server_id), turn->server_id);
    fence_stored_copy(marker->lineage, sizeof(marker->lineage), turn->lineage);
    turn->marker_changed = true;
    return true;
}

/* ---- what it says --------------------------------------------------------------------------- */

void fence_stored_marker_facts(const struct fence_stored_marker *marker, struct fence_facts *facts)
{
    facts->marked = marker->present;
    if (!marker->present)
        return;
    memcpy(facts->fleet_id, marker->fleet_id, sizeof(facts->fleet_id));
    facts->member = marker->member;
    memcpy(facts->marked_server_id, marker->server_id, sizeof(facts->marked_server_id));
    memcpy(facts->marked_lineage, marker->lineage, sizeof(facts->marked_lineage));
    facts->marked_durable = marker->durable;
    facts->marked_active = marker->active;
    facts->initialising = !marker->active && marker->mark != FENCE_MARK_REJOIN;
    facts->issued = !marker->active && marker->mark == FENCE_MARK_FLOOR;
    facts->next = marker->next;
    facts->progress = marker->progress;
    facts->ttl_max_ms = marker->ttl_max_ms;
    facts->readers = marker->readers;
    facts->extensions_max = marker->extensions_max;
    facts->view = marker->view;
}
