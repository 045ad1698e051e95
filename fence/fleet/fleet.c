#include "fence/fleet/fleet.h"

#include "fence/base/moves.h"
#include "fence/base/set.h"
#include "fence/protocol/lease.h"

#include <assert.h>
#include <string.h>

void fence_fleet_init(struct fence_fleet *fleet, unsigned n)
{
    assert(n % 2 == 1 && n <= FENCE_MASTERS_MAX);
    memset(fleet, 0, sizeof(*fleet));
    fleet->n = n;
    fleet->deadline_us = FENCE_MASTER_DEADLINE_US;
    for (unsigned i = 0; i < n; i++)
        fleet->master[i].reason = FENCE_REASON_CONNECTING;
}

/* ---- what a majority says -------------------------------------------------------------------- */

/* A master that was refused stays known until it is probed again. */
static bool has_voice(const struct fence_fleet *fleet, unsigned i)
{
    assert(i < fleet->n);
    const struct fence_master *master = &fleet->master[i];
    return (master->connected || master->known) && master->facts.marked &&
           master->facts.member == i + 1 && master->facts.other_members == 0;
}

/* A marker counts for its own place only: the same one seen twice is one voice. */
static bool same_marker(const struct fence_fleet *fleet, unsigned i,
                        const struct fence_facts *facts)
{
    return has_voice(fleet, i) && strcmp(fleet->master[i].facts.fleet_id, facts->fleet_id) == 0 &&
           fleet->master[i].facts.ttl_max_ms == facts->ttl_max_ms;
}

/* The highest that any of them names. An older pawld that took a master back left it out there. */
static uint32_t named_extensions_max(const struct fence_fleet *fleet,
                                     const struct fence_facts *facts)
{
    uint32_t most = 0;
    for (unsigned j = 0; j < fleet->n; j++)
        if (same_marker(fleet, j, facts) && fleet->master[j].facts.extensions_max > most)
            most = fleet->master[j].facts.extensions_max;
    return most;
}

/* The same of the seats of readers. */
static uint32_t named_readers(const struct fence_fleet *fleet, const struct fence_facts *facts)
{
    uint32_t most = 0;
    for (unsigned j = 0; j < fleet->n; j++)
        if (same_marker(fleet, j, facts) && fleet->master[j].facts.readers > most)
            most = fleet->master[j].facts.readers;
    return most;
}

/* An operator made another fleet of the same masters (pawld init). Nothing that was known of the
 * old fleet holds for it. */
static void adopt_fleet(struct fence_fleet *fleet)
{
    for (unsigned i = 0; i < fleet->n; i++) {
        const struct fence_facts *facts = &fleet->master[i].facts;
        unsigned voices = 0;
        for (unsigned j = 0; j < fleet->n; j++)
            voices += same_marker(fleet, i, facts) && same_marker(fleet, j, facts);
        if (voices < fence_majority(fleet->n) || strcmp(fleet->fleet_id, facts->fleet_id) == 0)
            continue;
        memcpy(fleet->fleet_id, facts->fleet_id, sizeof(fleet->fleet_id));
        fleet->closed = false;
        memset(&fleet->predecessors, 0, sizeof(fleet->predecessors));
        fleet->ttl_max_ms = facts->ttl_max_ms;
        fleet->readers_named = 0;
        fleet->readers = FENCE_READERS_DEFAULT;
        fleet->extensions_max = named_extensions_max(fleet, facts);
        memset(&fleet->view, 0, sizeof(fleet->view));
        memset(&fleet->known, 0, sizeof(fleet->known));
        for (unsigned j = 0; j < fleet->n; j++) {
            fleet->master[j].shown = (struct fence_position){0};
            fleet->master[j].noted = false;
        }
        fleet->generation++;
        return;
    }
}

/* A fleet is moved once all its masters were claimed, and they never voted for it again. A disk of
 * before that may still name the fleet, on a majority too. */
static void note_closed(struct fence_fleet *fleet)
{
    for (unsigned i = 0; i < fleet->n; i++)
        fleet->closed |=
            fence_predecessors_have(&fleet->master[i].facts.predecessors, fleet->fleet_id);
}

/* Only a member in its place says what it recorded. Anything else may be wrong with it. */
static bool speaks(const struct fence_fleet *fleet, unsigned i)
{
    return has_voice(fleet, i) && fleet->fleet_id[0] != '\0' &&
           strcmp(fleet->master[i].facts.fleet_id, fleet->fleet_id) == 0;
}

/* A master that rejoins is to know them all. */
static void note_predecessors(struct fence_fleet *fleet)
{
    for (unsigned i = 0; i < fleet->n; i++)
        if (speaks(fleet, i))
            fence_predecessors_merge(&fleet->predecessors, &fleet->master[i].facts.predecessors);
}

/* One marker of the fleet that names the seats of readers is enough, whichever was seen first: an
 * older pawld that took masters back left the number out there, perhaps on a majority. */
static void name_readers(struct fence_fleet *fleet, unsigned i)
{
    if (!speaks(fleet, i))
        return;
    const uint32_t named = named_readers(fleet, &fleet->master[i].facts);
    if (named <= fleet->readers_named)
        return;
    fleet->readers_named = named;
    fleet->readers = named;
}

/* Reports whether another master than @i says that member @j has this incarnation, or is to get it.
 */
static bool is_backed(const struct fence_fleet *fleet, unsigned i, unsigned j, int64_t incarnation)
{
    assert(i < fleet->n && j < fleet->n);
    const struct fence_master *member = &fleet->master[j];
    bool by_itself = i == j || (speaks(fleet, j) && member->facts.next >= incarnation);
    if (by_itself || member->meant >= incarnation)
        return true;
    for (unsigned k = 0; k < fleet->n; k++)
        if (k != i && speaks(fleet, k) && fleet->master[k].facts.view.incarnation[j] >= incarnation)
            return true;
    return false;
}

static void merge_views(struct fence_fleet *fleet)
{
    struct fence_view believed = fleet->view;
    for (unsigned i = 0; i < fleet->n; i++) {
        const struct fence_view *said = &fleet->master[i].facts.view;
        for (unsigned j = 0; j < fleet->n && speaks(fleet, i); j++)
            if (said->incarnation[j] > believed.incarnation[j] &&
                is_backed(fleet, i, j, said->incarnation[j]))
                believed.incarnation[j] = said->incarnation[j];
    }
    fleet->generation += fence_view_merge(&fleet->view, &believed, fleet->n);
}

static bool can_be_true(const struct fence_fleet *fleet, unsigned i, int64_t incarnation)
{
    assert(incarnation >= 0);
    return incarnation - fleet->view.incarnation[i] <= (int64_t)FENCE_CLAIM_LEAP_MAX
                                                           << FENCE_INCARNATION_MEMORY_SHIFT;
}

int64_t fence_fleet_claimed(const struct fence_fleet *fleet, unsigned i)
{
    assert(i < fleet->n);
    int64_t claimed = fleet->view.incarnation[i];
    for (unsigned k = 0; k < fleet->n; k++) {
        int64_t said = fleet->master[k].facts.view.incarnation[i];
        if (speaks(fleet, k) && said > claimed && can_be_true(fleet, i, said))
            claimed = said;
    }
    return claimed;
}

bool fence_fleet_name_views(struct fence_fleet *fleet)
{
    bool changed = false;
    for (unsigned i = 0; i < fleet->n; i++) {
        const struct fence_view *said = &fleet->master[i].facts.view;
        struct fence_view named = fleet->view;
        for (unsigned j = 0; j < fleet->n && speaks(fleet, i); j++)
            if (fleet->master[j].state != FENCE_MASTER_ACTIVE && j != i &&
                said->incarnation[j] > named.incarnation[j] &&
                can_be_true(fleet, j, said->incarnation[j]))
                named.incarnation[j] = said->incarnation[j];
        changed |= memcmp(&named, &fleet->master[i].named, sizeof(named)) != 0;
        fleet->master[i].named = named;
    }
    fleet->generation += changed;
    return changed;
}

/* No master votes before its facts were judged, and a master that rejoins not before a new
 * handshake.
 */
static const uint32_t master_moves[] = {
    [FENCE_MASTER_DOWN] = FENCE_MOVE(FENCE_MASTER_DOWN) | FENCE_MOVE(FENCE_MASTER_WAITING),
    [FENCE_MASTER_WAITING] = FENCE_MOVE(FENCE_MASTER_DOWN) | FENCE_MOVE(FENCE_MASTER_WAITING) |
                             FENCE_MOVE(FENCE_MASTER_RESTAMP) | FENCE_MOVE(FENCE_MASTER_REJOIN) |
                             FENCE_MOVE(FENCE_MASTER_REFUSED) | FENCE_MOVE(FENCE_MASTER_ACTIVE),
    [FENCE_MASTER_RESTAMP] = FENCE_MOVE(FENCE_MASTER_DOWN) | FENCE_MOVE(FENCE_MASTER_WAITING),
    [FENCE_MASTER_REJOIN] = FENCE_MOVE(FENCE_MASTER_DOWN) | FENCE_MOVE(FENCE_MASTER_WAITING) |
                            FENCE_MOVE(FENCE_MASTER_REFUSED),
    [FENCE_MASTER_REFUSED] = FENCE_MOVE(FENCE_MASTER_DOWN) | FENCE_MOVE(FENCE_MASTER_WAITING) |
                             FENCE_MOVE(FENCE_MASTER_REFUSED),
    [FENCE_MASTER_ACTIVE] = FENCE_MOVE(FENCE_MASTER_DOWN) | FENCE_MOVE(FENCE_MASTER_WAITING) |
                            FENCE_MOVE(FENCE_MASTER_RESTAMP) | FENCE_MOVE(FENCE_MASTER_REJOIN) |
                            FENCE_MOVE(FENCE_MASTER_REFUSED) | FENCE_MOVE(FENCE_MASTER_ACTIVE),
};

void fence_master_move(struct fence_master *master, enum fence_master_state to)
{
    assert(fence_move_allowed(master_moves, master->state, to));
    assert(to != FENCE_MASTER_ACTIVE || (master->connected && master->reason == FENCE_REASON_NONE));
    master->state = to;
}

static void owe_nothing(struct fence_master *master)
{
    master->in_flight = 0;
    master->locks = 0;
    master->group_locks = 0;
}

void fence_fleet_learn(struct fence_fleet *fleet, unsigned i, const struct fence_facts *facts,
                       uint64_t now_us)
{
    assert(i < fleet->n);
    struct fence_master *master = &fleet->master[i];
    if (facts->next != master->facts.next || facts->progress != master->facts.progress ||
        master->led_us == 0)
        master->led_us = now_us;
    if (strcmp(facts->server_id, master->facts.server_id) != 0)
        master->since_us = now_us;
    master->facts = *facts;
    master->connected = true;
    master->known = true;
    owe_nothing(master);
    master->eligible_at_us = 0;
    fence_master_move(master, FENCE_MASTER_WAITING);
    master->writes = facts->writes;
    master->rolled_back = false;
    master->noted = false;
    adopt_fleet(fleet);
    note_closed(fleet);
    note_predecessors(fleet);
    name_readers(fleet, i);
    merge_views(fleet);
    master->believed = fleet->view.incarnation[i];
}

bool fence_fleet_learn_view(struct fence_fleet *fleet, unsigned i, const struct fence_view *view)
{
    assert(i < fleet->n);
    uint64_t before = fleet->generation;
    struct fence_view *known = &fleet->master[i].facts.view;
    const int64_t own = known->incarnation[i];
    /* The last number of a master counts, even if it is lower than an earlier one. A position only
     * rises, so the earlier one was wrong. Its own number is in its marker, with the writes that it
     * counted under that number: only a handshake tells both. */
    *known = *view;
    known->incarnation[i] = own;
    merge_views(fleet);
    return fleet->generation != before;
}

void fence_fleet_lose(struct fence_fleet *fleet, unsigned i, enum fence_reason reason)
{
    assert(i < fleet->n);
    struct fence_master *master = &fleet->master[i];
    /* A refusal stays on show while the connection is reopened: it says more than "connecting". */
    if (master->state != FENCE_MASTER_REFUSED || reason != FENCE_REASON_CONNECTING) {
        fence_master_move(master, FENCE_MASTER_DOWN);
        master->reason = reason;
        master->known = false;
        master->eligible_at_us = 0;
    }
    master->connected = false;
    owe_nothing(master);
}

/* ---- who may be asked ------------------------------------------------------------------------ */

uint32_t fence_fleet_in_state(const struct fence_fleet *fleet, enum fence_master_state state)
{
    uint32_t set = 0;
    for (unsigned i = 0; i < fleet->n; i++)
        if (fleet->master[i].state == state)
            set |= fence_set_of(i);
    return set;
}

uint32_t fence_fleet_active(const struct fence_fleet *fleet)
{
    return fence_fleet_in_state(fleet, FENCE_MASTER_ACTIVE);
}

unsigned fence_fleet_active_count(const struct fence_fleet *fleet)
{
    return fence_set_count(fence_fleet_active(fleet));
}

bool fence_fleet_ready(const struct fence_fleet *fleet)
{
    return fence_fleet_active_count(fleet) >= fence_majority(fleet->n);
}

/* ---- silence --------------------------------------------------------------------------------- */

void fence_fleet_sent(struct fence_fleet *fleet, unsigned i, unsigned locks, uint64_t now_us)
{
    assert(i < fleet->n && locks > 0);
    assert(fleet->master[i].state == FENCE_MASTER_ACTIVE);
    struct fence_master *master = &fleet->master[i];
    assert(master->state == FENCE_MASTER_ACTIVE);
    if (master->in_flight++ == 0) {
        master->progress_us = now_us;
        master->lag_us = 0;
    }
    master->locks += locks;
    master->group_locks += locks > 1 ? locks : 0;
}

static uint32_t less(uint32_t from, uint32_t what)
{
    return from > what ? from - what : 0;
}

void fence_fleet_answered(struct fence_fleet *fleet, unsigned i, unsigned locks, uint64_t now_us)
{
    assert(i < fleet->n);
    struct fence_master *master = &fleet->master[i];
    if (master->in_flight == 0)
        return; /* a reply of a connection that was abandoned meanwhile */
    master->in_flight--;
    master->progress_us = now_us;
    master->lag_us = 0;
    master->locks = less(master->locks, locks > 0 ? locks : 1);
    master->group_locks = less(master->group_locks, locks > 1 ? locks : 0);
    if (master->in_flight == 0)
        owe_nothing(master);
}

static uint32_t owed_by(const struct fence_master *master, bool groups)
{
    return groups ? master->group_locks : master->locks;
}

/* How many of the active masters owe no more than @i does. */
static unsigned count_no_slower(const struct fence_fleet *fleet, unsigned i, bool groups)
{
    unsigned count = 0;
    for (unsigned j = 0; j < fleet->n; j++)
        count += fleet->master[j].state == FENCE_MASTER_ACTIVE &&
                 owed_by(&fleet->master[j], groups) <= owed_by(&fleet->master[i], groups);
    return count;
}

uint32_t fence_fleet_owed(const struct fence_fleet *fleet, bool groups)
{
    uint32_t least = UINT32_MAX;
    for (unsigned i = 0; i < fleet->n; i++)
        if (fleet->master[i].state == FENCE_MASTER_ACTIVE &&
            count_no_slower(fleet, i, groups) >= fence_majority(fleet->n) &&
            owed_by(&fleet->master[i], groups) < least)
            least = owed_by(&fleet->master[i], groups);
    return least < UINT32_MAX ? least : 0;
}

/* When a silent master is abandoned: at once where it owes too much, though it may still answer. */
static uint64_t silence_us(const struct fence_master *master, uint64_t deadline_us)
{
    if (master->in_flight == 0)
        return FENCE_NEVER;
    if (master->in_flight > FENCE_IN_FLIGHT_MAX)
        return master->progress_us;
    return master->progress_us + deadline_us;
}

uint64_t fence_fleet_deadline(const struct fence_fleet *fleet)
{
    uint64_t first_us = FENCE_NEVER;
    for (unsigned i = 0; i < fleet->n; i++) {
        uint64_t due_us = silence_us(&fleet->master[i], fleet->deadline_us);
        if (due_us < first_us)
            first_us = due_us;
    }
    return first_us;
}

void fence_fleet_lagged(struct fence_fleet *fleet, uint64_t lag_us, uint64_t now_us)
{
    for (unsigned i = 0; i < fleet->n; i++) {
        struct fence_master *master = &fleet->master[i];
        const uint64_t since_us = now_us - master->progress_us;
        const uint64_t left_us = FENCE_LAG_DEADLINES * fleet->deadline_us - master->lag_us;
        uint64_t credit_us = lag_us < since_us ? lag_us : since_us;
        credit_us = credit_us < left_us ? credit_us : left_us;
        if (master->in_flight == 0)
            continue;
        master->progress_us += credit_us;
        master->lag_us += credit_us;
    }
}

uint32_t fence_fleet_silent(const struct fence_fleet *fleet, uint64_t now_us)
{
    uint32_t set = 0;
    for (unsigned i = 0; i < fleet->n; i++) {
        if (now_us >= silence_us(&fleet->master[i], fleet->deadline_us))
            set |= fence_set_of(i);
    }
    return set;
}
