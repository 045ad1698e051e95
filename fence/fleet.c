#include "fence/fleet.h"

#include "fence/lease.h"

#include <assert.h>
#include <string.h>

enum {
    OLDEST_REDIS = 70000, /* 7.0.0 */
};

void fence_fleet_init(struct fence_fleet *fleet, unsigned n)
{
    assert(n % 2 == 1 && n <= FENCE_MASTERS_MAX);
    memset(fleet, 0, sizeof(*fleet));
    fleet->n = n;
    for (unsigned i = 0; i < n; i++)
        fleet->master[i].reason = FENCE_REASON_CONNECTING;
}

/* ---- judging --------------------------------------------------------------------------------- */

/* A server reached under two addresses has one vote, at the place that its marker names. */
static bool same_server_elsewhere(const struct fence_fleet *fleet, unsigned i)
{
    const struct fence_facts *facts = &fleet->master[i].facts;
    if (facts->marked && facts->member == i + 1)
        return false;
    for (unsigned j = 0; j < fleet->n; j++) {
        const struct fence_master *other = &fleet->master[j];
        if (j != i && other->connected && strcmp(other->facts.run_id, facts->run_id) == 0)
            return true;
    }
    return false;
}

/* What is wrong with the server itself, whatever it holds. */
static enum fence_reason judge_server(const struct fence_fleet *fleet, unsigned i)
{
    const struct fence_facts *facts = &fleet->master[i].facts;
    if (facts->version < OLDEST_REDIS)
        return FENCE_REASON_OLD;
    if (facts->replica)
        return FENCE_REASON_REPLICA;
    if (facts->cluster)
        return FENCE_REASON_CLUSTER;
    return same_server_elsewhere(fleet, i) ? FENCE_REASON_SAME_SERVER : FENCE_REASON_NONE;
}

/* Whether what it holds is what this place in the fleet should hold. */
static enum fence_reason judge_marker(const struct fence_fleet *fleet, unsigned i)
{
    const struct fence_facts *facts = &fleet->master[i].facts;
    if (!facts->marked)
        return FENCE_REASON_BLANK;
    if (fleet->fleet_id[0] == '\0')
        return FENCE_REASON_NO_MAJORITY;
    if (strcmp(facts->fleet_id, fleet->fleet_id) != 0)
        return FENCE_REASON_OTHER_FLEET;
    if (facts->member != i + 1)
        return FENCE_REASON_OTHER_MEMBER;
    if (facts->ttl_max_ms != fleet->ttl_max_ms)
        return FENCE_REASON_OTHER_TTL;
    if (!facts->marked_active)
        return FENCE_REASON_JOINING;
    if (facts->view.incarnation[i] < fleet->view.incarnation[i])
        return FENCE_REASON_SUPERSEDED;
    return FENCE_REASON_NONE;
}

/* Whether it can have forgotten anything since it was admitted. */
static enum fence_reason judge_memory(const struct fence_facts *facts)
{
    if (strcmp(facts->run_id, facts->marked_run_id) == 0)
        return FENCE_REASON_NONE;
    return facts->durable && facts->marked_durable ? FENCE_REASON_RESTARTED : FENCE_REASON_FORGOT;
}

enum fence_reason fence_fleet_judge(const struct fence_fleet *fleet, unsigned i)
{
    enum fence_reason reason = judge_server(fleet, i);
    if (reason == FENCE_REASON_NONE)
        reason = judge_marker(fleet, i);
    if (reason == FENCE_REASON_NONE)
        reason = judge_memory(&fleet->master[i].facts);
    return reason;
}

static enum fence_master_state state_for(enum fence_reason reason)
{
    switch (reason) {
    case FENCE_REASON_NONE:
        return FENCE_MASTER_ACTIVE;
    case FENCE_REASON_RESTARTED:
        return FENCE_MASTER_RESTAMP;
    case FENCE_REASON_NO_MAJORITY:
        return FENCE_MASTER_WAITING;
    default:
        return FENCE_MASTER_REFUSED;
    }
}

/* ---- what a majority says -------------------------------------------------------------------- */

/* A marker counts for its own place only: the same one seen twice is one voice. */
static bool same_marker(const struct fence_fleet *fleet, unsigned i,
                        const struct fence_facts *facts)
{
    const struct fence_master *master = &fleet->master[i];
    return master->connected && master->facts.marked && master->facts.member == i + 1 &&
           strcmp(master->facts.fleet_id, facts->fleet_id) == 0 &&
           master->facts.ttl_max_ms == facts->ttl_max_ms;
}

static void adopt_fleet(struct fence_fleet *fleet)
{
    for (unsigned i = 0; i < fleet->n && fleet->fleet_id[0] == '\0'; i++) {
        const struct fence_facts *facts = &fleet->master[i].facts;
        unsigned voices = 0;
        for (unsigned j = 0; j < fleet->n; j++)
            voices += same_marker(fleet, i, facts) && same_marker(fleet, j, facts);
        if (voices < fence_majority(fleet->n))
            continue;
        memcpy(fleet->fleet_id, facts->fleet_id, sizeof(fleet->fleet_id));
        fleet->ttl_max_ms = facts->ttl_max_ms;
    }
}

static void merge_views(struct fence_fleet *fleet)
{
    bool changed = false;
    for (unsigned i = 0; i < fleet->n; i++) {
        /* Only a member in its place, whatever else is wrong with it, says what it recorded. */
        const struct fence_master *master = &fleet->master[i];
        if (master->connected && master->facts.marked && master->facts.member == i + 1 &&
            fleet->fleet_id[0] != '\0' && strcmp(master->facts.fleet_id, fleet->fleet_id) == 0)
            changed |= fence_view_merge(&fleet->view, &master->facts.view, fleet->n);
    }
    fleet->generation += changed;
}

uint32_t fence_fleet_learn(struct fence_fleet *fleet, unsigned i, const struct fence_facts *facts)
{
    assert(i < fleet->n);
    struct fence_master *known = &fleet->master[i];
    known->facts = *facts;
    known->connected = true;
    known->in_flight = 0;
    known->state = FENCE_MASTER_WAITING;
    adopt_fleet(fleet);
    merge_views(fleet);

    uint32_t changed = 0;
    for (unsigned j = 0; j < fleet->n; j++) {
        struct fence_master *master = &fleet->master[j];
        if (!master->connected)
            continue;
        enum fence_master_state before = master->state;
        master->reason = fence_fleet_judge(fleet, j);
        master->state = state_for(master->reason);
        bool wants_act =
            master->state == FENCE_MASTER_RESTAMP || master->state == FENCE_MASTER_REFUSED;
        if (wants_act && master->state != before)
            changed |= UINT32_C(1) << j;
    }
    return changed;
}

void fence_fleet_lose(struct fence_fleet *fleet, unsigned i, enum fence_reason reason)
{
    assert(i < fleet->n);
    struct fence_master *master = &fleet->master[i];
    /* A refusal stays on show while the connection is reopened: it says more than "connecting". */
    if (master->state != FENCE_MASTER_REFUSED || reason != FENCE_REASON_CONNECTING) {
        master->state = FENCE_MASTER_DOWN;
        master->reason = reason;
    }
    master->connected = false;
    master->in_flight = 0;
}

/* ---- who may be asked ------------------------------------------------------------------------ */

uint32_t fence_fleet_in_state(const struct fence_fleet *fleet, enum fence_master_state state)
{
    uint32_t set = 0;
    for (unsigned i = 0; i < fleet->n; i++)
        if (fleet->master[i].state == state)
            set |= UINT32_C(1) << i;
    return set;
}

uint32_t fence_fleet_active(const struct fence_fleet *fleet)
{
    return fence_fleet_in_state(fleet, FENCE_MASTER_ACTIVE);
}

unsigned fence_fleet_active_count(const struct fence_fleet *fleet)
{
    return (unsigned)__builtin_popcount(fence_fleet_active(fleet));
}

bool fence_fleet_ready(const struct fence_fleet *fleet)
{
    return fence_fleet_active_count(fleet) >= fence_majority(fleet->n);
}

/* ---- silence --------------------------------------------------------------------------------- */

void fence_fleet_sent(struct fence_fleet *fleet, unsigned i, uint64_t now_us)
{
    struct fence_master *master = &fleet->master[i];
    assert(master->state == FENCE_MASTER_ACTIVE);
    if (master->in_flight++ == 0)
        master->progress_us = now_us;
}

void fence_fleet_answered(struct fence_fleet *fleet, unsigned i, uint64_t now_us)
{
    struct fence_master *master = &fleet->master[i];
    if (master->in_flight == 0)
        return; /* of a connection that was given up meanwhile */
    master->in_flight--;
    master->progress_us = now_us;
}

/* When a master's patience is over: at once where it owes too much, though it may still answer. */
static uint64_t silence_us(const struct fence_master *master)
{
    if (master->in_flight == 0)
        return FENCE_NEVER;
    if (master->in_flight > FENCE_IN_FLIGHT_MAX)
        return master->progress_us;
    return master->progress_us + FENCE_MASTER_DEADLINE_US;
}

uint64_t fence_fleet_deadline(const struct fence_fleet *fleet)
{
    uint64_t first_us = FENCE_NEVER;
    for (unsigned i = 0; i < fleet->n; i++) {
        uint64_t due_us = silence_us(&fleet->master[i]);
        if (due_us < first_us)
            first_us = due_us;
    }
    return first_us;
}

uint32_t fence_fleet_silent(const struct fence_fleet *fleet, uint64_t now_us)
{
    uint32_t set = 0;
    for (unsigned i = 0; i < fleet->n; i++) {
        if (now_us >= silence_us(&fleet->master[i]))
            set |= UINT32_C(1) << i;
    }
    return set;
}
