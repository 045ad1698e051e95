#include "fence/rejoin/rejoin.h"

#include "fence/base/set.h"
#include "fence/rejoin/import.h"
#include "fence/rejoin/masters.h"
#include "fence/rejoin/rejoin_steps.h"
#include "fence/state/output.h"

#include <assert.h>

/* Restarts the rejoin, after a new handshake on the same connection. */
static void ask_for_handshake(struct fence_core *core, unsigned member)
{
    core_rejoin_state_end(&core->rejoins[member]);
    core_add_effect(core, FENCE_EFFECT_HANDSHAKE)->masters = fence_set_of(member);
}

/* ---- replies --------------------------------------------------------------------------------- */

static bool is_asking(const struct core_rejoin *rejoin)
{
    return rejoin->state == CORE_REJOIN_ASKING || rejoin->state == CORE_REJOIN_RECORDING;
}

static void ask_anew(struct fence_core *core, unsigned member)
{
    if (core->rejoins[member].state == CORE_REJOIN_ASKING)
        core_rejoin_ask(core, member);
    else
        core_rejoin_record(core, member);
}

/* Reports whether one master alone knows a higher incarnation than the member is to get. It comes
 * from a leader that stopped half-way, or from another leader that is further ahead. The next mark
 * is above that incarnation. */
static bool is_beaten(const struct fence_core *core, unsigned member)
{
    return core->rejoins[member].state == CORE_REJOIN_RECORDING &&
           fence_fleet_claimed(&core->fleet, member) > core->fleet.master[member].meant;
}

/* Master @i did not do the request, and will not. The other masters may be enough. */
static void go_on_without(struct fence_core *core, unsigned member, unsigned i)
{
    struct core_rejoin *rejoin = &core->rejoins[member];
    rejoin->asked &= ~fence_set_of(i);
    uint32_t may_answer = rejoin->answered | (rejoin->asked & fence_fleet_active(&core->fleet));
    if (core_rejoin_is_enough(core, may_answer))
        return;
    if (is_beaten(core, member))
        core_rejoin_yield(core, member);
    else
        ask_anew(core, member);
}

/* Master @i answers this request no more, though it may be connected again. If several masters were
 * asked, the other masters may be enough. */
static void lost(struct fence_core *core, unsigned member, unsigned i,
                 const struct fence_rejoin_reply *reply)
{
    struct core_rejoin *rejoin = &core->rejoins[member];
    if (i == member) {
        core_rejoin_break_off(core, member, FENCE_REASON_UNREACHABLE);
    } else if (is_asking(rejoin)) {
        go_on_without(core, member, i);
    } else if (rejoin->state == CORE_REJOIN_IMPORTING) {
        core_import_page_failed(core, member, i, reply);
    }
}

static void answered(struct fence_core *core, unsigned member, unsigned i)
{
    struct core_rejoin *rejoin = &core->rejoins[member];
    if (rejoin->state == CORE_REJOIN_RECORDING)
        core_learn_view(core, i, &rejoin->view); /* from here on @i knows this view */
    rejoin->answered |= fence_set_of(i);
    if (!core_rejoin_is_enough(core, rejoin->answered))
        return;
    if (rejoin->state == CORE_REJOIN_ASKING)
        core_rejoin_mark(core, member);
    else
        core_import_begin(core, member);
}

/* Masters that did not answer in time are silent, even if they owed nothing else. */
static void ask_without_the_silent(struct fence_core *core, unsigned member)
{
    const struct core_rejoin *rejoin = &core->rejoins[member];
    uint32_t silent = rejoin->asked & ~rejoin->answered & fence_fleet_active(&core->fleet);
    core_give_up(core, silent, FENCE_REASON_SILENT);
    ask_anew(core, member);
}

static void done(struct fence_core *core, unsigned member, unsigned i,
                 const struct fence_rejoin_reply *reply)
{
    assert(member < core->fleet.n && i < core->fleet.n);
    struct core_rejoin *rejoin = &core->rejoins[member];
    switch (rejoin->state) {
    case CORE_REJOIN_ASKING:
    case CORE_REJOIN_RECORDING:
        answered(core, member, i);
        break;
    case CORE_REJOIN_MARKING:
        core_rejoin_clear(core, member, 0);
        break;
    case CORE_REJOIN_CLEARING:
        if (reply->cursor == 0) /* the locks of the member are removed */
            core_rejoin_record(core, member);
        else
            core_rejoin_clear(core, member, reply->cursor);
        break;
    case CORE_REJOIN_IMPORTING:
    case CORE_REJOIN_QUARANTINED:
        if (i == member)
            core_import_page_merged(core, member, reply->tag);
        else if (rejoin->state == CORE_REJOIN_IMPORTING)
            core_import_page_came(core, member, i, reply);
        break;
    case CORE_REJOIN_ADMITTING:
        rejoin->beaten = false;
        rejoin->stuck = 0;
        core->counts.rejoins[member]++;
        ask_for_handshake(core, member);
        break;
    default:
        break;
    }
}

/* The member knows more than this server, or its marker is no longer as it was seen. */
static void changed(struct fence_core *core, unsigned member, unsigned i,
                    const struct fence_rejoin_reply *reply)
{
    assert(member < core->fleet.n && i < core->fleet.n);
    if (i == member) {
        if (core->rejoins[member].state == CORE_REJOIN_MARKING)
            core_rejoin_unmark(core, member);
        ask_for_handshake(core, member);
        return;
    }
    uint64_t generation = core->fleet.generation;
    if (reply->view)
        core_learn_view(core, i, reply->view);
    bool learnt = core->fleet.generation != generation;
    if (is_asking(&core->rejoins[member]) && (learnt || !reply->view))
        ask_anew(core, member);
    else if (is_asking(&core->rejoins[member]))
        go_on_without(core, member, i);
    else if (core->rejoins[member].state == CORE_REJOIN_IMPORTING)
        core_import_page_failed(core, member, i, reply);
}

/* As for answers to calls (fence/core.c): a master that lost its record has not recorded. */
static bool records_too_late(const struct fence_core *core, unsigned member)
{
    const struct core_rejoin *rejoin = &core->rejoins[member];
    return rejoin->state == CORE_REJOIN_RECORDING &&
           core->now_us > rejoin->asked_us + fence_fleet_answer_us(&core->fleet);
}

void core_rejoin_reply(struct fence_core *core, unsigned i, const struct fence_rejoin_reply *reply)
{
    unsigned member = reply->tag & REJOIN_INDEX_MASK;
    if (member >= core->fleet.n)
        return;
    if (reply->tag >> REJOIN_SERIAL_SHIFT != core->rejoins[member].serial)
        return; /* a reply of a round that is over */
    if (!fence_fleet_shows(&core->fleet, i, reply->writes) || records_too_late(core, member)) {
        lost(core, member, i, reply);
        return;
    }
    switch (reply->outcome) {
    case FENCE_REJOIN_DONE:
        done(core, member, i, reply);
        break;
    case FENCE_REJOIN_CHANGED:
        changed(core, member, i, reply);
        break;
    case FENCE_REJOIN_LOST:
    case FENCE_REJOIN_REFUSED:
        lost(core, member, i, reply);
        break;
    }
}

/* ---- masters that are back, and time --------------------------------------------------------- */

void core_rejoin_go_on(struct fence_core *core)
{
    /* Reading on may end a rejoin, and that may make masters active again. Each rejoin ends only
     * once. */
    for (unsigned round = 0; core->some_are_back && round <= core->fleet.n; round++) {
        core->some_are_back = false;
        for (unsigned member = 0; member < core->fleet.n; member++)
            if (core->rejoins[member].state == CORE_REJOIN_IMPORTING)
                core_import_go_on(core, member);
    }
}

static unsigned first_due(const struct fence_core *core)
{
    unsigned first = 0;
    for (unsigned i = 1; i < core->fleet.n; i++)
        if (core->rejoins[i].due_us < core->rejoins[first].due_us)
            first = i;
    return first;
}

uint64_t core_rejoin_deadline(const struct fence_core *core)
{
    return core->rejoins[first_due(core)].due_us;
}

void core_rejoin_tick(struct fence_core *core)
{
    unsigned member = first_due(core);
    switch (core->rejoins[member].state) {
    case CORE_REJOIN_IDLE:
        break;
    case CORE_REJOIN_DELAYED:
        core_rejoin_ask(core, member);
        break;
    case CORE_REJOIN_ASKING:
    case CORE_REJOIN_RECORDING:
        ask_without_the_silent(core, member);
        break;
    case CORE_REJOIN_IMPORTING:
        core_import_tick(core, member);
        break;
    case CORE_REJOIN_QUARANTINED:
        core_import_quarantine_tick(core, member);
        break;
    case CORE_REJOIN_MARKING:
    case CORE_REJOIN_CLEARING:
    case CORE_REJOIN_ADMITTING:
        core_rejoin_break_off(core, member, FENCE_REASON_SILENT);
        break;
    }
}
