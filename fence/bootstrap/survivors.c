#include "fence/bootstrap/survivors.h"

#include "fence/base/set.h"
#include "fence/protocol/lease.h"

#include <assert.h>
#include <string.h>

/* An incarnation counts how often its member began without a memory. Only masters that forgot may
 * know the last times. So all incarnations rise by more than can have been missed. */
#define INCARNATIONS_MISSED (INT64_C(1) << (12 + FENCE_INCARNATION_MEMORY_SHIFT))

/* Earlier token floors that are counted. The incarnations of all of them still fit. */
#define FLOORS_COUNTED 256

static const struct fence_view nobody; /* was ever admitted */

bool fence_bootstrap_fail(struct fence_bootstrap *bootstrap, enum fence_bootstrap_failure failure,
                          unsigned master)
{
    struct fence_bootstrap_outcome *outcome = &bootstrap->outcome;
    if (outcome->failure == FENCE_BOOTSTRAP_DONE) {
        outcome->failure = failure;
        outcome->state = bootstrap->state;
        outcome->master = master;
    }
    return false;
}

/* ---- what is there --------------------------------------------------------------------------- */

bool fence_bootstrap_is_blank(const struct fence_bootstrap *bootstrap, unsigned i)
{
    const struct fence_facts *facts = &bootstrap->seen[i];
    return !facts->marked ||
           (facts->initialising && memcmp(&facts->view, &nobody, sizeof(nobody)) == 0);
}

/* Reports whether master @i was of the fleet that this one follows, or is to be closed with it. */
static bool is_followed(const struct fence_bootstrap *bootstrap, unsigned i)
{
    const struct fence_facts *facts = &bootstrap->seen[i];
    const struct fence_bootstrap_params *params = &bootstrap->params;
    if (params->from[0] == '\0')
        return false;
    if (facts->closed && strcmp(facts->closed_fleet_id, params->from) == 0)
        return true;
    return params->until != FENCE_BOOTSTRAP_ALL_DONE && facts->marked &&
           strcmp(facts->fleet_id, params->from) == 0;
}

/* The masters as they were seen, in the fleet that the markers are to name. */
static void fill_fleet(const struct fence_bootstrap *bootstrap, struct fence_fleet *ret_fleet)
{
    fence_fleet_init(ret_fleet, bootstrap->params.n);
    for (unsigned i = 0; i < bootstrap->params.n; i++) {
        ret_fleet->master[i].facts = bootstrap->seen[i];
        ret_fleet->master[i].connected = true;
        ret_fleet->master[i].state = FENCE_MASTER_WAITING;
    }
}

bool fence_bootstrap_judge_servers(struct fence_bootstrap *bootstrap)
{
    struct fence_fleet fleet;
    fill_fleet(bootstrap, &fleet);
    for (unsigned i = 0; i < fleet.n; i++) {
        enum fence_reason reason = fence_fleet_judge(&fleet, i);
        if (reason == FENCE_REASON_BLANK || reason == FENCE_REASON_NO_MAJORITY ||
            reason == FENCE_REASON_OTHER_MEMBER || reason == FENCE_REASON_OTHER_SIZE ||
            reason == FENCE_REASON_MOVED)
            continue;
        bootstrap->outcome.reason = reason;
        return fence_bootstrap_fail(bootstrap, FENCE_BOOTSTRAP_UNFIT, i);
    }
    return true;
}

void fence_bootstrap_note_predecessors(struct fence_bootstrap *bootstrap)
{
    const struct fence_bootstrap_params *params = &bootstrap->params;
    bootstrap->predecessors = params->predecessors;
    for (unsigned i = 0; i < params->n; i++)
        fence_predecessors_merge(&bootstrap->predecessors, &bootstrap->seen[i].predecessors);
    if (params->from[0] != '\0' && params->until == FENCE_BOOTSTRAP_ALL_DONE)
        fence_predecessors_add(&bootstrap->predecessors, params->from);
}

/* ---- a new fleet ----------------------------------------------------------------------------- */

static bool judge_blank(struct fence_bootstrap *bootstrap)
{
    for (unsigned i = 0; i < bootstrap->params.n; i++) {
        if (!bootstrap->seen[i].marked && bootstrap->seen[i].closed)
            return fence_bootstrap_fail(bootstrap, FENCE_BOOTSTRAP_MOVED, i);
        if (!fence_bootstrap_is_blank(bootstrap, i))
            return fence_bootstrap_fail(bootstrap, FENCE_BOOTSTRAP_MARKED, i);
        if (bootstrap->seen[i].issued)
            return fence_bootstrap_fail(bootstrap, FENCE_BOOTSTRAP_CUT_SHORT, i);
    }
    return true;
}

/* ---- a fleet that goes on -------------------------------------------------------------------- */

/* A server that runs knows the fleet by its id and its longest lease: both stay what they were. */
bool fence_bootstrap_take_survivor(struct fence_bootstrap *bootstrap, unsigned i)
{
    const struct fence_facts *facts = &bootstrap->seen[i];
    assert(facts->marked);
    if (facts->other_members != 0)
        return fence_bootstrap_fail(bootstrap, FENCE_BOOTSTRAP_OTHER_SIZE, i);
    if (facts->member != i + 1)
        return fence_bootstrap_fail(bootstrap, FENCE_BOOTSTRAP_PLACE, i);
    if (bootstrap->survivors > 0 && strcmp(bootstrap->fleet_id, facts->fleet_id) != 0)
        return fence_bootstrap_fail(bootstrap, FENCE_BOOTSTRAP_OTHER_FLEET, i);
    if (bootstrap->ttl_max_ms != 0 && bootstrap->ttl_max_ms != facts->ttl_max_ms)
        return fence_bootstrap_fail(bootstrap, FENCE_BOOTSTRAP_OTHER_TTL, i);
    memcpy(bootstrap->fleet_id, facts->fleet_id, sizeof(bootstrap->fleet_id));
    bootstrap->ttl_max_ms = facts->ttl_max_ms;
    if (bootstrap->params.readers == 0 && bootstrap->readers < facts->readers)
        bootstrap->readers = facts->readers;
    if (bootstrap->params.extensions_max == 0)
        bootstrap->extensions_max = facts->extensions_max;
    (void)fence_view_merge(&bootstrap->known, &facts->view, bootstrap->params.n);
    bootstrap->survivors++;
    return true;
}

/* A master of the fleet that is followed is claimed once that is closed. */
static bool take_followed(struct fence_bootstrap *bootstrap, unsigned i)
{
    const struct fence_facts *facts = &bootstrap->seen[i];
    if (facts->marked && !fence_bootstrap_is_blank(bootstrap, i))
        bootstrap->skips |= fence_set_of(i);
    return true;
}

/* Reports whether its disk is of before a move: another master knows that its fleet was closed. */
static bool is_of_predecessor(const struct fence_bootstrap *bootstrap, unsigned i)
{
    const struct fence_facts *facts = &bootstrap->seen[i];
    return facts->marked && fence_predecessors_have(&bootstrap->predecessors, facts->fleet_id);
}

static bool take_survivors(struct fence_bootstrap *bootstrap)
{
    for (unsigned i = 0; i < bootstrap->params.n; i++) {
        const struct fence_facts *facts = &bootstrap->seen[i];
        bool fine = true;
        if (is_followed(bootstrap, i))
            fine = take_followed(bootstrap, i);
        else if ((facts->closed && !facts->marked) || is_of_predecessor(bootstrap, i))
            fine = fence_bootstrap_fail(bootstrap, FENCE_BOOTSTRAP_MOVED, i);
        else if (!fence_bootstrap_is_blank(bootstrap, i))
            fine = fence_bootstrap_take_survivor(bootstrap, i);
        if (!fine)
            return false;
    }
    return true;
}

/* A master whose data went back remembers a part of them. The positions that servers told show it.
 */
uint32_t fence_bootstrap_who_remembers(const struct fence_bootstrap *bootstrap)
{
    uint32_t set = 0;
    struct fence_fleet fleet;
    fill_fleet(bootstrap, &fleet);
    memcpy(fleet.fleet_id, bootstrap->fleet_id, sizeof(fleet.fleet_id));
    fleet.ttl_max_ms = bootstrap->ttl_max_ms;
    fleet.view = bootstrap->known;
    fence_fleet_note_positions(&fleet);
    for (unsigned i = 0; i < fleet.n; i++) {
        enum fence_reason reason = fence_fleet_judge(&fleet, i);
        if (reason == FENCE_REASON_NONE || reason == FENCE_REASON_RESTARTED)
            set |= fence_set_of(i);
    }
    return set;
}

/* A fleet that a majority remembers goes on by itself. */
static bool judge_loss(struct fence_bootstrap *bootstrap)
{
    unsigned count = fence_set_count(fence_bootstrap_who_remembers(bootstrap));
    if (count < fence_majority(bootstrap->params.n))
        return true;
    bootstrap->outcome.count = count;
    return fence_bootstrap_fail(bootstrap, FENCE_BOOTSTRAP_NOTHING_LOST, 0);
}

/* The bound that the new incarnation exceeds, where survivors know @known. Survivors may know
 * nothing of an earlier floor, but servers that run do. Each floor is named to the next run. So the
 * number itself tells how many there were at most. */
static int64_t incarnation_before(const struct fence_bootstrap_params *params, int64_t known)
{
    assert(known >= 0);
    int64_t floors = (params->seen + FENCE_FLOOR_MARGIN) / FENCE_FLOOR_MARGIN;
    if (!params->goes_on)
        return known;
    if (floors > FLOORS_COUNTED)
        floors = FLOORS_COUNTED;
    int64_t by_survivors = known + INCARNATIONS_MISSED;
    int64_t by_floors = floors * INCARNATIONS_MISSED;
    return by_survivors > by_floors ? by_survivors : by_floors;
}

/* Reports whether these masters may have voted since the fleet that they follow was closed, and
 * have forgotten it. An earlier run has claimed a majority before it closed that fleet. */
static bool judge_followed(struct fence_bootstrap *bootstrap)
{
    const struct fence_bootstrap_params *params = &bootstrap->params;
    unsigned count = 0;
    if (!params->was_closed || params->is_known)
        return true;
    for (unsigned i = 0; i < params->n; i++) {
        const struct fence_facts *facts = &bootstrap->seen[i];
        const char *knows = facts->marked ? facts->fleet_id : facts->closed_for;
        count += strcmp(knows, params->fleet_id) == 0 || strcmp(knows, params->from) == 0;
    }
    if (count >= fence_majority(params->n))
        return true;
    bootstrap->outcome.count = count;
    return fence_bootstrap_fail(bootstrap, FENCE_BOOTSTRAP_FORGOTTEN, 0);
}

bool fence_bootstrap_set_view(struct fence_bootstrap *bootstrap)
{
    const struct fence_bootstrap_params *params = &bootstrap->params;
    for (unsigned i = 0; i < params->n; i++) {
        int64_t known = bootstrap->known.incarnation[i];
        if (known > FENCE_TOKEN_MAX - 2 * INCARNATIONS_MISSED)
            return fence_bootstrap_fail(bootstrap, FENCE_BOOTSTRAP_INCARNATION, i);
        bootstrap->admitted.incarnation[i] =
            fence_incarnation_next(incarnation_before(params, known), params->random[i]);
    }
    return true;
}

bool fence_bootstrap_judge(struct fence_bootstrap *bootstrap)
{
    assert(bootstrap->at == bootstrap->params.n);
    const struct fence_bootstrap_params *params = &bootstrap->params;
    bootstrap->ttl_max_ms = params->ttl_max_ms;
    bootstrap->readers = params->readers;
    bootstrap->extensions_max = params->extensions_max;
    fence_bootstrap_note_predecessors(bootstrap);
    if (!fence_bootstrap_judge_servers(bootstrap))
        return false;
    bool fine = params->goes_on ? take_survivors(bootstrap) : judge_blank(bootstrap);
    if (!fine)
        return false;
    if (bootstrap->survivors == 0)
        memcpy(bootstrap->fleet_id, params->fleet_id, sizeof(bootstrap->fleet_id));
    if (bootstrap->ttl_max_ms == 0)
        bootstrap->ttl_max_ms = FENCE_TTL_MAX_DEFAULT_MS;
    if (bootstrap->survivors == 0 && bootstrap->readers == 0)
        bootstrap->readers = FENCE_READERS_DEFAULT;
    if (bootstrap->survivors == 0 && bootstrap->extensions_max == 0)
        bootstrap->extensions_max = FENCE_EXTENSIONS_DEFAULT;
    if (params->goes_on && !(judge_loss(bootstrap) && judge_followed(bootstrap)))
        return false;
    return fence_bootstrap_set_view(bootstrap);
}
