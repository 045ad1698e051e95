#include "fence/rejoin/import.h"

#include "fence/base/set.h"
#include "fence/protocol/lease.h"
#include "fence/rejoin/masters.h"
#include "fence/rejoin/rejoin_steps.h"

static void ask_for_page(struct fence_core *core, unsigned member, unsigned i)
{
    struct core_rejoin *rejoin = &core->rejoins[member];
    struct core_source *source = &rejoin->source[i];
    struct fence_rejoin_request *request =
        core_rejoin_send(core, member, FENCE_REJOIN_READ, fence_set_of(i));
    source->number = (source->number + 1) & REJOIN_NUMBER_MASK;
    source->away_us = 0;
    source->reading = true;
    request->tag |= (uint64_t)source->number << REJOIN_NUMBER_SHIFT;
    request->part = source->part;
    request->cursor = source->cursor;
    request->view = &rejoin->view;
}

/* Reports whether @tag is of the last page that the source was asked for. The source may have been
 * asked for the same page before, over another connection. */
static bool is_awaited(const struct core_source *source, uint64_t tag)
{
    return source->reading && (tag >> REJOIN_NUMBER_SHIFT & REJOIN_NUMBER_MASK) == source->number;
}

static void merge_page(struct fence_core *core, unsigned member, unsigned i,
                       enum fence_rejoin_part part, const struct fence_page *page)
{
    struct fence_rejoin_request *request =
        core_rejoin_send(core, member, FENCE_REJOIN_INSTALL, fence_set_of(member));
    request->tag |= (uint64_t)part << REJOIN_PART_SHIFT | (uint64_t)i << REJOIN_SOURCE_SHIFT;
    request->source = i;
    request->page = page;
    core->rejoins[member].steps++;
    core->rejoins[member].sign_us = core->now_us;
    core->rejoins[member].source[i].merging[part]++;
}

/* Reports whether the leader must show the member that it is alive. Pages without a lock are not
 * merged. After many such pages other servers would count the leader as dead. */
static bool is_sign_due(const struct fence_core *core, unsigned member)
{
    return core->now_us >= core->rejoins[member].sign_us + FENCE_REJOIN_ALIVE_US;
}

/* Reads from the first q masters that recorded. */
void core_import_begin(struct fence_core *core, unsigned member)
{
    struct core_rejoin *rejoin = &core->rejoins[member];
    uint32_t sources = rejoin->answered & fence_fleet_active(&core->fleet);
    if (!core_rejoin_is_enough(core, sources)) {
        core_rejoin_record(core, member);
        return;
    }
    rejoin->recorded_us = core->now_us;
    rejoin->sign_us = core->now_us;
    core_rejoin_state_import(rejoin, sources, core_rejoin_timeout_us(core));
    for (unsigned i = 0; i < core->fleet.n; i++)
        if (fence_set_has(sources, i))
            ask_for_page(core, member, i);
}

static uint64_t quarantine_end_us(const struct fence_core *core, unsigned member)
{
    return core->rejoins[member].recorded_us + fence_quarantine_us(core->fleet.ttl_max_ms);
}

/* Waits for the end of the longest lease that the member may have voted for before. Meanwhile the
 * other servers see that the leader is alive. */
static void keep_quarantine(struct fence_core *core, unsigned member)
{
    static const struct fence_page nothing = {.bytes = "", .len = 0};
    struct core_rejoin *rejoin = &core->rejoins[member];
    uint64_t end_us = quarantine_end_us(core, member);
    if (core->now_us >= end_us) {
        core_rejoin_admit(core, member);
        return;
    }
    uint64_t alive_us = core->now_us + FENCE_REJOIN_ALIVE_US;
    rejoin->due_us = alive_us < end_us ? alive_us : end_us;
    merge_page(core, member, member, FENCE_REJOIN_COUNTERS, &nothing);
}

static void begin_quarantine(struct fence_core *core, unsigned member)
{
    struct core_rejoin *rejoin = &core->rejoins[member];
    core_rejoin_state_quarantine(rejoin, core->now_us);
    core_master(core, member)->eligible_at_us = quarantine_end_us(core, member);
    keep_quarantine(core, member);
}

/* Sends a sign of life that is due, or ends the quarantine. If a sign is on its way, the admission
 * follows behind it. */
void core_import_quarantine_tick(struct fence_core *core, unsigned member)
{
    const struct core_rejoin *rejoin = &core->rejoins[member];
    if (core_rejoin_state_merging(&rejoin->source[member]) > 0 &&
        core->now_us < quarantine_end_us(core, member))
        core_rejoin_break_off(core, member, FENCE_REASON_SILENT);
    else
        keep_quarantine(core, member);
}

/* Reports whether enough sources have given @part of their state, or still may. A disconnected
 * source may come back. */
static bool may_import(const struct fence_core *core, unsigned member, enum fence_rejoin_part part)
{
    const struct core_rejoin *rejoin = &core->rejoins[member];
    uint32_t set = core_rejoin_state_imported(rejoin, part);
    for (unsigned i = 0; i < core->fleet.n; i++)
        if (!rejoin->source[i].broken)
            set |= fence_set_of(i) & rejoin->sources;
    return core_rejoin_is_enough(core, set);
}

static bool has_unreadable_source(const struct core_rejoin *rejoin)
{
    for (unsigned i = 0; i < FENCE_MASTERS_MAX; i++)
        if (rejoin->source[i].unreadable)
            return true;
    return false;
}

/* Too few sources will give their locks, so the rejoin records and reads again. That does not help
 * if a source is connected and answers no page. If this happens again and again, and the counters
 * were read, the member waits until the locks have expired. */
static void import_failed(struct fence_core *core, unsigned member)
{
    struct core_rejoin *rejoin = &core->rejoins[member];
    bool unreadable = has_unreadable_source(rejoin);
    bool has_counters =
        core_rejoin_is_enough(core, core_rejoin_state_imported(rejoin, FENCE_REJOIN_COUNTERS));
    if (unreadable && !has_counters && may_import(core, member, FENCE_REJOIN_COUNTERS))
        return; /* some pages are on their way */
    if (unreadable && has_counters && ++rejoin->stuck >= FENCE_REJOIN_STUCK_MAX)
        begin_quarantine(core, member);
    else
        core_rejoin_record(core, member);
}

static bool may_read(const struct fence_core *core, unsigned member, unsigned i)
{
    const struct core_source *source = &core->rejoins[member].source[i];
    return source->part < FENCE_REJOIN_PARTS && !source->reading && !source->broken &&
           core_rejoin_state_merging(source) < FENCE_REJOIN_MERGING_MAX &&
           fence_set_has(fence_fleet_active(&core->fleet), i);
}

/* Stops waiting for sources that are disconnected for too long. */
static void drop_the_absent(struct fence_core *core, unsigned member)
{
    for (unsigned i = 0; i < core->fleet.n; i++) {
        struct core_source *source = &core->rejoins[member].source[i];
        bool away = source->away_us > 0 && !fence_set_has(fence_fleet_active(&core->fleet), i);
        if (source->part < FENCE_REJOIN_PARTS && away &&
            core->now_us >= source->away_us + FENCE_REJOIN_TIMEOUT_US)
            source->broken = true;
    }
}

static void read_on(struct fence_core *core, unsigned member)
{
    const struct core_rejoin *rejoin = &core->rejoins[member];
    for (unsigned i = 0; i < core->fleet.n; i++)
        if (fence_set_has(rejoin->sources, i) && may_read(core, member, i))
            ask_for_page(core, member, i);
}

void core_import_go_on(struct fence_core *core, unsigned member)
{
    const struct core_rejoin *rejoin = &core->rejoins[member];
    uint64_t serial = rejoin->serial;
    drop_the_absent(core, member);
    if (core_rejoin_is_enough(core, core_rejoin_state_imported(rejoin, FENCE_REJOIN_LOCKS))) {
        core_rejoin_admit(core, member);
        return;
    }
    if (!may_import(core, member, FENCE_REJOIN_LOCKS))
        import_failed(core, member);
    if (rejoin->serial == serial && rejoin->state == CORE_REJOIN_IMPORTING)
        read_on(core, member);
}

void core_import_page_came(struct fence_core *core, unsigned member, unsigned i,
                           const struct fence_rejoin_reply *reply)
{
    struct core_rejoin *rejoin = &core->rejoins[member];
    struct core_source *source = &rejoin->source[i];
    if (!is_awaited(source, reply->tag))
        return; /* no page was asked for, or the page was asked for again */
    if (!fence_set_has(fence_fleet_active(&core->fleet), i)) {
        core_source_leave(source, core->now_us);
        core_import_go_on(core, member);
        return;
    }
    source->reading = false;
    source->tries = 0;
    rejoin->due_us = core_rejoin_timeout_us(core);
    if (reply->page.len > 0 || is_sign_due(core, member))
        merge_page(core, member, i, source->part, &reply->page);
    source->cursor = reply->cursor;
    if (reply->cursor == 0)
        source->part++;
    core_import_go_on(core, member);
}

/* If the connection of the source ended, the page is asked for again over the next connection. */
void core_import_page_failed(struct fence_core *core, unsigned member, unsigned i,
                             const struct fence_rejoin_reply *reply)
{
    struct core_source *source = &core->rejoins[member].source[i];
    if (!is_awaited(source, reply->tag))
        return;
    core_source_leave(source, core->now_us);
    source->unreadable =
        reply->outcome == FENCE_REJOIN_REFUSED || ++source->tries >= FENCE_REJOIN_PAGE_TRIES_MAX;
    source->broken = source->unreadable || reply->outcome == FENCE_REJOIN_CHANGED;
    core_import_go_on(core, member);
}

void core_import_page_merged(struct fence_core *core, unsigned member, uint64_t tag)
{
    struct core_rejoin *rejoin = &core->rejoins[member];
    unsigned i = tag >> REJOIN_SOURCE_SHIFT & REJOIN_INDEX_MASK;
    unsigned part = tag >> REJOIN_PART_SHIFT & REJOIN_INDEX_MASK;
    if (i >= core->fleet.n || part >= FENCE_REJOIN_PARTS || rejoin->source[i].merging[part] == 0)
        return; /* the member was sent no such page */
    rejoin->source[i].merging[part]--;
    if (rejoin->state == CORE_REJOIN_QUARANTINED)
        return;
    rejoin->due_us = core_rejoin_timeout_us(core);
    core_import_go_on(core, member);
}

static bool is_merging(const struct core_rejoin *rejoin)
{
    for (unsigned i = 0; i < FENCE_MASTERS_MAX; i++)
        if (core_rejoin_state_merging(&rejoin->source[i]) > 0)
            return true;
    return false;
}

/* For a while no page arrived, and none was merged: the member is silent, or sources are. */
void core_import_tick(struct fence_core *core, unsigned member)
{
    struct core_rejoin *rejoin = &core->rejoins[member];
    uint64_t serial = rejoin->serial;
    uint32_t silent = 0;
    if (is_merging(rejoin)) {
        core_rejoin_break_off(core, member, FENCE_REASON_SILENT);
        return;
    }
    for (unsigned i = 0; i < core->fleet.n; i++)
        if (fence_set_has(rejoin->sources, i) && rejoin->source[i].reading)
            silent |= fence_set_of(i);
    rejoin->due_us = core_rejoin_timeout_us(core);
    core_give_up(core, silent & fence_fleet_active(&core->fleet), FENCE_REASON_SILENT);
    if (rejoin->serial == serial && rejoin->state == CORE_REJOIN_IMPORTING)
        core_import_go_on(core, member);
}
