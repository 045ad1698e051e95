/* Taking masters back: which requests each step of a rejoin sends, and what their replies lead to.
 */
#include "fence/core_state.h"
#include "fence/lease.h"
#include "fence/mutant.h"

#include <assert.h>

/* The tag of a rejoin's requests: whose it is below, then the source and the part of a page that is
 * merged, and above them which round of it. */
enum {
    REJOIN_INDEX_BITS = 5,
    REJOIN_SOURCE_SHIFT = REJOIN_INDEX_BITS,
    REJOIN_PART_SHIFT = 2 * REJOIN_INDEX_BITS,
    REJOIN_SERIAL_SHIFT = 3 * REJOIN_INDEX_BITS,
    REJOIN_INDEX_MASK = (1 << REJOIN_INDEX_BITS) - 1,
};
static_assert((int)FENCE_MASTERS_MAX <= (int)REJOIN_INDEX_MASK, "a member must fit its bits");

static uint32_t bit(unsigned i)
{
    return UINT32_C(1) << i;
}

static unsigned size(uint32_t set)
{
    return (unsigned)__builtin_popcount(set);
}

static struct fence_master *master_of(struct fence_core *core, unsigned member)
{
    return &core->fleet.master[member];
}

/* A request of the round under way, to be completed. */
static struct fence_rejoin_request *send(struct fence_core *core, unsigned member,
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

static uint64_t patience_end_us(const struct fence_core *core)
{
    return core->now_us + FENCE_REJOIN_PATIENCE_US;
}

/* Back to the beginning, over a new handshake on the same connection. */
static void shake_again(struct fence_core *core, unsigned member)
{
    fence_rejoin_end(&core->rejoins[member]);
    fence_core_effect(core, FENCE_EFFECT_SHAKE)->masters = bit(member);
}

static void break_off(struct fence_core *core, unsigned member, enum fence_reason reason)
{
    fence_core_give_up(core, bit(member), reason);
}

/* It cannot be taken back now. What is wrong with it stays on show until the next handshake. */
static void put_off(struct fence_core *core, unsigned member)
{
    master_of(core, member)->state = FENCE_MASTER_REFUSED;
    master_of(core, member)->back_us = 0;
    break_off(core, member, FENCE_REASON_CONNECTING);
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

static bool is_enough(const struct fence_core *core, uint32_t set)
{
    return size(set) >= quorum_of_others(core);
}

static uint32_t active_others(const struct fence_core *core, unsigned member)
{
    return fence_fleet_active(&core->fleet) & ~bit(member);
}

/* Asks them whether they would record, under the view as it is. */
static void ask(struct fence_core *core, unsigned member)
{
    uint32_t others = active_others(core, member);
    if (!is_enough(core, others) || core->rejoins[member].rounds++ >= FENCE_REJOIN_ROUNDS_MAX) {
        put_off(core, member);
        return;
    }
    fence_rejoin_ask(&core->rejoins[member], FENCE_REJOIN_ASKING, others, patience_end_us(core));
    send(core, member, FENCE_REJOIN_RECORD, others);
}

static void record(struct fence_core *core, unsigned member)
{
    struct fence_rejoin *rejoin = &core->rejoins[member];
    const struct fence_fleet *fleet = &core->fleet;
    uint32_t others = active_others(core, member);
    if (fleet->view.incarnation[member] > fleet->master[member].meant) {
        yield_to_other(core, member);
        return;
    }
    if (!is_enough(core, others) || rejoin->rounds++ >= FENCE_REJOIN_ROUNDS_MAX) {
        put_off(core, member);
        return;
    }
    rejoin->view = fleet->view;
    rejoin->view.incarnation[member] = fleet->master[member].meant;
    fence_rejoin_ask(rejoin, FENCE_REJOIN_RECORDING, others, patience_end_us(core));
    send(core, member, FENCE_REJOIN_RECORD, others)->view = &rejoin->view;
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
    int64_t highest = higher(core->fleet.view.incarnation[member], master->meant);
    if (!master->facts.marked)
        return highest;
    return higher(highest, higher(master->facts.view.incarnation[member], master->facts.next));
}

static void mark(struct fence_core *core, unsigned member)
{
    struct fence_rejoin *rejoin = &core->rejoins[member];
    int64_t highest = highest_incarnation(core, member);
    if (highest > FENCE_INCARNATION_MAX) {
        put_off(core, member);
        return;
    }
    if (!FENCE_MUTANT(INCARNATION_REUSED) || highest != master_of(core, member)->meant)
        master_of(core, member)->meant = fence_incarnation_next(highest, fence_core_random(core));
    rejoin->steps = 0;
    fence_rejoin_enter(rejoin, FENCE_REJOIN_MARKING, patience_end_us(core));
    send(core, member, FENCE_REJOIN_MARK, bit(member));
}

static void clear_locks(struct fence_core *core, unsigned member, uint64_t cursor)
{
    fence_rejoin_enter(&core->rejoins[member], FENCE_REJOIN_CLEARING, patience_end_us(core));
    send(core, member, FENCE_REJOIN_CLEAR, bit(member))->cursor = cursor;
}

static void admit(struct fence_core *core, unsigned member)
{
    struct fence_rejoin *rejoin = &core->rejoins[member];
    if (core->fleet.view.incarnation[member] != master_of(core, member)->meant) {
        yield_to_other(core, member);
        return;
    }
    fence_rejoin_enter(rejoin, FENCE_REJOIN_ADMITTING, patience_end_us(core));
    send(core, member, FENCE_REJOIN_ADMIT, bit(member));
}

/* ---- the import ------------------------------------------------------------------------------ */

static void read_page(struct fence_core *core, unsigned member, unsigned i)
{
    struct fence_rejoin *rejoin = &core->rejoins[member];
    struct fence_source *source = &rejoin->source[i];
    struct fence_rejoin_request *request = send(core, member, FENCE_REJOIN_READ, bit(i));
    request->part = source->part;
    request->cursor = source->cursor;
    request->view = &rejoin->view;
    source->reading = true;
}

static void merge_page(struct fence_core *core, unsigned member, unsigned i,
                       enum fence_rejoin_part part, const struct fence_page *page)
{
    struct fence_rejoin_request *request = send(core, member, FENCE_REJOIN_INSTALL, bit(member));
    request->tag |= (uint64_t)part << REJOIN_PART_SHIFT | (uint64_t)i << REJOIN_SOURCE_SHIFT;
    request->source = i;
    request->page = page;
    core->rejoins[member].sign_us = core->now_us;
    core->rejoins[member].source[i].merging[part]++;
}

/* Pages without a lock are not merged. Where there are many, others would take the leader for dead.
 */
static bool is_sign_due(const struct fence_core *core, unsigned member)
{
    return core->now_us >= core->rejoins[member].sign_us + FENCE_REJOIN_ALIVE_US;
}

/* From the first q that recorded. */
static void import(struct fence_core *core, unsigned member)
{
    struct fence_rejoin *rejoin = &core->rejoins[member];
    uint32_t sources = rejoin->answered & fence_fleet_active(&core->fleet);
    if (!is_enough(core, sources)) {
        record(core, member);
        return;
    }
    rejoin->recorded_us = core->now_us;
    rejoin->sign_us = core->now_us;
    fence_rejoin_import(rejoin, sources, patience_end_us(core));
    for (unsigned i = 0; i < core->fleet.n; i++)
        if (sources >> i & 1)
            read_page(core, member, i);
}

static uint64_t hold_end_us(const struct fence_core *core, unsigned member)
{
    return core->rejoins[member].recorded_us + fence_hold_us(core->fleet.ttl_max_ms);
}

/* The longest lease runs out that the member may have voted for before. Meanwhile others see that
 * its leader lives. */
static void hold(struct fence_core *core, unsigned member)
{
    static const struct fence_page nothing = {.bytes = "", .len = 0};
    struct fence_rejoin *rejoin = &core->rejoins[member];
    uint64_t end_us = hold_end_us(core, member);
    if (core->now_us >= end_us || FENCE_MUTANT(NO_WAIT)) {
        admit(core, member);
        return;
    }
    uint64_t alive_us = core->now_us + FENCE_REJOIN_ALIVE_US;
    rejoin->due_us = alive_us < end_us ? alive_us : end_us;
    merge_page(core, member, member, FENCE_REJOIN_COUNTERS, &nothing);
}

static void begin_hold(struct fence_core *core, unsigned member)
{
    struct fence_rejoin *rejoin = &core->rejoins[member];
    fence_rejoin_hold(rejoin, core->now_us);
    master_of(core, member)->back_us = hold_end_us(core, member);
    hold(core, member);
}

/* A sign of life is due, or the hold is over. The admission goes out behind a sign that is on its
 * way.
 */
static void hold_on(struct fence_core *core, unsigned member)
{
    const struct fence_rejoin *rejoin = &core->rejoins[member];
    if (fence_rejoin_merging(&rejoin->source[member]) > 0 &&
        core->now_us < hold_end_us(core, member))
        break_off(core, member, FENCE_REASON_SILENT);
    else
        hold(core, member);
}

/* Whether enough sources have given @part of their state, or still can. */
static bool may_import(const struct fence_core *core, unsigned member, enum fence_rejoin_part part)
{
    const struct fence_rejoin *rejoin = &core->rejoins[member];
    uint32_t set = fence_rejoin_imported(rejoin, part);
    for (unsigned i = 0; i < core->fleet.n; i++)
        if ((rejoin->sources >> i & 1) && !rejoin->source[i].broken)
            set |= bit(i) & fence_fleet_active(&core->fleet);
    return is_enough(core, set);
}

/* The locks will not come from enough sources. If that happens again and again, and the counters
 * are there, the locks are waited out. */
static void import_failed(struct fence_core *core, unsigned member)
{
    struct fence_rejoin *rejoin = &core->rejoins[member];
    bool has_counters = is_enough(core, fence_rejoin_imported(rejoin, FENCE_REJOIN_COUNTERS));
    if (has_counters && ++rejoin->stuck >= FENCE_REJOIN_STUCK_MAX)
        begin_hold(core, member);
    else if (has_counters || !may_import(core, member, FENCE_REJOIN_COUNTERS))
        record(core, member);
}

/* A page of source @i did not come. The others may be enough. */
static void source_failed(struct fence_core *core, unsigned member, unsigned i)
{
    core->rejoins[member].source[i].broken = true;
    if (!may_import(core, member, FENCE_REJOIN_LOCKS))
        import_failed(core, member);
}

static void go_on_if_imported(struct fence_core *core, unsigned member)
{
    const struct fence_rejoin *rejoin = &core->rejoins[member];
    if (!is_enough(core, fence_rejoin_imported(rejoin, FENCE_REJOIN_LOCKS))) {
        if (!may_import(core, member, FENCE_REJOIN_LOCKS))
            import_failed(core, member);
        return;
    }
    if (FENCE_MUTANT(READ_BEFORE_RECORD))
        record(core, member);
    else
        admit(core, member);
}

static bool may_read(const struct fence_source *source)
{
    return source->part < FENCE_REJOIN_PARTS && !source->reading &&
           fence_rejoin_merging(source) < FENCE_REJOIN_MERGING_MAX;
}

/* Whether the rest of a source cannot be read: its connection ended, or it may not vote any more.
 */
static bool is_cut_off(const struct fence_core *core, unsigned member, unsigned i)
{
    const struct fence_source *source = &core->rejoins[member].source[i];
    bool active = fence_fleet_active(&core->fleet) >> i & 1;
    return source->part < FENCE_REJOIN_PARTS && (source->broken || !active);
}

static void page_came(struct fence_core *core, unsigned member, unsigned i,
                      const struct fence_rejoin_reply *reply)
{
    struct fence_rejoin *rejoin = &core->rejoins[member];
    struct fence_source *source = &rejoin->source[i];
    if (!source->reading)
        return; /* it was asked for none */
    source->reading = false;
    if (is_cut_off(core, member, i)) {
        source_failed(core, member, i);
        return;
    }
    rejoin->due_us = patience_end_us(core);
    if (reply->page.len > 0 || is_sign_due(core, member))
        merge_page(core, member, i, source->part, &reply->page);
    source->cursor = reply->cursor;
    if (reply->cursor == 0)
        source->part++;
    if (may_read(source))
        read_page(core, member, i);
    go_on_if_imported(core, member);
}

static void page_merged(struct fence_core *core, unsigned member, uint64_t tag)
{
    struct fence_rejoin *rejoin = &core->rejoins[member];
    unsigned i = tag >> REJOIN_SOURCE_SHIFT & REJOIN_INDEX_MASK;
    unsigned part = tag >> REJOIN_PART_SHIFT & REJOIN_INDEX_MASK;
    if (i >= core->fleet.n || part >= FENCE_REJOIN_PARTS || rejoin->source[i].merging[part] == 0)
        return; /* it was sent none */
    struct fence_source *source = &rejoin->source[i];
    source->merging[part]--;
    rejoin->steps++;
    if (rejoin->state == FENCE_REJOIN_HOLDING)
        return;
    rejoin->due_us = patience_end_us(core);
    if (is_cut_off(core, member, i)) {
        source_failed(core, member, i);
        return;
    }
    if (may_read(source))
        read_page(core, member, i);
    go_on_if_imported(core, member);
}

void fence_core_rejoin_source_lost(struct fence_core *core, unsigned i)
{
    for (unsigned member = 0; member < core->fleet.n; member++) {
        struct fence_rejoin *rejoin = &core->rejoins[member];
        if (rejoin->state == FENCE_REJOIN_IMPORTING && (rejoin->sources >> i & 1))
            rejoin->source[i].broken = rejoin->source[i].part < FENCE_REJOIN_PARTS;
    }
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
        record(core, member);
}

/* Nothing more comes from master @i, though it may be back by now. Of several that were asked, the
 * others may be enough. */
static void lost(struct fence_core *core, unsigned member, unsigned i)
{
    struct fence_rejoin *rejoin = &core->rejoins[member];
    if (i == member) {
        break_off(core, member, FENCE_REASON_UNREACHABLE);
    } else if (is_asking(rejoin)) {
        rejoin->asked &= ~bit(i);
        uint32_t may_answer = rejoin->answered | (rejoin->asked & fence_fleet_active(&core->fleet));
        if (!is_enough(core, may_answer))
            ask_anew(core, member);
    } else if (rejoin->state == FENCE_REJOIN_IMPORTING) {
        source_failed(core, member, i);
    }
}

/* The locks of the member are gone. */
static void cleared(struct fence_core *core, unsigned member)
{
    if (FENCE_MUTANT(READ_BEFORE_RECORD)) {
        struct fence_rejoin *rejoin = &core->rejoins[member];
        rejoin->view = core->fleet.view;
        rejoin->answered = active_others(core, member);
        import(core, member);
        return;
    }
    record(core, member);
}

static void answered(struct fence_core *core, unsigned member, unsigned i)
{
    struct fence_rejoin *rejoin = &core->rejoins[member];
    if (rejoin->state == FENCE_REJOIN_RECORDING)
        fence_core_learn_view(core, i, &rejoin->view); /* which holds for it from here on */
    rejoin->answered |= bit(i);
    if (!is_enough(core, rejoin->answered))
        return;
    if (rejoin->state == FENCE_REJOIN_ASKING)
        mark(core, member);
    else if (FENCE_MUTANT(READ_BEFORE_RECORD))
        admit(core, member);
    else
        import(core, member);
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
        rejoin->steps++;
        if (reply->cursor == 0)
            cleared(core, member);
        else
            clear_locks(core, member, reply->cursor);
        break;
    case FENCE_REJOIN_IMPORTING:
    case FENCE_REJOIN_HOLDING:
        if (i == member)
            page_merged(core, member, reply->tag);
        else if (rejoin->state == FENCE_REJOIN_IMPORTING)
            page_came(core, member, i, reply);
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
    send(core, member, FENCE_REJOIN_RECORD, bit(i) & fence_fleet_active(&core->fleet))->view =
        &rejoin->view;
}

/* The one that was asked knows more than this server, or its marker is not what it was. */
static void changed(struct fence_core *core, unsigned member, unsigned i,
                    const struct fence_rejoin_reply *reply)
{
    if (i == member) {
        shake_again(core, member);
        return;
    }
    if (reply->view)
        fence_core_learn_view(core, i, reply->view);
    if (FENCE_MUTANT(RECORDED_UNDER_TWO_VIEWS) &&
        core->rejoins[member].state == FENCE_REJOIN_RECORDING) {
        record_under_another_view(core, member, i);
        return;
    }
    if (is_asking(&core->rejoins[member]))
        ask_anew(core, member);
    else if (core->rejoins[member].state == FENCE_REJOIN_IMPORTING)
        source_failed(core, member, i);
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
        lost(core, member, i);
        break;
    }
}

/* ---- beginning, and time --------------------------------------------------------------------- */

void fence_core_rejoin_begin(struct fence_core *core, unsigned member)
{
    struct fence_rejoin *rejoin = &core->rejoins[member];
    uint64_t spread_us = rejoin->beaten ? FENCE_REJOIN_BEATEN_US : FENCE_REJOIN_DELAY_US;
    fence_rejoin_begin(rejoin, core->now_us + fence_core_random(core) % spread_us);
    master_of(core, member)->back_us = 0;
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

/* No page came, and none was merged, for a while. */
static void import_without_the_silent(struct fence_core *core, unsigned member)
{
    const struct fence_rejoin *rejoin = &core->rejoins[member];
    uint32_t silent = 0;
    for (unsigned i = 0; i < core->fleet.n; i++) {
        if (fence_rejoin_merging(&rejoin->source[i]) > 0) {
            break_off(core, member, FENCE_REASON_SILENT);
            return;
        }
        if ((rejoin->sources >> i & 1) && rejoin->source[i].reading)
            silent |= bit(i);
    }
    fence_core_give_up(core, silent & fence_fleet_active(&core->fleet), FENCE_REASON_SILENT);
    import_failed(core, member);
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
        import_without_the_silent(core, member);
        break;
    case FENCE_REJOIN_HOLDING:
        hold_on(core, member);
        break;
    case FENCE_REJOIN_MARKING:
    case FENCE_REJOIN_CLEARING:
    case FENCE_REJOIN_ADMITTING:
        break_off(core, member, FENCE_REASON_SILENT);
        break;
    }
}
