/* Judges masters: finds the fault of each master, and decides what to do. */
#include "fence/base/set.h"
#include "fence/fleet/fleet.h"
#include "fence/fleet/misordered.h"
#include "fence/protocol/lease.h"

#include <assert.h>
#include <string.h>

/* ---- what is wrong --------------------------------------------------------------------------- */

/* A server reached under two addresses has one vote, at the place that its marker names. */
static bool same_server_elsewhere(const struct fence_fleet *fleet, unsigned i)
{
    const struct fence_facts *facts = &fleet->master[i].facts;
    if (facts->marked && facts->member == i + 1)
        return false;
    for (unsigned j = 0; j < fleet->n; j++) {
        const struct fence_master *other = &fleet->master[j];
        if (j != i && other->connected && strcmp(other->facts.server_id, facts->server_id) == 0)
            return true;
    }
    return false;
}

/* Returns the fault of the server itself, apart from its data. */
static enum fence_reason judge_server(const struct fence_fleet *fleet, unsigned i)
{
    const struct fence_facts *facts = &fleet->master[i].facts;
    if (facts->unfit)
        return FENCE_REASON_UNFIT;
    return same_server_elsewhere(fleet, i) ? FENCE_REASON_SAME_SERVER : FENCE_REASON_NONE;
}

/* Reports whether other masters recorded a later admission of master @i: of another machine, or in
 * a later life. */
static bool is_superseded(const struct fence_fleet *fleet, unsigned i)
{
    return fleet->view.incarnation[i] > fleet->master[i].facts.view.incarnation[i];
}

/* Judges a marker that cannot be read, which counts as none. But if the marker names another fleet
 * or member, that counts: master @i may belong there. */
static enum fence_reason judge_malformed(const struct fence_fleet *fleet, unsigned i)
{
    const struct fence_facts *facts = &fleet->master[i].facts;
    if (facts->fleet_id[0] != '\0' && fleet->fleet_id[0] != '\0' &&
        strcmp(facts->fleet_id, fleet->fleet_id) != 0)
        return FENCE_REASON_OTHER_FLEET;
    if (facts->member != 0 && facts->member != i + 1)
        return FENCE_REASON_OTHER_MEMBER;
    return FENCE_REASON_MALFORMED;
}

/* Reports whether the data of master @i belong at this place in the fleet. */
static enum fence_reason judge_marker(const struct fence_fleet *fleet, unsigned i)
{
    const struct fence_facts *facts = &fleet->master[i].facts;
    if (facts->malformed[0] != '\0')
        return judge_malformed(fleet, i);
    if (!facts->marked)
        return facts->closed ? FENCE_REASON_MOVED : FENCE_REASON_BLANK;
    if (facts->other_members != 0) /* a fleet never changes its number of masters */
        return fleet->fleet_id[0] != '\0' && strcmp(facts->fleet_id, fleet->fleet_id) == 0
                   ? FENCE_REASON_MALFORMED
                   : FENCE_REASON_OTHER_SIZE;
    if (fleet->fleet_id[0] == '\0')
        return facts->member == i + 1 ? FENCE_REASON_NO_MAJORITY : FENCE_REASON_OTHER_MEMBER;
    if (strcmp(facts->fleet_id, fleet->fleet_id) != 0)
        return FENCE_REASON_OTHER_FLEET;
    if (facts->member != i + 1)
        return FENCE_REASON_OTHER_MEMBER;
    if (fleet->closed)
        return FENCE_REASON_MOVED;
    if (facts->ttl_max_ms != fleet->ttl_max_ms)
        return FENCE_REASON_OTHER_TTL;
    if (!facts->marked_active)
        return FENCE_REASON_JOINING;
    if (is_superseded(fleet, i))
        return FENCE_REASON_SUPERSEDED;
    if (facts->marked_durable && !facts->durable)
        return FENCE_REASON_UNDURABLE;
    return FENCE_REASON_NONE;
}

/* Reports whether master @i can have lost data since it was admitted. */
static enum fence_reason judge_memory(const struct fence_fleet *fleet, unsigned i)
{
    const struct fence_facts *facts = &fleet->master[i].facts;
    bool changed = fence_facts_changed(facts);
    if (changed && !facts->intact)
        return FENCE_REASON_FORGOT;
    if (fleet->master[i].rolled_back)
        return FENCE_REASON_ROLLED_BACK;
    return changed ? FENCE_REASON_RESTARTED : FENCE_REASON_NONE;
}

bool fence_fleet_keeps(const struct fence_fleet *fleet, unsigned i)
{
    assert(i < fleet->n);
    const struct fence_master *master = &fleet->master[i];
    const struct fence_facts *facts = &master->facts;
    bool half_way = facts->marked && !facts->marked_active && facts->intact &&
                    fleet->view.incarnation[i] <= facts->next && !facts->initialising &&
                    (!facts->marked_durable || facts->durable) && !master->rolled_back;
    return master->reason == FENCE_REASON_RESTARTED ||
           (master->reason == FENCE_REASON_JOINING && half_way);
}

enum fence_reason fence_fleet_judge(const struct fence_fleet *fleet, unsigned i)
{
    assert(i < fleet->n);
    enum fence_reason reason = judge_server(fleet, i);
    if (reason == FENCE_REASON_NONE)
        reason = judge_marker(fleet, i);
    if (reason == FENCE_REASON_NONE)
        reason = judge_memory(fleet, i);
    return reason;
}

/* ---- what to do ------------------------------------------------------------------------------ */

/* Returns the number of other masters that are fit to vote by their own facts. */
static unsigned others_active(const struct fence_fleet *fleet, unsigned i)
{
    unsigned count = 0;
    for (unsigned j = 0; j < fleet->n; j++)
        count +=
            j != i && fleet->master[j].connected && fleet->master[j].reason == FENCE_REASON_NONE;
    return count;
}

/* Reports whether @master was lost a moment ago: it may be back soon, and can then be asked. */
static bool is_gone_for_a_moment(const struct fence_master *master, uint64_t now_us)
{
    return !master->connected && !master->known && now_us < master->gone_us + FENCE_TRUST_GRACE_US;
}

/* Reports whether it is unknown if master @i is active. A master that was admitted again since its
 * last probe may be active. */
static bool is_unknown(const struct fence_fleet *fleet, unsigned i, uint64_t now_us)
{
    const struct fence_master *master = &fleet->master[i];
    bool looked_at = fleet->view.incarnation[i] == master->believed;
    return master->reason == FENCE_REASON_CONNECTING ||
           master->reason == FENCE_REASON_NO_MAJORITY ||
           (master->reason == FENCE_REASON_SUPERSEDED && !looked_at) ||
           is_gone_for_a_moment(master, now_us);
}

static unsigned others_unknown(const struct fence_fleet *fleet, unsigned i, uint64_t now_us)
{
    unsigned count = 0;
    for (unsigned j = 0; j < fleet->n; j++)
        count += j != i && is_unknown(fleet, j, now_us);
    return count;
}

/* Reports whether another master is still to be probed for the first time. A blank master may stand
 * in the place of that master: the list may be in another order than the fleet. */
static bool is_place_unsure(const struct fence_fleet *fleet, unsigned i, uint64_t now_us)
{
    for (unsigned j = 0; j < fleet->n; j++) {
        const struct fence_master *other = &fleet->master[j];
        const bool never_seen = other->facts.server_id[0] == '\0';
        const bool may_come =
            other->reason == FENCE_REASON_CONNECTING || is_gone_for_a_moment(other, now_us);
        if (j != i && never_seen && may_come)
            return true;
    }
    return false;
}

/* Reports whether another server leads a rejoin of @master and makes progress: this server then
 * leaves @master to it. A mark by this server itself is from a try that broke off. */
static bool is_led_elsewhere(const struct fence_master *master, uint64_t now_us)
{
    const struct fence_facts *facts = &master->facts;
    return facts->marked && !facts->marked_active && facts->next != master->meant &&
           now_us < master->led_us + FENCE_REJOIN_SLACK_US;
}

/* Reports whether another master recorded a later life of master @i than the marker of @i names.
 * Each record comes after the mark of that life: @i lost at least that mark, so @i did not keep all
 * its data. */
static bool lost_a_mark(const struct fence_fleet *fleet, unsigned i)
{
    const struct fence_facts *facts = &fleet->master[i].facts;
    const int64_t latest = facts->marked_active ? facts->view.incarnation[i] : facts->next;
    return fence_fleet_claimed(fleet, i) > latest;
}

/* Returns the number of connected masters that vote, or that only need to be trusted to vote. */
static unsigned may_vote(const struct fence_fleet *fleet)
{
    unsigned count = 0;
    for (unsigned j = 0; j < fleet->n; j++)
        count += fleet->master[j].connected &&
                 (fleet->master[j].reason == FENCE_REASON_NONE || fence_fleet_keeps(fleet, j));
    return count;
}

/* Returns the state of a restarted master. Its disk is trusted alone only if no majority of other
 * masters can be asked, because many restarted together. Then the masters that answer, and all
 * servers, know if @i lost a reported write, or the mark of a rejoin. A master that recorded the
 * lost mark would refuse the vote of @i. Fewer than a majority of masters grant nothing. So trust
 * waits for a majority, and first for the positions that these masters know. */
static enum fence_master_state state_of_restarted(const struct fence_fleet *fleet, unsigned i,
                                                  uint64_t now_us)
{
    assert(i < fleet->n);
    unsigned majority = fence_majority(fleet->n);
    unsigned active = others_active(fleet, i);
    if (active >= majority)
        return FENCE_MASTER_REJOIN;
    return active + others_unknown(fleet, i, now_us) >= majority || may_vote(fleet) < majority ||
                   !fence_fleet_is_told(fleet, i, now_us) || lost_a_mark(fleet, i)
               ? FENCE_MASTER_WAITING
               : FENCE_MASTER_RESTAMP;
}

/* Reports whether @i is the process that was admitted, and another machine has replaced it since:
 * then @i never votes again. A restarted process may rejoin. A higher incarnation from this
 * server's own try, which broke off, is no sign of a replacement. */
static bool is_retired(const struct fence_fleet *fleet, unsigned i)
{
    const struct fence_master *master = &fleet->master[i];
    return master->reason == FENCE_REASON_SUPERSEDED && !fence_facts_changed(&master->facts) &&
           fleet->view.incarnation[i] != master->meant;
}

static enum fence_master_state state_for(const struct fence_fleet *fleet, unsigned i,
                                         uint64_t now_us)
{
    assert(fleet->master[i].connected);
    const struct fence_master *master = &fleet->master[i];
    switch (master->reason) {
    case FENCE_REASON_NONE:
        return FENCE_MASTER_ACTIVE;
    case FENCE_REASON_NO_MAJORITY:
        return FENCE_MASTER_WAITING;
    case FENCE_REASON_RESTARTED:
        return state_of_restarted(fleet, i, now_us);
    case FENCE_REASON_BLANK:
    case FENCE_REASON_MALFORMED:
        if (is_place_unsure(fleet, i, now_us))
            return FENCE_MASTER_WAITING;
        break;
    case FENCE_REASON_FORGOT:
    case FENCE_REASON_ROLLED_BACK:
    case FENCE_REASON_SUPERSEDED:
    case FENCE_REASON_JOINING:
        break;
    default:
        return FENCE_MASTER_REFUSED;
    }
    if (fence_fleet_keeps(fleet, i))
        return state_of_restarted(fleet, i, now_us);
    return !is_retired(fleet, i) && others_active(fleet, i) >= fence_majority(fleet->n)
               ? FENCE_MASTER_REJOIN
               : FENCE_MASTER_REFUSED;
}

static void note_who_is_gone(struct fence_fleet *fleet, uint64_t now_us)
{
    for (unsigned i = 0; i < fleet->n; i++) {
        struct fence_master *master = &fleet->master[i];
        if (master->connected)
            master->gone_us = 0;
        else if (master->gone_us == 0)
            master->gone_us = now_us;
    }
}

static bool is_judged(const struct fence_master *master)
{
    return master->connected && master->state != FENCE_MASTER_RESTAMP &&
           master->state != FENCE_MASTER_REJOIN;
}

uint32_t fence_fleet_judge_all(struct fence_fleet *fleet, uint64_t now_us)
{
    fleet->judged_us = now_us;
    fence_fleet_note_positions(fleet);
    note_who_is_gone(fleet, now_us);
    for (unsigned i = 0; i < fleet->n; i++)
        if (is_judged(&fleet->master[i]))
            fleet->master[i].reason = fence_fleet_judge(fleet, i);

    uint32_t changed = 0;
    for (unsigned i = 0; i < fleet->n; i++) {
        struct fence_master *master = &fleet->master[i];
        if (!is_judged(master))
            continue;
        enum fence_master_state before = master->state;
        enum fence_master_state after = state_for(fleet, i, now_us);
        bool to_be_taken_back = after == FENCE_MASTER_REJOIN || after == FENCE_MASTER_RESTAMP;
        if (after == FENCE_MASTER_REJOIN && !fence_fleet_is_placed(fleet, i) &&
            fence_fleet_misordered(fleet)) {
            after = FENCE_MASTER_REFUSED;
            master->reason = FENCE_REASON_LIST_ORDER;
        } else if (to_be_taken_back && is_led_elsewhere(master, now_us)) {
            after = FENCE_MASTER_REFUSED;
            master->reason = FENCE_REASON_JOINING;
        }
        fence_master_move(master, after);
        if (after != FENCE_MASTER_ACTIVE && after != FENCE_MASTER_WAITING && after != before)
            changed |= fence_set_of(i);
    }
    return changed;
}
