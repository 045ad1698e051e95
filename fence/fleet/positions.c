/* The positions of masters (fence/protocol/position.h): what each has shown, and what it was told
 * of the others. A master that comes back behind its position has lost writes. */
#include "fence/fleet/fleet.h"

#include <assert.h>
#include <string.h>

/* Only a member in its place says what positions its fleet has. */
static bool is_member(const struct fence_fleet *fleet, unsigned i)
{
    const struct fence_facts *facts = &fleet->master[i].facts;
    return fleet->fleet_id[0] != '\0' && facts->marked && facts->member == i + 1 &&
           facts->other_members == 0 && strcmp(facts->fleet_id, fleet->fleet_id) == 0;
}

struct fence_position fence_facts_position(const struct fence_facts *facts, unsigned i)
{
    return (struct fence_position){
        .incarnation = facts->marked_active ? facts->view.incarnation[i] : facts->next,
        .writes = facts->writes,
    };
}

bool fence_facts_lost_writes(const struct fence_facts *facts, unsigned i)
{
    return facts->marked &&
           fence_position_is_behind(fence_facts_position(facts, i), facts->heard.of[i]);
}

/* Reports whether a restart should find this position again. A master that is joining has written
 * nothing yet under the incarnation that it is to get. A write of a master under weaker settings
 * than its marker says counts for nothing, and may be lost. */
static bool is_kept(const struct fence_facts *facts)
{
    return facts->marked_active && (facts->durable || !facts->marked_durable);
}

bool fence_facts_changed(const struct fence_facts *facts)
{
    return strcmp(facts->server_id, facts->marked_server_id) != 0 ||
           strcmp(facts->lineage, facts->marked_lineage) != 0;
}

/* A master that votes writes on: another server may have told a later position than its last facts
 * have. Each other one writes nothing, so it is behind for good. */
static void compare(struct fence_fleet *fleet)
{
    for (unsigned i = 0; i < fleet->n; i++) {
        struct fence_master *master = &fleet->master[i];
        const struct fence_facts *facts = &master->facts;
        bool votes = facts->marked_active && !fence_facts_changed(facts);
        if (master->connected && master->state == FENCE_MASTER_WAITING && is_member(fleet, i) &&
            !votes && fence_position_is_behind(fence_facts_position(facts, i), fleet->known.of[i]))
            master->rolled_back = true;
    }
}

/* The master reported a later position to this server, or another server sent it one. */
static bool contradicts_itself(const struct fence_master *master, unsigned i)
{
    return fence_position_is_behind(fence_facts_position(&master->facts, i), master->shown) ||
           fence_facts_lost_writes(&master->facts, i);
}

static void show(struct fence_fleet *fleet, unsigned i, struct fence_position position)
{
    fence_position_raise(&fleet->master[i].shown, position);
    fence_position_raise(&fleet->known.of[i], position);
}

static void note(struct fence_fleet *fleet, unsigned i)
{
    struct fence_master *master = &fleet->master[i];
    master->noted = true;
    master->rolled_back = contradicts_itself(master, i);
    fence_positions_merge(&fleet->known, &master->facts.heard, fleet->n);
    if (is_kept(&master->facts))
        show(fleet, i, fence_facts_position(&master->facts, i));
}

void fence_fleet_note_positions(struct fence_fleet *fleet)
{
    bool any = false;
    for (unsigned i = 0; i < fleet->n; i++) {
        if (!fleet->master[i].connected || fleet->master[i].noted || !is_member(fleet, i))
            continue;
        note(fleet, i);
        any = true;
    }
    if (any)
        compare(fleet);
}

void fence_fleet_hear(struct fence_fleet *fleet, unsigned i, const struct fence_positions *heard,
                      int64_t writes)
{
    assert(i < fleet->n);
    struct fence_master *master = &fleet->master[i];
    if (!master->connected || !is_member(fleet, i))
        return;
    fence_positions_merge(&fleet->known, heard, fleet->n);
    if (master->state == FENCE_MASTER_ACTIVE && writes > master->writes)
        master->writes = writes;
    compare(fleet);
}

bool fence_fleet_shows(struct fence_fleet *fleet, unsigned i, int64_t writes)
{
    assert(i < fleet->n);
    struct fence_master *master = &fleet->master[i];
    if (writes == 0)
        return true;
    if (writes < master->writes)
        return false;
    master->writes = writes;
    show(fleet, i, (struct fence_position){master->facts.view.incarnation[i], writes});
    return true;
}

uint64_t fence_fleet_answer_us(const struct fence_fleet *fleet)
{
    return fleet->deadline_us > FENCE_ANSWER_US ? fleet->deadline_us : FENCE_ANSWER_US;
}

/* The last answer of its process before may be read so late, and then be told. */
static uint64_t telling_ends_us(const struct fence_fleet *fleet, unsigned i)
{
    return fleet->master[i].since_us + fence_fleet_answer_us(fleet) + FENCE_TELLING_US;
}

uint64_t fence_fleet_telling_ends_us(const struct fence_fleet *fleet)
{
    uint64_t ends_us = FENCE_NEVER;
    for (unsigned i = 0; i < fleet->n; i++) {
        const struct fence_master *master = &fleet->master[i];
        uint64_t told_us = telling_ends_us(fleet, i);
        if (master->connected && master->state == FENCE_MASTER_WAITING &&
            told_us > fleet->judged_us && told_us < ends_us)
            ends_us = told_us;
    }
    return ends_us;
}

bool fence_fleet_is_told(const struct fence_fleet *fleet, unsigned i, uint64_t now_us)
{
    assert(i < fleet->n);
    const struct fence_master *master = &fleet->master[i];
    return master->facts.exclusive || now_us >= telling_ends_us(fleet, i);
}
