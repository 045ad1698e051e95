#include "storage/sqlite/marker.h"

#include "storage/sqlite/pages.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ---- views ----------------------------------------------------------------------------------- */

static bool has_strayed(const struct storage_state *state)
{
    return strcmp(state->marker.lineage, state->lineage) != 0;
}

static bool is_active_member(const struct storage_state *state, const char *fleet_id)
{
    const struct storage_marker *marker = &state->marker;
    return marker->present && marker->active && marker->member == state->me + 1 &&
           strcmp(marker->fleet_id, fleet_id) == 0;
}

/* Of itself a master knows best, and of others no more than is named. */
static bool view_stands(const struct storage_state *state, const struct fence_view *named)
{
    const struct fence_view *known = &state->marker.view;
    for (unsigned i = 0; i < state->members; i++) {
        if (known->incarnation[i] > named->incarnation[i])
            return false;
        if (i == state->me && known->incarnation[i] != named->incarnation[i])
            return false;
    }
    return true;
}

static void learn_view(struct storage_state *state, const struct fence_view *view)
{
    if (fence_view_merge(&state->marker.view, view, state->members))
        state->marker_changed = true;
}

enum storage_refusal storage_marker_check(struct storage_state *state, const char *fleet_id,
                                          const struct fence_view *view)
{
    if (!is_active_member(state, fleet_id))
        return STORAGE_GONE;
    if (has_strayed(state))
        return STORAGE_FORGOT;
    if (!view_stands(state, view))
        return STORAGE_STALE;
    learn_view(state, view);
    return STORAGE_GOES;
}

/* ---- the steps of a rejoin ------------------------------------------------------------------- */

static bool is_as_seen(const struct storage_state *state, const struct fence_facts *seen)
{
    const struct storage_marker *marker = &state->marker;
    if (!marker->present || !seen->marked)
        return marker->present == seen->marked;
    return strcmp(marker->fleet_id, seen->fleet_id) == 0 && marker->member == seen->member &&
           strcmp(marker->server_id, seen->marked_server_id) == 0 &&
           strcmp(marker->lineage, seen->marked_lineage) == 0 &&
           marker->active == seen->marked_active && marker->next == seen->next &&
           memcmp(&marker->view, &seen->view, sizeof(marker->view)) == 0;
}

/* What it recorded of others is not forgotten, and its own incarnation stays what it was. */
static bool mark_joining(struct storage_state *state, const struct fence_rejoin_request *request)
{
    struct storage_marker *marker = &state->marker;
    if (!is_as_seen(state, request->seen))
        return false;
    struct storage_marker made = {
        .present = true,
        .member = request->member + 1,
        .ttl_max_ms = request->ttl_max_ms,
        .extensions_max = request->extensions_max,
        .durable = request->seen->durable && state->durable,
        .next = request->incarnation,
        .intact = request->keeps && strcmp(request->seen->lineage, state->lineage) == 0,
        .mark = request->mark,
        .floor = marker->floor,
        .view = *request->view,
    };
    if (marker->present)
        made.view.incarnation[state->me] = marker->view.incarnation[state->me];
    (void)fence_view_merge(&made.view, &marker->view, state->members);
    storage_state_copy(made.fleet_id, sizeof(made.fleet_id), request->fleet_id);
    storage_state_copy(made.server_id, sizeof(made.server_id), state->server_id);
    storage_state_copy(made.lineage, sizeof(made.lineage), state->lineage);
    *marker = made;
    state->marker_changed = true;
    return true;
}

/* What it still holds counts no more. Where it seems to have kept all it knew, its locks stay, as
 * imported ones that no master had: they stand in the way in case the import never ends. */
static bool clear_locks(struct storage_state *state, const struct fence_rejoin_request *request)
{
    struct storage_marker *marker = &state->marker;
    if (!marker->present || marker->next != request->incarnation ||
        marker->progress != request->steps)
        return false; /* a late copy must not touch what was imported since */
    enum storage_statement how = marker->intact ? STORAGE_LOCKS_DISOWN : STORAGE_LOCKS_CLEAR;
    struct storage_sql sql = storage_state_use(state, how);
    (void)storage_sql_row(&sql);
    storage_state_done(state, how, &sql);
    marker->progress++;
    state->marker_changed = true;
    return true;
}

/* Whether it is being taken back under the incarnation that is named. */
static bool is_joining(const struct storage_state *state,
                       const struct fence_rejoin_request *request)
{
    const struct storage_marker *marker = &state->marker;
    return marker->present && !marker->active && marker->next == request->incarnation &&
           !has_strayed(state);
}

/* Merging is commutative and idempotent. A copy of a page does nothing. */
static bool install_page(struct storage_state *state, const struct fence_rejoin_request *request)
{
    struct storage_marker *marker = &state->marker;
    if (!is_joining(state, request))
        return false;
    if (marker->progress != request->steps)
        return marker->progress > request->steps;
    marker->progress++;
    state->marker_changed = true;
    if (request->page->len > 0)
        storage_pages_merge(state, request->page, request->source);
    return true;
}

static bool admit_member(struct storage_state *state, const struct fence_rejoin_request *request)
{
    struct storage_marker *marker = &state->marker;
    if (!is_joining(state, request) || marker->progress != request->steps)
        return false;
    (void)fence_view_merge(&marker->view, request->view, state->members);
    marker->view.incarnation[state->me] = request->incarnation;
    marker->active = true;
    marker->intact = false;
    marker->mark = FENCE_MARK_REJOIN;
    marker->next = 0;
    marker->progress = 0;
    if (marker->floor < request->floor)
        marker->floor = request->floor;
    state->marker_changed = true;
    return true;
}

static bool survey_counters(struct storage_state *state, const struct fence_rejoin_request *request,
                            int64_t *ret_highest)
{
    const struct storage_marker *marker = &state->marker;
    if (!marker->present || marker->next != request->incarnation)
        return false;
    struct storage_sql sql = storage_state_use(state, STORAGE_COUNTER_HIGHEST);
    int64_t highest = storage_sql_row(&sql) ? sqlite3_column_int64(sql.stmt, 0) : 0;
    storage_state_done(state, STORAGE_COUNTER_HIGHEST, &sql);
    *ret_highest = highest > marker->floor ? highest : marker->floor;
    return true;
}

static enum fence_rejoin_outcome done_or_changed(bool done)
{
    return done ? FENCE_REJOIN_DONE : FENCE_REJOIN_CHANGED;
}

static void record_view(struct storage_state *state, const struct fence_rejoin_request *request,
                        struct fence_rejoin_reply *reply)
{
    switch (storage_marker_check(state, request->fleet_id, request->view)) {
    case STORAGE_GOES:
        reply->outcome = FENCE_REJOIN_DONE;
        break;
    case STORAGE_STALE:
        reply->outcome = FENCE_REJOIN_CHANGED;
        reply->view = &state->marker.view;
        break;
    default:
        reply->outcome = FENCE_REJOIN_LOST;
        break;
    }
}

/* A page is of what this master was when it recorded. */
static void read_page_of(struct storage_state *state, const struct fence_rejoin_request *request,
                         struct fence_rejoin_reply *reply, char **ret_page)
{
    const struct storage_marker *marker = &state->marker;
    if (!is_active_member(state, request->fleet_id) || has_strayed(state)) {
        reply->outcome = FENCE_REJOIN_LOST;
        return;
    }
    bool same = marker->view.incarnation[state->me] == request->view->incarnation[state->me] &&
                marker->view.incarnation[request->member] == request->incarnation;
    reply->outcome = done_or_changed(same);
    if (same && !storage_pages_read(state, request, reply, ret_page))
        reply->outcome = FENCE_REJOIN_REFUSED;
}

struct fence_rejoin_reply storage_marker_rejoin(struct storage_state *state,
                                                const struct fence_rejoin_request *request,
                                                char **ret_page)
{
    struct fence_rejoin_reply reply = {.outcome = FENCE_REJOIN_CHANGED, .tag = request->tag};
    *ret_page = NULL;
    switch (request->step) {
    case FENCE_REJOIN_MARK:
        reply.outcome = done_or_changed(mark_joining(state, request));
        break;
    case FENCE_REJOIN_CLEAR:
        reply.outcome = done_or_changed(clear_locks(state, request));
        break;
    case FENCE_REJOIN_RECORD:
        record_view(state, request, &reply);
        break;
    case FENCE_REJOIN_READ:
        read_page_of(state, request, &reply, ret_page);
        break;
    case FENCE_REJOIN_INSTALL:
        reply.outcome = done_or_changed(install_page(state, request));
        break;
    case FENCE_REJOIN_ADMIT:
        reply.outcome = done_or_changed(admit_member(state, request));
        break;
    case FENCE_REJOIN_SURVEY:
        reply.outcome = done_or_changed(survey_counters(state, request, &reply.highest));
        break;
    case FENCE_REJOIN_LEASES:
    case FENCE_REJOIN_CLOSE: /* a file is closed by storage_file_retire() */
        reply.outcome = FENCE_REJOIN_REFUSED;
        break;
    }
    return reply;
}

/* ---- restamping ------------------------------------------------------------------------------ */

/* If it was being taken back, and no other master is left to import from, it becomes active under
 * the incarnation that it was to get: its peers may have recorded that. */
void storage_marker_restamp(struct storage_state *state, const struct fence_facts *seen)
{
    struct storage_marker *marker = &state->marker;
    bool half_way = marker->present && !marker->active && marker->intact;
    if (!marker->present || (!marker->active && !half_way) || marker->member != seen->member ||
        strcmp(marker->fleet_id, seen->fleet_id) != 0 ||
        strcmp(marker->server_id, seen->marked_server_id) != 0 ||
        strcmp(marker->lineage, seen->marked_lineage) != 0 ||
        strcmp(state->server_id, seen->server_id) != 0 ||
        strcmp(state->lineage, seen->lineage) != 0 || has_strayed(state))
        return;
    if (half_way)
        marker->view.incarnation[state->me] = marker->next;
    marker->active = true;
    marker->intact = false;
    marker->next = 0;
    marker->progress = 0;
    storage_state_copy(marker->server_id, sizeof(marker->server_id), state->server_id);
    state->marker_changed = true;
}

/* ---- facts ----------------------------------------------------------------------------------- */

static void tell_marker(const struct storage_marker *marker, struct fence_facts *facts)
{
    facts->marked = true;
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
    facts->extensions_max = marker->extensions_max;
    facts->view = marker->view;
}

static const struct fence_words in_memory = {
    "in-memory", "Its folder is in memory (tmpfs), and ends with the machine's next start: the "
                 "fleet is gone then. Give pawld a folder on a disk (--data)."};

void storage_marker_facts(const struct storage_state *state, struct fence_facts *ret_facts)
{
    struct fence_facts facts = {
        .exclusive = true, /* the file is locked */
        .server = "sqlite",
        .durable = state->durable,
        .host = "local",
        .finding_words = &in_memory,
        .findings = !state->durable,
    };
    (void)snprintf(facts.version, sizeof(facts.version), "%s", sqlite3_libversion());
    (void)snprintf(facts.persistence, sizeof(facts.persistence), "%s",
                   state->durable ? "full" : "memory");
    memcpy(facts.server_id, state->server_id, sizeof(facts.server_id));
    memcpy(facts.lineage, state->lineage, sizeof(facts.lineage));
    if (state->marker.present) {
        tell_marker(&state->marker, &facts);
        facts.intact = !has_strayed(state) && (state->marker.active || state->marker.intact);
    }
    *ret_facts = facts;
}
