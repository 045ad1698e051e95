/* Taking masters back: which requests each step of a rejoin sends, and what their replies lead to.
 */
#include "fence/core_state.h"
#include "fence/lease.h"
#include "fence/mutant.h"

#include <assert.h>

/* The tag of a rejoin's requests: whose it is below, which round of it above. */
enum {
    REJOIN_MEMBER_BITS = 8,
};
static_assert(FENCE_MASTERS_MAX < 1 << REJOIN_MEMBER_BITS, "a member must fit its bits");

static uint32_t bit(unsigned i)
{
    return UINT32_C(1) << i;
}

static void send_from(struct fence_core *core, unsigned member, enum fence_rejoin_step step,
                      uint32_t masters, uint64_t cursor)
{
    const struct fence_rejoin *rejoin = &core->rejoins[member];
    bool records = rejoin->state == FENCE_REJOIN_RECORDING;
    struct fence_effect *effect = fence_core_effect(core, FENCE_EFFECT_REJOIN);
    effect->masters = masters;
    effect->rejoin = (struct fence_rejoin_request){
        .step = step,
        .tag = rejoin->serial << REJOIN_MEMBER_BITS | member,
        .member = member,
        .nonce = rejoin->nonce,
        .keep_locks = rejoin->keep_locks,
        .fleet_id = core->fleet.fleet_id,
        .ttl_max_ms = core->fleet.ttl_max_ms,
        .seen = &core->fleet.master[member].facts,
        .wiped = rejoin->wiped,
        .cursor = cursor,
        .incarnation = rejoin->incarnation,
        .view = records ? &rejoin->view : &core->fleet.view,
        .counters = &rejoin->counters,
    };
}

static void send(struct fence_core *core, unsigned member, enum fence_rejoin_step step,
                 uint32_t masters)
{
    send_from(core, member, step, masters, 0);
}

static uint64_t patience_end_us(const struct fence_core *core)
{
    return core->now_us + FENCE_REJOIN_PATIENCE_US;
}

/* Back to the beginning, over a new handshake: on the same connection, or on another. */
static void look_again(struct fence_core *core, unsigned member)
{
    fence_rejoin_end(&core->rejoins[member]);
    fence_core_effect(core, FENCE_EFFECT_SHAKE)->masters = bit(member);
}

static void break_off(struct fence_core *core, unsigned member, enum fence_reason reason)
{
    fence_core_give_up(core, bit(member), reason);
}

/* It cannot be taken back now. What is wrong with it stays on show until the next look. */
static void put_off(struct fence_core *core, unsigned member)
{
    core->fleet.master[member].state = FENCE_MASTER_REFUSED;
    core->fleet.master[member].back_us = 0;
    break_off(core, member, FENCE_REASON_CONNECTING);
}

/* Another server takes the member back, or another machine as the member: over a new connection,
 * and after a while, lest two go on like this for ever. */
static void yield_to_other(struct fence_core *core, unsigned member)
{
    core->rejoins[member].beaten = true;
    put_off(core, member);
}

/* ---- the steps ------------------------------------------------------------------------------- */

static void show_when_back(struct fence_core *core, unsigned member, uint64_t from_us)
{
    const struct fence_rejoin *rejoin = &core->rejoins[member];
    uint64_t hold_us = rejoin->keep_locks ? 0 : fence_hold_us(core->fleet.ttl_max_ms);
    core->fleet.master[member].back_us = from_us + hold_us;
}

static int64_t higher(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The highest incarnation of @member that is known, be it only meant for it. Also by a try of this
 * server that the member forgot since: to record that may still be on its way, and would make a
 * lower one look replaced. */
static int64_t highest_incarnation(const struct fence_core *core, unsigned member)
{
    const struct fence_facts *facts = &core->fleet.master[member].facts;
    int64_t highest =
        higher(core->fleet.view.incarnation[member], core->rejoins[member].incarnation);
    if (!facts->marked)
        return highest;
    return higher(highest, higher(facts->view.incarnation[member], facts->next));
}

/* Whether another machine was admitted as the member since this one was judged: the locks that it
 * kept are not all, then. */
static bool is_replaced(const struct fence_core *core, unsigned member)
{
    int64_t own = core->fleet.master[member].facts.view.incarnation[member];
    int64_t known = core->fleet.view.incarnation[member];
    return core->rejoins[member].keep_locks && known > own &&
           !fence_incarnation_same_machine(known, own);
}

/* The same, or another leader is further with it. */
static bool is_outdone(const struct fence_core *core, unsigned member)
{
    return is_replaced(core, member) ||
           core->fleet.view.incarnation[member] > core->rejoins[member].incarnation;
}

/* What a machine is to be that keeps its locks; 0: it has come back too often. */
static int64_t next_turn(const struct fence_core *core, unsigned member)
{
    int64_t own = core->fleet.master[member].facts.view.incarnation[member];
    return fence_incarnation_back(higher(own, core->fleet.view.incarnation[member]));
}

/* 0: nothing can follow. */
static int64_t choose_incarnation(struct fence_core *core, unsigned member)
{
    struct fence_rejoin *rejoin = &core->rejoins[member];
    int64_t turn = rejoin->keep_locks ? next_turn(core, member) : 0;
    int64_t highest = highest_incarnation(core, member);
    rejoin->keep_locks = turn != 0;
    if (turn != 0)
        return turn;
    return highest <= FENCE_INCARNATION_MAX
               ? fence_incarnation_next(highest, fence_core_random(core))
               : 0;
}

static void claim(struct fence_core *core, unsigned member)
{
    struct fence_rejoin *rejoin = &core->rejoins[member];
    int64_t incarnation = is_replaced(core, member) ? 0 : choose_incarnation(core, member);
    if (incarnation == 0) {
        put_off(core, member);
        return;
    }
    rejoin->incarnation = incarnation;
    rejoin->nonce = (uint64_t)core->fleet.leader << 32 | (uint32_t)fence_core_random(core);
    fence_rejoin_enter(rejoin, FENCE_REJOIN_CLAIMING, patience_end_us(core));
    send(core, member, FENCE_REJOIN_CLAIM, bit(member));
}

static void wipe(struct fence_core *core, unsigned member)
{
    struct fence_rejoin *rejoin = &core->rejoins[member];
    fence_rejoin_enter(rejoin, FENCE_REJOIN_WIPING, patience_end_us(core));
    send_from(core, member, FENCE_REJOIN_WIPE, bit(member), rejoin->cursor);
}

/* A majority must be read, and the one that forgot is not of it. */
static unsigned to_be_read(const struct fence_core *core)
{
    bool one_fewer = FENCE_MUTANT(ONE_READ_FEWER) || FENCE_MUTANT(READ_ITSELF);
    return fence_majority(core->fleet.n) - one_fewer;
}

static bool enough(const struct fence_core *core, uint32_t set)
{
    return (unsigned)__builtin_popcount(set) >= to_be_read(core);
}

static void record(struct fence_core *core, unsigned member)
{
    struct fence_rejoin *rejoin = &core->rejoins[member];
    uint32_t others = rejoin->asked & fence_fleet_active(&core->fleet);
    if (is_outdone(core, member)) {
        yield_to_other(core, member);
        return;
    }
    fence_rejoin_record(rejoin, member, &core->fleet.view, others, patience_end_us(core));
    send(core, member, FENCE_REJOIN_RECORD, others);
}

/* Asks the others whether they would record, under the view as it is. */
static void ask(struct fence_core *core, unsigned member)
{
    struct fence_rejoin *rejoin = &core->rejoins[member];
    const struct fence_fleet *fleet = &core->fleet;
    uint32_t others = fence_fleet_active(fleet) & ~bit(member);
    if (is_outdone(core, member)) {
        yield_to_other(core, member);
        return;
    }
    if (!enough(core, others) || rejoin->rounds >= FENCE_REJOIN_ROUNDS_MAX) {
        put_off(core, member);
        return;
    }
    fence_rejoin_ask(rejoin, others, patience_end_us(core));
    send(core, member, FENCE_REJOIN_RECORD, others);
}

static void admit(struct fence_core *core, unsigned member)
{
    struct fence_rejoin *rejoin = &core->rejoins[member];
    if (core->fleet.view.incarnation[member] != rejoin->incarnation) {
        yield_to_other(core, member);
        return;
    }
    fence_rejoin_enter(rejoin, FENCE_REJOIN_ADMITTING, patience_end_us(core));
    send(core, member, FENCE_REJOIN_ADMIT, bit(member));
}

static void hold(struct fence_core *core, unsigned member)
{
    uint64_t hold_us = FENCE_MUTANT(NO_WAIT) ? 0 : fence_hold_us(core->fleet.ttl_max_ms);
    uint64_t due_us = core->now_us + hold_us;
    show_when_back(core, member, core->now_us);
    fence_rejoin_enter(&core->rejoins[member], FENCE_REJOIN_HOLDING, due_us);
}

/* ---- replies --------------------------------------------------------------------------------- */

static bool is_with_others(const struct fence_rejoin *rejoin)
{
    return rejoin->state == FENCE_REJOIN_ASKING || rejoin->state == FENCE_REJOIN_RECORDING;
}

/* Nothing more comes from master @i, though it may be back by now. Of several that were asked, the
 * others may be enough. */
static void lost(struct fence_core *core, unsigned member, unsigned i)
{
    struct fence_rejoin *rejoin = &core->rejoins[member];
    rejoin->asked &= ~bit(i);
    uint32_t may_answer = rejoin->read | (rejoin->asked & fence_fleet_active(&core->fleet));
    if (!is_with_others(rejoin))
        break_off(core, member, FENCE_REASON_UNREACHABLE);
    else if (!enough(core, may_answer))
        ask(core, member);
}

static void recorded(struct fence_core *core, unsigned member, unsigned i,
                     const struct fence_rejoin_reply *reply)
{
    struct fence_rejoin *rejoin = &core->rejoins[member];
    fence_core_learn_view(core, i, &rejoin->view); /* which holds for it from here on */
    fence_rejoin_add(rejoin, reply->counters);
    rejoin->due_us = patience_end_us(core);
    if (reply->cursor != 0 && !(fence_fleet_active(&core->fleet) & bit(i))) {
        lost(core, member, i); /* by now it is taken back itself, and can be asked nothing more */
        return;
    }
    if (reply->cursor != 0) {
        send_from(core, member, FENCE_REJOIN_RECORD, bit(i), reply->cursor);
        return;
    }
    rejoin->read |= bit(i);
    if (!enough(core, rejoin->read))
        return;
    if (rejoin->keep_locks)
        admit(core, member);
    else
        hold(core, member);
}

static void answered(struct fence_core *core, unsigned member, unsigned i)
{
    struct fence_rejoin *rejoin = &core->rejoins[member];
    rejoin->read |= bit(i);
    if (enough(core, rejoin->read))
        record(core, member);
}

/* Those that did not answer in time are silent, though they may have owed nothing else. */
static void ask_without_the_silent(struct fence_core *core, unsigned member)
{
    const struct fence_rejoin *rejoin = &core->rejoins[member];
    uint32_t silent = rejoin->asked & ~rejoin->read & fence_fleet_active(&core->fleet);
    fence_core_give_up(core, silent, FENCE_REASON_SILENT);
    ask(core, member);
}

static void done(struct fence_core *core, unsigned member, unsigned i,
                 const struct fence_rejoin_reply *reply)
{
    struct fence_rejoin *rejoin = &core->rejoins[member];
    switch (rejoin->state) {
    case FENCE_REJOIN_CLAIMING:
        if (rejoin->keep_locks)
            ask(core, member);
        else
            wipe(core, member);
        break;
    case FENCE_REJOIN_WIPING:
        rejoin->cursor = reply->cursor;
        rejoin->wiped++;
        if (rejoin->cursor == 0)
            ask(core, member);
        else
            wipe(core, member);
        break;
    case FENCE_REJOIN_ASKING:
        answered(core, member, i);
        break;
    case FENCE_REJOIN_RECORDING:
        recorded(core, member, i, reply);
        break;
    case FENCE_REJOIN_ADMITTING:
        rejoin->beaten = false;
        look_again(core, member);
        break;
    default:
        break;
    }
}

/* Rule off: those that were read under the view before stay read. */
static void go_on_under_another_view(struct fence_core *core, unsigned member)
{
    struct fence_rejoin *rejoin = &core->rejoins[member];
    rejoin->rounds++;
    rejoin->view = core->fleet.view;
    rejoin->view.incarnation[member] = rejoin->incarnation;
    send(core, member, FENCE_REJOIN_RECORD,
         rejoin->asked & fence_fleet_active(&core->fleet) & ~rejoin->read);
}

/* The one that was to record knows more than this server, or the marker is not what it was. */
static void changed(struct fence_core *core, unsigned member, unsigned i,
                    const struct fence_rejoin_reply *reply)
{
    const struct fence_rejoin *rejoin = &core->rejoins[member];
    if (!is_with_others(rejoin)) {
        look_again(core, member);
        return;
    }
    if (reply->view)
        fence_core_learn_view(core, i, reply->view);
    if (FENCE_MUTANT(READ_UNDER_TWO_VIEWS) && rejoin->state == FENCE_REJOIN_RECORDING &&
        rejoin->rounds < FENCE_REJOIN_ROUNDS_MAX)
        go_on_under_another_view(core, member);
    else
        ask(core, member);
}

void fence_core_rejoin_reply(struct fence_core *core, unsigned i,
                             const struct fence_rejoin_reply *reply)
{
    unsigned member = reply->tag & ((1U << REJOIN_MEMBER_BITS) - 1);
    if (member >= core->fleet.n)
        return;
    const struct fence_rejoin *rejoin = &core->rejoins[member];
    if (reply->tag >> REJOIN_MEMBER_BITS != rejoin->serial)
        return; /* of a round that is over */
    switch (reply->outcome) {
    case FENCE_REJOIN_DONE:
        done(core, member, i, reply);
        break;
    case FENCE_REJOIN_CHANGED:
        changed(core, member, i, reply);
        break;
    case FENCE_REJOIN_LOST:
        lost(core, member, i);
        break;
    }
}

/* ---- beginning, and time --------------------------------------------------------------------- */

void fence_core_rejoin_begin(struct fence_core *core, unsigned member)
{
    struct fence_rejoin *rejoin = &core->rejoins[member];
    bool keep_locks = core->fleet.master[member].reason == FENCE_REASON_RESTARTED;
    uint64_t spread_us =
        rejoin->beaten ? fence_hold_us(core->fleet.ttl_max_ms) : FENCE_REJOIN_DELAY_US;
    uint64_t delay_us = fence_core_random(core) % spread_us;
    fence_rejoin_begin(rejoin, keep_locks, core->now_us + delay_us);
    show_when_back(core, member, core->now_us + delay_us);
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
    struct fence_rejoin *rejoin = &core->rejoins[member];
    switch (rejoin->state) {
    case FENCE_REJOIN_IDLE:
        break;
    case FENCE_REJOIN_DELAYED:
        claim(core, member);
        break;
    case FENCE_REJOIN_ASKING:
    case FENCE_REJOIN_RECORDING:
        ask_without_the_silent(core, member);
        break;
    case FENCE_REJOIN_HOLDING:
        admit(core, member);
        break;
    case FENCE_REJOIN_CLAIMING:
    case FENCE_REJOIN_WIPING:
    case FENCE_REJOIN_ADMITTING:
        break_off(core, member, FENCE_REASON_SILENT);
        break;
    }
}
