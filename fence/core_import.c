/* The import: pages of counters and locks of a majority are merged into the member that is taken
 * back. Where locks cannot be read, the longest lease is waited out. */
#include "fence/core_rejoin.h"
#include "fence/lease.h"
#include "fence/mutant.h"

static void read_page(struct fence_core *core, unsigned member, unsigned i)
{
    struct fence_rejoin *rejoin = &core->rejoins[member];
    struct fence_source *source = &rejoin->source[i];
    struct fence_rejoin_request *request =
        fence_core_rejoin_send(core, member, FENCE_REJOIN_READ, fence_core_bit(i));
    request->part = source->part;
    request->cursor = source->cursor;
    request->view = &rejoin->view;
    source->reading = true;
}

static void merge_page(struct fence_core *core, unsigned member, unsigned i,
                       enum fence_rejoin_part part, const struct fence_page *page)
{
    struct fence_rejoin_request *request =
        fence_core_rejoin_send(core, member, FENCE_REJOIN_INSTALL, fence_core_bit(member));
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
void fence_core_import_begin(struct fence_core *core, unsigned member)
{
    struct fence_rejoin *rejoin = &core->rejoins[member];
    uint32_t sources = rejoin->answered & fence_fleet_active(&core->fleet);
    if (!fence_core_rejoin_is_enough(core, sources)) {
        fence_core_rejoin_record(core, member);
        return;
    }
    rejoin->recorded_us = core->now_us;
    rejoin->sign_us = core->now_us;
    fence_rejoin_import(rejoin, sources, fence_core_patience_end_us(core));
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
        fence_core_rejoin_admit(core, member);
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
    fence_core_master(core, member)->back_us = hold_end_us(core, member);
    hold(core, member);
}

/* A sign of life is due, or the hold is over. The admission goes out behind a sign that is on its
 * way.
 */
void fence_core_import_hold_tick(struct fence_core *core, unsigned member)
{
    const struct fence_rejoin *rejoin = &core->rejoins[member];
    if (fence_rejoin_merging(&rejoin->source[member]) > 0 &&
        core->now_us < hold_end_us(core, member))
        fence_core_rejoin_break_off(core, member, FENCE_REASON_SILENT);
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
            set |= fence_core_bit(i) & fence_fleet_active(&core->fleet);
    return fence_core_rejoin_is_enough(core, set);
}

/* A source that answers no page will not do so later. One whose connection ended may. */
static bool is_hopeless(struct fence_rejoin *rejoin)
{
    bool unreadable = false;
    for (unsigned i = 0; i < FENCE_MASTERS_MAX; i++)
        unreadable = unreadable || rejoin->source[i].unreadable;
    if (unreadable)
        return ++rejoin->stuck >= FENCE_REJOIN_STUCK_MAX;
    return ++rejoin->cut_off >= FENCE_REJOIN_CUT_OFF_MAX;
}

/* The locks will not come from enough sources. If that happens again and again, and the counters
 * are there, the locks are waited out. */
static void import_failed(struct fence_core *core, unsigned member)
{
    struct fence_rejoin *rejoin = &core->rejoins[member];
    bool has_counters =
        fence_core_rejoin_is_enough(core, fence_rejoin_imported(rejoin, FENCE_REJOIN_COUNTERS));
    if (has_counters && is_hopeless(rejoin))
        begin_hold(core, member);
    else if (has_counters || !may_import(core, member, FENCE_REJOIN_COUNTERS))
        fence_core_rejoin_record(core, member);
}

static void go_on_without(struct fence_core *core, unsigned member, unsigned i)
{
    core->rejoins[member].source[i].broken = true;
    if (!may_import(core, member, FENCE_REJOIN_LOCKS))
        import_failed(core, member);
}

/* A page of source @i did not come. The others may be enough. */
void fence_core_import_source_failed(struct fence_core *core, unsigned member, unsigned i,
                                     enum fence_rejoin_outcome outcome)
{
    core->rejoins[member].source[i].unreadable = outcome == FENCE_REJOIN_REFUSED;
    go_on_without(core, member, i);
}

static void go_on_if_imported(struct fence_core *core, unsigned member)
{
    const struct fence_rejoin *rejoin = &core->rejoins[member];
    if (!fence_core_rejoin_is_enough(core, fence_rejoin_imported(rejoin, FENCE_REJOIN_LOCKS))) {
        if (!may_import(core, member, FENCE_REJOIN_LOCKS))
            import_failed(core, member);
        return;
    }
    if (FENCE_MUTANT(READ_BEFORE_RECORD))
        fence_core_rejoin_record(core, member);
    else
        fence_core_rejoin_admit(core, member);
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

void fence_core_import_page_came(struct fence_core *core, unsigned member, unsigned i,
                                 const struct fence_rejoin_reply *reply)
{
    struct fence_rejoin *rejoin = &core->rejoins[member];
    struct fence_source *source = &rejoin->source[i];
    if (!source->reading)
        return; /* it was asked for none */
    source->reading = false;
    if (is_cut_off(core, member, i)) {
        go_on_without(core, member, i);
        return;
    }
    rejoin->due_us = fence_core_patience_end_us(core);
    if (reply->page.len > 0 || is_sign_due(core, member))
        merge_page(core, member, i, source->part, &reply->page);
    source->cursor = reply->cursor;
    if (reply->cursor == 0)
        source->part++;
    if (may_read(source))
        read_page(core, member, i);
    go_on_if_imported(core, member);
}

void fence_core_import_page_merged(struct fence_core *core, unsigned member, uint64_t tag)
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
    rejoin->due_us = fence_core_patience_end_us(core);
    if (is_cut_off(core, member, i)) {
        go_on_without(core, member, i);
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

/* No page came, and none was merged, for a while. */
void fence_core_import_tick(struct fence_core *core, unsigned member)
{
    struct fence_rejoin *rejoin = &core->rejoins[member];
    uint32_t silent = 0;
    for (unsigned i = 0; i < core->fleet.n; i++) {
        if (fence_rejoin_merging(&rejoin->source[i]) > 0) {
            fence_core_rejoin_break_off(core, member, FENCE_REASON_SILENT);
            return;
        }
        if (!(rejoin->sources >> i & 1) || !rejoin->source[i].reading)
            continue;
        rejoin->source[i].unreadable = true;
        silent |= fence_core_bit(i);
    }
    fence_core_give_up(core, silent & fence_fleet_active(&core->fleet), FENCE_REASON_SILENT);
    import_failed(core, member);
}
