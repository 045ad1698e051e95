/* Taking masters back: which requests each step of a rejoin sends, and what their replies lead to.
 */
#include "fence/core/rejoin.h"

#include "fence/base/mutant.h"
#include "fence/protocol/lease.h"

#include <string.h>

/* A request of the round under way, to be completed. */
struct fence_rejoin_request *fence_core_rejoin_send(struct fence_core *core, unsigned member,
                                                    enum fence_rejoin_step step, uint32_t masters)
{
    const struct fence_rejoin *rejoin = &core->rejoins[member];
    struct fence_effect *effect = fence_core_effect(core, FENCE_EFFECT_REJOIN);
    effect->masters = masters;
    effect->rejoin = (struct fence_rejoin_request){
        .step = step,
        .tag = rejoin->serial << REJOIN_SERIAL_SHIFT | member,
        .member = member,
        .incarnation = core->fleet.master[member].meant,
        .fleet_id = core->fleet.fleet_id,
        .ttl_max_ms = core->fleet.ttl_max_ms,
        .seen = &core->fleet.master[member].facts,
        .keeps = fence_fleet_keeps(&core->fleet, member),
        .steps = rejoin->steps,
        .view = &core->fleet.view,
    };
    return &effect->rejoin;
}

/* Back to the beginning, over a new handshake on the same connection. */
static void shake_again(struct fence_core *core, unsigned member)
{
    fence_rejoin_end(&core->rejoins[member]);
    fence_core_effect(core, FENCE_EFFECT_SHAKE)->masters = fence_core_bit(member);
}

void fence_core_rejoin_break_off(struct fence_core *core, unsigned member, enum fence_reason reason)
{
    fence_core_give_up(core, fence_core_bit(member), reason);
}

/* It cannot be taken back now. What is wrong with it stays on show until the next handshake. */
static void put_off(struct fence_core *core, unsigned member)
{
    fence_core_master(core, member)->state = FENCE_MASTER_REFUSED;
    fence_core_master(core, member)->back_us = 0;
    fence_core_rejoin_break_off(core, member, FENCE_REASON_CONNECTING);
}

/* Another leader is further with it. The next try comes after a while, lest two go on like this for
 * ever. */
static void yield_to_other(struct fence_core *core, unsigned member)
{
    core->rejoins[member].beaten = true;
    put_off(core, member);
}

/* ---- who is asked ---------------------------------------------------------------------------- */

/* A majority of others: the member is not of it. */
static unsigned quorum_of_others(const struct fence_core *core)
{
    bool one_fewer = FENCE_MUTANT(ONE_READ_FEWER) || FENCE_MUTANT(READ_ITSELF);
    return fence_majority(core->fleet.n) - one_fewer;
}

bool fence_core_rejoin_is_enough(const struct fence_core *core, uint32_t set)
{
    return (unsigned)__builtin_popcount(set) >= quorum_of_others(core);
}

static uint32_t active_others(const struct fence_core *core, unsigned member)
{
    return fence_fleet_active(&core->fleet) & ~fence_core_bit(member);
}

/* Has each of @others record under what it is named (fence_fleet), with @incarnation of @member; 0:
 * as that is. Most are named the same, which is @common. */
static void have_recorded(struct fence_core *core, unsigned member, uint32_t others,
                          const struct fence_view *common, int64_t incarnation)
{
    struct fence_rejoin *rejoin = &core->rejoins[member];
    uint32_t alike = 0;
    for (unsigned i = 0; i < core->fleet.n; i++) {
        if (!(others >> i & 1))
            continue;
        rejoin->named[i] = core->fleet.master[i].named;
        if (incarnation != 0)
            rejoin->named[i].incarnation[member] = incarnation;
        if (memcmp(&rejoin->named[i], common, sizeof(*common)) == 0)
            alike |= fence_core_bit(i);
        else
            fence_core_rejoin_send(core, member, FENCE_REJOIN_RECORD, fence_core_bit(i))->view =
                &rejoin->named[i];
    }
    if (alike != 0)
        fence_core_rejoin_send(core, member, FENCE_REJOIN_RECORD, alike)->view = common;
}

/* Asks them whether they would record, under the view as it is. */
static void ask(struct fence_core *core, unsigned member)
{
    uint32_t others = active_others(core, member);
    if (!fence_core_rejoin_is_enough(core, others) ||
        core->rejoins[member].rounds++ >= FENCE_REJOIN_ROUNDS_MAX) {
        put_off(core, member);
        return;
    }
    fence_rejoin_ask(&core->rejoins[member], FENCE_REJOIN_ASKING, others,
                     fence_core_patience_end_us(core));
    have_recorded(core, member, others, &core->fleet.view, 0);
}

void fence_core_rejoin_record(struct fence_core *core, unsigned member)
{
    struct fence_rejoin *rejoin = &core->rejoins[member];
    const struct fence_fleet *fleet = &core->fleet;
    uint32_t others = active_others(core, member);
    if (fleet->view.incarnation[member] > fleet->master[member].meant) {
        yield_to_other(core, member);
        return;
    }
    if (!fence_core_rejoin_is_enough(core, others) || rejoin->rounds++ >= FENCE_REJOIN_ROUNDS_MAX) {
        put_off(core, member);
        return;
    }
    rejoin->view = fleet->view;
    rejoin->view.incarnation[member] = fleet->master[member].meant;
    fence_rejoin_ask(rejoin, FENCE_REJOIN_RECORDING, others, fence_core_patience_end_us(core));
    have_recorded(core, member, others, &rejoin->view, fleet->master[member].meant);
}

/* ---- the member itself ----------------------------------------------------------------------- */

static int64_t higher(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The highest incarnation of @member that is known, be it only meant for it. Also by a try of this
 * server that the member forgot since: a record of that may still be on its way. */
static int64_t highest_incarnation(const struct fence_core *core, unsigned member)
{
    const struct fence_master *master = &core->fleet.master[member];
    int64_t highest = higher(fence_fleet_claimed(&core->fleet, member), master->meant);
    if (!master->facts.marked)
        return highest;
    return higher(highest, higher(master->facts.view.incarnation[member], master->facts.next));
}

static void mark(struct fence_core *core, unsigned member)
{
    struct fence_rejoin *rejoin = &core->rejoins[member];
    int64_t highest = highest_incarnation(core, member);
    int64_t next = highest <= FENCE_INCARNATION_MAX
                       ? fence_incarnation_next(highest, fence_core_random(core))
                       : highest;
    if (next > FENCE_INCARNATION_MAX) { /* nobody could read the markers that record it */
        put_off(core, member);
        return;
    }
    if (!FENCE_MUTANT(INCARNATION_REUSED) || highest != fence_core_master(core, member)->meant)
        fence_core_master(core, member)->meant = next;
    rejoin->steps = 0;
    fence_rejoin_enter(rejoin, FENCE_REJOIN_MARKING, fence_core_patience_end_us(core));
    fence_core_rejoin_send(core, member, FENCE_REJOIN_MARK, fence_core_bit(member));
}

static void clear_locks(struct fence_core *core, unsigned member, uint64_t cursor)
{
    fence_rejoin_enter(&core->rejoins[member], FENCE_REJOIN_CLEARING,
                       fence_core_patience_end_us(core));
    fence_core_rejoin_send(core, member, FENCE_REJOIN_CLEAR, fence_core_bit(member))->cursor =
        cursor;
    core->rejoins[member].steps++;
}

void fence_core_rejoin_admit(struct fence_core *core, unsigned member)
{
    struct fence_rejoin *rejoin = &core->rejoins[member];
    if (core->fleet.view.incarnation[member] != fence_core_master(core, member)->meant) {
        yield_to_other(core, member);
        return;
    }
    fence_rejoin_enter(rejoin, FENCE_REJOIN_ADMITTING, fence_core_patience_end_us(core));
    fence_core_rejoin_send(core, member, FENCE_REJOIN_ADMIT, fence_core_bit(member));
}

/* ---- replies --------------------------------------------------------------------------------- */

static bool is_asking(const struct fence_rejoin *rejoin)
{
    return rejoin->state == FENCE_REJOIN_ASKING || rejoin->state == FENCE_REJOIN_RECORDING;
}

static void ask_anew(struct fence_core *core, unsigned member)
{
    if (core->rejoins[member].state == FENCE_REJOIN_ASKING)
        ask(core, member);
    else
        fence_core_rejoin_record(core, member);
}

/* One alone knows of a higher incarnation than the member is to get: a leader that broke off, or
 * another that is further. The next mark is above that. */
static bool is_beaten(const struct fence_core *core, unsigned member)
{
    return core->rejoins[member].state == FENCE_REJOIN_RECORDING &&
           fence_fleet_claimed(&core->fleet, member) > core->fleet.master[member].meant;
}

/* Master @i neither does what was asked, nor will it. Others may be enough. */
static void go_on_without(struct fence_core *core, unsigned member, unsigned i)
{
    struct fence_rejoin *rejoin = &core->rejoins[member];
    rejoin->asked &= ~fence_core_bit(i);
    uint32_t may_answer = rejoin->answered | (rejoin->asked & fence_fleet_active(&core->fleet));
    if (fence_core_rejoin_is_enough(core, may_answer))
        return;
    if (is_beaten(core, member))
        yield_to_other(core, member);
    else
        ask_anew(core, member);
}

/* Nothing more comes from master @i, though it may be back by now. Of several that were asked, the
 * others may be enough. */
static void lost(struct fence_core *core, unsigned member, unsigned i,
                 const struct fence_rejoin_reply *reply)
{
    struct fence_rejoin *rejoin = &core->rejoins[member];
    if (i == member) {
        fence_core_rejoin_break_off(core, member, FENCE_REASON_UNREACHABLE);
    } else if (is_asking(rejoin)) {
        go_on_without(core, member, i);
    } else if (rejoin->state == FENCE_REJOIN_IMPORTING) {
        fence_core_import_page_failed(core, member, i, reply);
    }
}

/* The locks of the member are gone. */
static void cleared(struct fence_core *core, unsigned member)
{
    if (FENCE_MUTANT(READ_BEFORE_RECORD)) {
        struct fence_rejoin *rejoin = &core->rejoins[member];
        rejoin->view = core->fleet.view;
        rejoin->answered = active_others(core, member);
        fence_core_import_begin(core, member);
        return;
    }
    fence_core_rejoin_record(core, member);
}

static void answered(struct fence_core *core, unsigned member, unsigned i)
{
    struct fence_rejoin *rejoin = &core->rejoins[member];
    if (rejoin->state == FENCE_REJOIN_RECORDING)
        fence_core_learn_view(core, i, &rejoin->view); /* which holds for it from here on */
    rejoin->answered |= fence_core_bit(i);
    if (!fence_core_rejoin_is_enough(core, rejoin->answered))
        return;
    if (rejoin->state == FENCE_REJOIN_ASKING)
        mark(core, member);
    else if (FENCE_MUTANT(READ_BEFORE_RECORD))
        fence_core_rejoin_admit(core, member);
    else
        fence_core_import_begin(core, member);
}

/* Those that did not answer in time are silent, though they may have owed nothing else. */
static void ask_without_the_silent(struct fence_core *core, unsigned member)
{
    const struct fence_rejoin *rejoin = &core->rejoins[member];
    uint32_t silent = rejoin->asked & ~rejoin->answered & fence_fleet_active(&core->fleet);
    fence_core_give_up(core, silent, FENCE_REASON_SILENT);
    ask_anew(core, member);
}

static void done(struct fence_core *core, unsigned member, unsigned i,
                 const struct fence_rejoin_reply *reply)
{
    struct fence_rejoin *rejoin = &core->rejoins[member];
    switch (rejoin->state) {
    case FENCE_REJOIN_ASKING:
    case FENCE_REJOIN_RECORDING:
        answered(core, member, i);
        break;
    case FENCE_REJOIN_MARKING:
        clear_locks(core, member, 0);
        break;
    case FENCE_REJOIN_CLEARING:
        if (reply->cursor == 0)
            cleared(core, member);
        else
            clear_locks(core, member, reply->cursor);
        break;
    case FENCE_REJOIN_IMPORTING:
    case FENCE_REJOIN_HOLDING:
        if (i == member)
            fence_core_import_page_merged(core, member, reply->tag);
        else if (rejoin->state == FENCE_REJOIN_IMPORTING)
            fence_core_import_page_came(core, member, i, reply);
        break;
    case FENCE_REJOIN_ADMITTING:
        rejoin->beaten = false;
        rejoin->stuck = 0;
        shake_again(core, member);
        break;
    default:
        break;
    }
}

/* Rule off: those that recorded under the view before stay so. */
static void record_under_another_view(struct fence_core *core, unsigned member, unsigned i)
{
    struct fence_rejoin *rejoin = &core->rejoins[member];
    rejoin->view = core->fleet.view;
    rejoin->view.incarnation[member] = core->fleet.master[member].meant;
    fence_core_rejoin_send(core, member, FENCE_REJOIN_RECORD,
                           fence_core_bit(i) & fence_fleet_active(&core->fleet))
        ->view = &rejoin->view;
}

/* The one that was asked knows more than this server, or its marker is not what it was. */
static void changed(struct fence_core *core, unsigned member, unsigned i,
                    const struct fence_rejoin_reply *reply)
{
    if (i == member) {
        shake_again(core, member);
        return;
    }
    uint64_t generation = core->fleet.generation;
    if (reply->view)
        fence_core_learn_view(core, i, reply->view);
    if (FENCE_MUTANT(RECORDED_UNDER_TWO_VIEWS) &&
        core->rejoins[member].state == FENCE_REJOIN_RECORDING) {
        record_under_another_view(core, member, i);
        return;
    }
    bool learnt = core->fleet.generation != generation;
    if (is_asking(&core->rejoins[member]) && (learnt || !reply->view))
        ask_anew(core, member);
    else if (is_asking(&core->rejoins[member]))
        go_on_without(core, member, i);
    else if (core->rejoins[member].state == FENCE_REJOIN_IMPORTING)
        fence_core_import_page_failed(core, member, i, reply);
}

void fence_core_rejoin_reply(struct fence_core *core, unsigned i,
                             const struct fence_rejoin_reply *reply)
{
    unsigned member = reply->tag & REJOIN_INDEX_MASK;
    if (member >= core->fleet.n)
        return;
    if (reply->tag >> REJOIN_SERIAL_SHIFT != core->rejoins[member].serial)
        return; /* of a round that is over */
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

/* ---- beginning, and time --------------------------------------------------------------------- */

void fence_core_rejoin_begin(struct fence_core *core, unsigned member)
{
    struct fence_rejoin *rejoin = &core->rejoins[member];
    uint64_t spread_us = rejoin->beaten ? FENCE_REJOIN_BEATEN_US : FENCE_REJOIN_DELAY_US;
    fence_rejoin_begin(rejoin, core->now_us + fence_core_random(core) % spread_us);
    fence_core_master(core, member)->back_us = 0;
}

static unsigned first_due(const struct fence_core *core)
{
    unsigned first = 0;
    for (unsigned i = 1; i < core->fleet.n; i++)
        if (core->rejoins[i].due_us < core->rejoins[first].due_us)
            first = i;
    return first;
}

uint64_t fence_core_rejoin_deadline(const struct fence_core *core)
{
    return core->rejoins[first_due(core)].due_us;
}

void fence_core_rejoin_tick(struct fence_core *core)
{
    unsigned member = first_due(core);
    switch (core->rejoins[member].state) {
    case FENCE_REJOIN_IDLE:
        break;
    case FENCE_REJOIN_DELAYED:
        ask(core, member);
        break;
    case FENCE_REJOIN_ASKING:
    case FENCE_REJOIN_RECORDING:
        ask_without_the_silent(core, member);
        break;
    case FENCE_REJOIN_IMPORTING:
        fence_core_import_tick(core, member);
        break;
    case FENCE_REJOIN_HOLDING:
        fence_core_import_hold_tick(core, member);
        break;
    case FENCE_REJOIN_MARKING:
    case FENCE_REJOIN_CLEARING:
    case FENCE_REJOIN_ADMITTING:
        fence_core_rejoin_break_off(core, member, FENCE_REASON_SILENT);
        break;
    }
}
