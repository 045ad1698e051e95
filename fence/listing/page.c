#include "fence/listing/page.h"

#include "fence/base/moves.h"
#include "fence/base/set.h"
#include "fence/listing/walk.h"
#include "fence/protocol/owner.h"
#include "fence/protocol/seat.h"

#include <assert.h>
#include <string.h>

enum {
    ROOM_SPARED = 8, /* one in so many stays free: a step often finds a few names more than
                      * planned */
};

/* The name in a call that only lets the core find out which masters are silent. */
static const struct fence_lock_name any_resource = {"pawl"};

static const uint32_t listing_moves[] = {
    [FENCE_LISTING_IDLE] = FENCE_MOVE(FENCE_LISTING_SCANNING) | FENCE_MOVE(FENCE_LISTING_IDLE),
    [FENCE_LISTING_SCANNING] = FENCE_MOVE(FENCE_LISTING_SCANNING) |
                               FENCE_MOVE(FENCE_LISTING_SIFTING) |
                               FENCE_MOVE(FENCE_LISTING_INSPECTING) |
                               FENCE_MOVE(FENCE_LISTING_ANSWERED) | FENCE_MOVE(FENCE_LISTING_IDLE),
    [FENCE_LISTING_SIFTING] = FENCE_MOVE(FENCE_LISTING_SCANNING) |
                              FENCE_MOVE(FENCE_LISTING_INSPECTING) |
                              FENCE_MOVE(FENCE_LISTING_ANSWERED) | FENCE_MOVE(FENCE_LISTING_IDLE),
    [FENCE_LISTING_INSPECTING] = FENCE_MOVE(FENCE_LISTING_SCANNING) |
                                 FENCE_MOVE(FENCE_LISTING_INSPECTING) |
                                 FENCE_MOVE(FENCE_LISTING_IDLE),
    [FENCE_LISTING_ANSWERED] = FENCE_MOVE(FENCE_LISTING_IDLE),
};

static void listing_move(struct fence_listing *listing, enum fence_listing_phase to)
{
    assert(fence_move_allowed(listing_moves, listing->phase, to));
    listing->phase = to;
}

static struct fence_listing_effect *add_effect(struct fence_listing *listing,
                                               enum fence_listing_effect_kind kind)
{
    assert(listing->effects->count < FENCE_LISTING_EFFECTS_MAX);
    struct fence_listing_effect *effect = &listing->effects->items[listing->effects->count++];
    *effect = (struct fence_listing_effect){.kind = kind, .listed = listing->kind};
    return effect;
}

/* ---- the end of a page ----------------------------------------------------------------------- */

/* Answers the call. Requests without a reply keep the listing busy until their reply. */
static void answer(struct fence_listing *listing, int error)
{
    const struct fence_fleet *fleet = listing->fleet;
    const uint32_t active = fence_fleet_active(fleet);
    struct fence_listing_answer *page = &add_effect(listing, FENCE_LISTING_EFFECT_ANSWER)->answer;
    *page = (struct fence_listing_answer){
        .kind = listing->kind,
        .client = listing->client,
        .error = error,
        .locks = listing->locks,
        .count = listing->count,
        .total = fleet->n,
    };
    for (unsigned i = 0; i < fleet->n; i++)
        page->parts[i] = fence_set_has(active, i) ? listing->parts[i] : FENCE_PART_DOWN;
    listing->deadline_us = FENCE_NEVER;
    listing_move(listing, listing->owed > 0 ? FENCE_LISTING_ANSWERED : FENCE_LISTING_IDLE);
}

/* Ends a page that is not the last. */
static void end_page(struct fence_listing *listing)
{
    answer(listing, 0);
    struct fence_listing_effect *effect = &listing->effects->items[listing->effects->count - 1];
    fence_listing_cursor_write(&listing->at, listing->prefix, effect->next_cursor);
    effect->answer.next_cursor = effect->next_cursor;
}

/* ---- waiting --------------------------------------------------------------------------------- */

static void note_error(struct fence_listing *listing, int error)
{
    if (!listing->error)
        listing->error = error;
}

/* Counts one answer. The next phase begins with a TICK. */
static void settle(struct fence_listing *listing)
{
    assert(listing->owed > 0);
    if (--listing->owed > 0)
        return;
    if (listing->phase == FENCE_LISTING_ANSWERED)
        listing_move(listing, FENCE_LISTING_IDLE);
    else
        listing->deadline_us = listing->now_us;
}

/* Returns the maximum wait for masters. It is longer than the silence after which the core counts a
 * master as down: then the listing asks other masters. */
static uint64_t patience_us(const struct fence_fleet *fleet)
{
    const uint64_t silent_us = FENCE_LISTING_DEADLINES * fleet->deadline_us;
    return silent_us > FENCE_LISTING_PATIENCE_US ? silent_us : FENCE_LISTING_PATIENCE_US;
}

/* Waits for the answers of @masters, up to the maximum wait. */
static void await(struct fence_listing *listing, enum fence_listing_phase phase, uint32_t masters)
{
    listing_move(listing, phase);
    listing->asked = masters;
    listing->owed = fence_set_count(masters);
    listing->deadline_us = listing->now_us + patience_us(listing->fleet);
}

/* Has the core inspect each of the @count names; each of these calls ends in time. */
static void inspect(struct fence_listing *listing, const struct fence_lock_name *name, size_t count)
{
    struct fence_listing_effect *effect = add_effect(listing, FENCE_LISTING_EFFECT_INSPECT);
    effect->names.name = name;
    effect->names.count = count;
    listing->owed += (unsigned)count;
}

/* Handles masters that did not answer in time. Sends one dummy inspect, so that the core's own
 * deadline can mark the master silent. Without other calls the core would never do so, and each
 * listing would wait. */
static void give_up(struct fence_listing *listing)
{
    for (unsigned i = 0; i < FENCE_MASTERS_MAX; i++)
        if (fence_set_has(listing->asked, i))
            listing->parts[i] = FENCE_PART_TIMEOUT;
    answer(listing, FENCE_ENOQUORUM);
    inspect(listing, &any_resource, 1);
}

/* Takes the answer of a master. Does nothing if the listing has failed. */
static bool take_answer(struct fence_listing *listing, unsigned i, const struct fence_found *found)
{
    listing->asked &= ~fence_set_of(i);
    listing->parts[i] = found->part;
    if (found->error)
        note_error(listing, found->error);
    if (found->part == FENCE_PART_REFUSED)
        note_error(listing, FENCE_ENOQUORUM);
    return found->part == FENCE_PART_GRANTED && !found->error &&
           listing->phase != FENCE_LISTING_ANSWERED;
}

/* ---- scanning -------------------------------------------------------------------------------- */

/* Returns how many keys to look at for @room locks, if @keys keys had @found new locks. */
static unsigned keys_for(size_t room, unsigned keys, size_t found)
{
    size_t aim = room - room / ROOM_SPARED;
    size_t wanted = found > 0 ? keys * aim / found : FENCE_SCAN_KEYS_MAX;
    if (wanted > FENCE_SCAN_KEYS_MAX)
        return FENCE_SCAN_KEYS_MAX;
    return wanted > 0 ? (unsigned)wanted : 1;
}

/* Asks for the names from listing->at on, if the page has room and steps left. */
static void next_step(struct fence_listing *listing)
{
    memset(&listing->names, 0, sizeof(listing->names));
    listing->inspected = 0;
    if (listing->count == listing->limit || listing->steps == FENCE_LISTING_STEPS) {
        end_page(listing);
        return;
    }
    int error = fence_listing_walk_check(&listing->at, listing->fleet);
    if (error) {
        answer(listing, error);
        return;
    }
    struct fence_listing_effect *effect = add_effect(listing, FENCE_LISTING_EFFECT_SCAN);
    effect->masters = fence_set_of(listing->at.walking);
    effect->scan.cursor = listing->at.from;
    effect->scan.prefix = listing->prefix;
    effect->scan.keys = listing->keys;
    listing->steps++;
    await(listing, FENCE_LISTING_SCANNING, effect->masters);
}

/* Restarts the step: the current master is down, or was replaced. The walk goes on with the first
 * name of an active master. */
static void step_anew(struct fence_listing *listing)
{
    listing->lost = false;
    int error = fence_listing_walk_begin(&listing->at, listing->fleet);
    if (error)
        answer(listing, error);
    else
        next_step(listing);
}

/* ---- inspecting ------------------------------------------------------------------------------ */

/* Ends the step: its locks are on the page. */
static void end_step(struct fence_listing *listing)
{
    listing->keys = keys_for(listing->limit - listing->count, listing->keys, listing->names.count);
    int error = fence_listing_walk_on(&listing->at, listing->fleet, listing->next);
    if (error || fence_listing_walk_is_over(&listing->at, listing->fleet->n))
        answer(listing, error);
    else
        next_step(listing);
}

/* Inspects the next names: not all at once, so that other calls have room. */
static void inspect_some(struct fence_listing *listing)
{
    size_t begin = listing->inspected;
    size_t left = listing->names.count - begin;
    if (left > 0) {
        listing_move(listing, FENCE_LISTING_INSPECTING);
        listing->inspected += left < FENCE_LISTING_CALLS ? left : FENCE_LISTING_CALLS;
        inspect(listing, &listing->names.name[begin], listing->inspected - begin);
    } else if (listing->split) {
        listing->at.to = listing->next;
        end_page(listing);
    } else {
        end_step(listing);
    }
}

static void add_lock(struct fence_listing *listing, const struct fence_answer *seen)
{
    assert(listing->count < listing->limit);
    assert(strlen(seen->resource) <= FENCE_RESOURCE_MAX && strlen(seen->owner) <= FENCE_OWNER_MAX);
    struct fence_listed *lock = &listing->locks[listing->count++];
    memcpy(lock->resource, seen->resource, strlen(seen->resource) + 1);
    if (fence_owner_writes(seen->owner))
        fence_gate_write(lock->resource);
    memcpy(lock->owner, seen->owner, strlen(seen->owner) + 1);
    const bool counts = listing->kind == FENCE_LISTING_COUNTERS;
    lock->token = counts ? seen->count.value : seen->token;
    lock->remaining_ms = seen->remaining_ms;
    lock->kept = !counts && seen->inspect.kept;
    lock->waiters = counts ? 0 : seen->inspect.waiters;
}

/* Reports whether @error concerns one counter only: that counter is listed without its value. */
static bool is_of_one_name(const struct fence_listing *listing, int error)
{
    return listing->kind == FENCE_LISTING_COUNTERS &&
           (error == FENCE_ENOENT || error == FENCE_ECONTENDED || fence_error_is_obstacle(error));
}

/* Reports whether @seen is a writer to list. A writer is listed once, under the name of its gate,
 * by its last seat: that seat has the greatest number. A waiting writer has the gate alone, and is
 * not listed. */
static bool lists_writer(const struct fence_listing *listing, const struct fence_answer *seen)
{
    unsigned seat = 0;
    return fence_seat_read(seen->resource, strlen(seen->resource), &seat) &&
           seat + 1 == listing->fleet->readers;
}

/* Reports whether @seen exists. A counter that a majority does not have yet has given no value to
 * any caller. */
static bool is_there(const struct fence_listing *listing, const struct fence_answer *seen)
{
    if (listing->kind == FENCE_LISTING_COUNTERS)
        return seen->error != FENCE_ENOENT;
    return seen->inspect.held && (!fence_owner_writes(seen->owner) || lists_writer(listing, seen));
}

static void on_inspected(struct fence_listing *listing, const struct fence_answer *seen)
{
    if (listing->phase == FENCE_LISTING_INSPECTING && seen->error &&
        !is_of_one_name(listing, seen->error)) {
        note_error(listing, seen->error);
        memcpy(listing->parts, seen->parts, sizeof(listing->parts));
    } else if (listing->phase == FENCE_LISTING_INSPECTING && is_there(listing, seen)) {
        add_lock(listing, seen);
    }
    settle(listing);
}

/* ---- sifting --------------------------------------------------------------------------------- */

/* The page has room for only some names of a step that cannot be made smaller. If the page has
 * names of earlier steps, it ends before the step. Otherwise it ends within the step. */
static void split(struct fence_listing *listing, size_t room)
{
    if (listing->count > 0) {
        end_page(listing);
        return;
    }
    listing->split = true;
    listing->names.count = room;
    memcpy(listing->at.after, listing->names.name[room - 1].text, sizeof(listing->at.after));
    inspect_some(listing);
}

/* Handles the remaining names, which are new. If they do not fit, the step is repeated with fewer
 * keys, or left to the next page. */
static void sifted(struct fence_listing *listing)
{
    fence_listing_names_drop_known(&listing->names, listing->at.walked, listing->at.walking);
    size_t room = listing->limit - listing->count;
    size_t found = listing->names.count;
    if (found > room && listing->keys > 1) {
        unsigned half = listing->keys / 2;
        unsigned fewer = keys_for(room, listing->keys, found);
        listing->keys = fewer < half ? fewer : half;
        next_step(listing);
    } else if (found > room) {
        split(listing, room);
    } else {
        inspect_some(listing);
    }
}

/* Takes the holders that master @i has. Without its answer no name is passed over for @i. */
static void on_holders(struct fence_listing *listing, unsigned i, const struct fence_found *found)
{
    bool told = take_answer(listing, i, found);
    if (told && found->count != listing->names.count)
        note_error(listing, FENCE_EIO);
    else if (told)
        for (size_t k = 0; k < found->count; k++)
            listing->names.holder[k].on[i] = found->holders[k];
    settle(listing);
}

static void on_scanned(struct fence_listing *listing, unsigned i, const struct fence_found *found,
                       const struct fence_listing_names *room)
{
    listing->lost = found->part == FENCE_PART_TIMEOUT;
    if (take_answer(listing, i, found)) {
        listing->next = found->next;
        listing->names = *room;
        int error = fence_listing_names_take(&listing->names, found);
        if (error)
            note_error(listing, error);
    }
    settle(listing);
}

/* Asks the finished masters and the current master for the holders, if they are active. */
static void sift(struct fence_listing *listing)
{
    struct fence_listing_names *names = &listing->names;
    uint32_t wanted = listing->at.walked | fence_set_of(listing->at.walking);
    uint32_t there = wanted & fence_fleet_active(listing->fleet);
    bool same_part = listing->next == listing->at.to;
    if (listing->at.after[0] != '\0' && same_part)
        fence_listing_names_drop_through(names, listing->at.after);
    if (listing->at.walked == 0 || names->count == 0 || there == 0) {
        sifted(listing);
        return;
    }
    struct fence_listing_effect *effect = add_effect(listing, FENCE_LISTING_EFFECT_HOLDERS);
    effect->masters = there;
    effect->names.name = names->name;
    effect->names.count = names->count;
    await(listing, FENCE_LISTING_SIFTING, there);
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Finds the start of the page. */
static int find_start(struct fence_listing *listing, const char *cursor)
{
    if (listing->fleet->fleet_id[0] == '\0')
        return FENCE_ENOTREADY;
    listing->at.kind = listing->kind;
    if (cursor[0] == '\0')
        return fence_listing_walk_begin(&listing->at, listing->fleet);
    return fence_listing_cursor_read(cursor, listing->kind, listing->prefix, listing->fleet->n,
                                     &listing->at);
}

static void on_begin(struct fence_listing *listing, const struct fence_listing_call *call,
                     struct fence_listed *locks)
{
    assert(call->limit >= 1 && strlen(call->prefix) <= FENCE_RESOURCE_MAX);
    listing->kind = call->kind;
    listing->client = call->client;
    listing->limit = call->limit;
    listing->locks = locks;
    memcpy(listing->prefix, call->prefix, strlen(call->prefix) + 1);
    int error = find_start(listing, call->cursor);
    if (error) {
        answer(listing, error);
        return;
    }
    /* The first step assumes that all keys are new locks. A step that was split is repeated as it
     * was. */
    listing->keys = listing->at.after[0] == '\0' ? keys_for(listing->limit, 1, 1) : 1;
    next_step(listing);
}

static void listing_tick(struct fence_listing *listing)
{
    if (listing->now_us < listing->deadline_us)
        return;
    listing->deadline_us = FENCE_NEVER;
    if (listing->owed > 0)
        give_up(listing);
    else if (listing->error)
        answer(listing, listing->error);
    else if (listing->phase == FENCE_LISTING_SCANNING && listing->lost)
        step_anew(listing);
    else if (listing->phase == FENCE_LISTING_SCANNING)
        sift(listing);
    else if (listing->phase == FENCE_LISTING_SIFTING)
        sifted(listing);
    else
        inspect_some(listing);
}

void fence_listing_init(struct fence_listing *listing)
{
    memset(listing, 0, sizeof(*listing));
    listing->deadline_us = FENCE_NEVER;
}

void fence_listing_step(struct fence_listing *listing, const struct fence_listing_event *event,
                        struct fence_listing_effects *effects)
{
    assert(event->kind == FENCE_LISTING_EVENT_TICK ||
           (event->kind == FENCE_LISTING_EVENT_BEGIN) == (listing->phase == FENCE_LISTING_IDLE));
    if (event->kind == FENCE_LISTING_EVENT_BEGIN)
        fence_listing_init(listing);
    effects->count = 0;
    listing->now_us = event->now_us;
    listing->fleet = event->fleet;
    listing->effects = effects;
    switch (event->kind) {
    case FENCE_LISTING_EVENT_BEGIN:
        on_begin(listing, event->begin.call, event->begin.locks);
        break;
    case FENCE_LISTING_EVENT_SCANNED:
        on_scanned(listing, event->told.master, event->told.found, &event->told.room);
        break;
    case FENCE_LISTING_EVENT_HOLDERS:
        on_holders(listing, event->told.master, event->told.found);
        break;
    case FENCE_LISTING_EVENT_INSPECTED:
        on_inspected(listing, event->answer);
        break;
    case FENCE_LISTING_EVENT_TICK:
        listing_tick(listing);
        break;
    }
    listing->fleet = NULL;
    listing->effects = NULL;
}
