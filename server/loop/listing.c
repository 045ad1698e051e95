#include "server/loop/listing.h"

#include "fence/listing/cursor.h"
#include "fence/listing/names.h"
#include "fence/protocol/lease.h"
#include "fence/protocol/name.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROOM_SPARED = 8, /* one in so many: a step often finds a few names more than it was to */
};

/* Whom a call is for that only has the core find out who is silent. */
#define ANY_RESOURCE "pawl"

enum phase {
    PHASE_IDLE,
    PHASE_SCANNING,
    PHASE_SIFTING,
    PHASE_INSPECTING,
    PHASE_ANSWERED, /* but what was asked is still to come */
};

struct listing {
    struct server_listings *all;
    uint64_t slot;
    enum phase phase;
    unsigned owed;    /* answers of masters and of the core */
    uint32_t asked;   /* set of masters that owe one */
    uv_timer_t timer; /* to go on with, at once; or the timeout of a phase */
    int error;        /* the first */
    enum fence_part parts[FENCE_MASTERS_MAX];

    /* The call. */
    uint64_t client;
    unsigned limit;
    char prefix[FENCE_RESOURCE_MAX + 1];

    /* The step under way. */
    struct fence_listing_cursor at;
    uint64_t next; /* the SCAN cursor that follows it */
    unsigned keys; /* that it looks at */
    unsigned steps;
    bool split; /* the page ends within it */
    struct fence_listing_names names;
    size_t inspected; /* of them, or being so */

    /* The page so far. */
    struct fence_listed *locks;
    size_t count;
};

struct server_listings {
    struct server_listings_config config;
    unsigned handles; /* not yet closed */
    struct listing listing[SERVER_LISTINGS];
};

static void next_step(struct listing *listing);
static void on_timer(uv_timer_t *timer);

static const struct fence_fleet *fleet_of(const struct listing *listing)
{
    return server_driver_fleet(listing->all->config.driver);
}

static bool is_active(const struct listing *listing, unsigned i)
{
    return fence_fleet_active(fleet_of(listing)) >> i & 1;
}

static void clear_names(struct listing *listing)
{
    free(listing->names.name);
    free(listing->names.holder);
    memset(&listing->names, 0, sizeof(listing->names));
}

static int take_names(struct listing *listing, const struct fence_found *found)
{
    struct fence_listing_names *names = &listing->names;
    if (found->count <= FENCE_LISTING_NAMES_MAX) {
        names->name = calloc(found->count + 1, sizeof(names->name[0]));
        names->holder = calloc(found->count + 1, sizeof(names->holder[0]));
        if (!names->name || !names->holder)
            return FENCE_ENOMEM;
    }
    return fence_listing_names_take(names, found);
}

/* ---- the end of a page ----------------------------------------------------------------------- */

/* Answers. What is still owed keeps the listing's place until it came. */
static void answer(struct listing *listing, int error, const char *next_cursor)
{
    const struct fence_fleet *fleet = fleet_of(listing);
    struct fence_listing_answer page = {
        .client = listing->client,
        .error = error,
        .locks = listing->locks,
        .count = listing->count,
        .next_cursor = next_cursor,
        .total = fleet->n,
    };
    for (unsigned i = 0; i < fleet->n; i++)
        page.parts[i] = is_active(listing, i) ? listing->parts[i] : FENCE_PART_DOWN;
    uv_timer_stop(&listing->timer);
    listing->all->config.answer(listing->all->config.context, &page);
    clear_names(listing);
    free(listing->locks);
    listing->locks = NULL;
    listing->phase = listing->owed > 0 ? PHASE_ANSWERED : PHASE_IDLE;
}

static void end_page(struct listing *listing)
{
    char text[FENCE_LISTING_CURSOR_MAX];
    fence_listing_cursor_write(&listing->at, listing->prefix, text);
    answer(listing, 0, text);
}

/* ---- waiting --------------------------------------------------------------------------------- */

/* One answer came. The next phase begins from the timer: the core's answers come from within a step
 * of it, where it must not be asked. */
static void settle(struct listing *listing)
{
    assert(listing->owed > 0);
    if (--listing->owed > 0)
        return;
    if (listing->phase == PHASE_ANSWERED)
        listing->phase = PHASE_IDLE;
    else
        uv_timer_start(&listing->timer, on_timer, 0, 0);
}

static void note_error(struct listing *listing, int error)
{
    if (!listing->error)
        listing->error = error;
}

/* One call to the core, answered to server_listings_answer(). */
static void inspect(struct listing *listing, const char *resource)
{
    const struct fence_call call = {
        .kind = FENCE_CALL_INSPECT,
        .origin = FENCE_ORIGIN_LISTING,
        .client = listing->slot,
        .resource = resource,
        .lock_id = "",
        .owner = "",
    };
    server_driver_call(listing->all->config.driver, &call);
}

/* The scan timed out. One dummy inspect is sent, so that the core's own deadline can mark the
 * master silent. Without other calls it would never do so, and each listing would wait. */
static void give_up(struct listing *listing)
{
    for (unsigned i = 0; i < FENCE_MASTERS_MAX; i++)
        if (listing->asked >> i & 1)
            listing->parts[i] = FENCE_PART_TIMEOUT;
    answer(listing, FENCE_ENOQUORUM, NULL);
    listing->owed++;
    inspect(listing, ANY_RESOURCE);
}

/* What the answer of master @i comes to. Nothing where the listing has given up. */
static bool take_answer(struct listing *listing, unsigned i, const struct fence_found *found)
{
    listing->asked &= ~(UINT32_C(1) << i);
    listing->parts[i] = found->part;
    if (found->part != FENCE_PART_GRANTED)
        note_error(listing, FENCE_ENOQUORUM);
    return found->part == FENCE_PART_GRANTED && listing->phase != PHASE_ANSWERED;
}

/* To be called for each question to master @i, with what became of it. */
static void note_asked(struct listing *listing, unsigned i, int error)
{
    if (!error) {
        listing->asked |= UINT32_C(1) << i;
        listing->owed++;
        return;
    }
    listing->parts[i] = FENCE_PART_TIMEOUT; /* as for a connection that has just ended */
    note_error(listing, error == FENCE_EIO ? FENCE_ENOQUORUM : error);
}

/* Goes on when the answers are there; at once, where none could be asked for. */
static void await(struct listing *listing, enum phase phase)
{
    listing->phase = phase;
    uv_timer_start(&listing->timer, on_timer, listing->owed > 0 ? SERVER_LISTING_PATIENCE_MS : 0,
                   0);
}

/* ---- inspecting ------------------------------------------------------------------------------ */

/* Chooses the master to walk next: any that was not yet. FENCE_ENOQUORUM. */
static int choose_master(struct listing *listing)
{
    const struct fence_fleet *fleet = fleet_of(listing);
    uint32_t left = fence_fleet_active(fleet) & ~listing->at.walked;
    if (left == 0)
        return FENCE_ENOQUORUM;
    unsigned i = (unsigned)__builtin_ctz(left);
    const char *run_id = fleet->master[i].facts.server_id;
    listing->at.walking = i;
    listing->at.process = fence_hash(run_id, strlen(run_id), 0);
    return 0;
}

/* How many keys to look at for @room locks, where @keys of them had @found that were new. */
static unsigned keys_for(size_t room, unsigned keys, size_t found)
{
    size_t aim = room - room / ROOM_SPARED;
    size_t wanted = found > 0 ? keys * aim / found : FENCE_SCAN_KEYS_MAX;
    if (wanted > FENCE_SCAN_KEYS_MAX)
        return FENCE_SCAN_KEYS_MAX;
    return wanted > 0 ? (unsigned)wanted : 1;
}

/* All names of the master were gone through. Ends the listing where it was the last, or nobody is
 * left to go on with. */
static bool leave_master(struct listing *listing)
{
    listing->at.walked |= UINT32_C(1) << listing->at.walking;
    if ((unsigned)__builtin_popcount(listing->at.walked) >= fence_blocking(fleet_of(listing)->n)) {
        answer(listing, 0, NULL);
        return false;
    }
    int error = choose_master(listing);
    if (error)
        answer(listing, error, NULL);
    return !error;
}

/* The step is over: its locks are on the page. */
static void inspected(struct listing *listing)
{
    if (listing->split) {
        listing->at.to = listing->next;
        end_page(listing);
        return;
    }
    size_t room = listing->limit - listing->count;
    listing->keys = keys_for(room, listing->keys, listing->names.count);
    listing->at.from = listing->next;
    listing->at.to = 0;
    listing->at.after[0] = '\0';
    if (listing->next != 0 || leave_master(listing))
        next_step(listing);
}

/* Inspects the next of the names: not all at once, to leave calls to others. */
static void inspect_some(struct listing *listing)
{
    size_t begin = listing->inspected;
    size_t end = begin + SERVER_LISTING_CALLS;
    if (end > listing->names.count)
        end = listing->names.count;
    if (begin == end) {
        inspected(listing);
        return;
    }
    /* No timeout is needed: the core answers each call in time. */
    uv_timer_stop(&listing->timer);
    listing->phase = PHASE_INSPECTING;
    listing->inspected = end;
    listing->owed = (unsigned)(end - begin);
    for (size_t k = begin; k < end; k++)
        inspect(listing, listing->names.name[k].text);
}

static void add_lock(struct listing *listing, const struct fence_answer *seen)
{
    assert(listing->count < listing->limit);
    struct fence_listed *lock = &listing->locks[listing->count++];
    (void)snprintf(lock->resource, sizeof(lock->resource), "%s", seen->resource);
    (void)snprintf(lock->owner, sizeof(lock->owner), "%s", seen->owner);
    lock->token = seen->token;
    lock->remaining_ms = seen->remaining_ms;
}

void server_listings_answer(struct server_listings *listings, const struct fence_answer *answer)
{
    assert(answer->origin == FENCE_ORIGIN_LISTING && answer->client < SERVER_LISTINGS);
    struct listing *listing = &listings->listing[answer->client];
    if (listing->phase == PHASE_INSPECTING && answer->error) {
        note_error(listing, answer->error);
        memcpy(listing->parts, answer->parts, sizeof(listing->parts));
    } else if (listing->phase == PHASE_INSPECTING && answer->held) {
        add_lock(listing, answer);
    }
    settle(listing);
}

/* ---- sifting --------------------------------------------------------------------------------- */

/* What is left of the names is new. Where it does not fit, the step is made again, smaller, or left
 * to the next page. */
static void sifted(struct listing *listing)
{
    fence_listing_names_drop_known(&listing->names, listing->at.walked, listing->at.walking);
    size_t room = listing->limit - listing->count;
    size_t found = listing->names.count;
    if (found > room && listing->keys > 1) {
        unsigned half = listing->keys / 2;
        unsigned fewer = keys_for(room, listing->keys, found);
        listing->keys = fewer < half ? fewer : half;
        next_step(listing);
        return;
    }
    if (found > room && listing->count > 0) {
        end_page(listing);
        return;
    }
    if (found > room) {
        listing->split = true;
        listing->names.count = room;
        memcpy(listing->at.after, listing->names.name[room - 1].text, sizeof(listing->at.after));
    }
    listing->inspected = 0;
    inspect_some(listing);
}

static void on_holders(void *context, unsigned i, const struct fence_found *found)
{
    struct listing *listing = context;
    bool told = take_answer(listing, i, found);
    if (told && found->count != listing->names.count)
        note_error(listing, FENCE_EIO);
    else if (told && found->error)
        note_error(listing, found->error);
    else if (told)
        for (size_t k = 0; k < found->count; k++)
            listing->names.holder[k].on[i] = found->holders[k];
    settle(listing);
}

static void scanned(struct listing *listing)
{
    const struct fence_listing_names *names = &listing->names;
    if (listing->at.after[0] != '\0' && listing->next == listing->at.to)
        fence_listing_names_drop_through(&listing->names, listing->at.after);
    if (listing->at.walked == 0 || names->count == 0) {
        sifted(listing);
        return;
    }
    uint32_t asked = listing->at.walked | UINT32_C(1) << listing->at.walking;
    for (unsigned i = 0; i < fleet_of(listing)->n; i++)
        if ((asked >> i & 1) && is_active(listing, i))
            note_asked(listing, i,
                       storage_master_holders(server_driver_master(listing->all->config.driver, i),
                                              names->name, names->count, on_holders, listing));
    await(listing, PHASE_SIFTING);
}

/* ---- scanning -------------------------------------------------------------------------------- */

static void on_scanned(void *context, unsigned i, const struct fence_found *found)
{
    struct listing *listing = context;
    if (take_answer(listing, i, found)) {
        listing->next = found->next;
        int error = found->error ? found->error : take_names(listing, found);
        if (error)
            note_error(listing, error);
    }
    settle(listing);
}

/* From its first name on: some that were gone through at the one before are listed once more. */
static int walk_another(struct listing *listing)
{
    listing->at.from = 0;
    listing->at.to = 0;
    listing->at.after[0] = '\0';
    return choose_master(listing);
}

/* Whether the master being walked can be asked, and is the process that it was. Where it went down,
 * another takes its turn. */
static int check_master(struct listing *listing)
{
    const struct fence_fleet *fleet = fleet_of(listing);
    const char *run_id = fleet->master[listing->at.walking].facts.server_id;
    if (!fence_fleet_ready(fleet))
        return FENCE_ENOQUORUM;
    if (!is_active(listing, listing->at.walking))
        return walk_another(listing);
    return fence_hash(run_id, strlen(run_id), 0) == listing->at.process ? 0 : FENCE_EINVAL;
}

/* Asks for the names from listing->at on, if the page has room and steps left. */
static void next_step(struct listing *listing)
{
    clear_names(listing);
    if (listing->count == listing->limit || listing->steps == SERVER_LISTING_STEPS) {
        end_page(listing);
        return;
    }
    int error = check_master(listing);
    if (error) {
        answer(listing, error, NULL);
        return;
    }
    unsigned i = listing->at.walking;
    listing->steps++;
    note_asked(listing, i,
               storage_master_scan(server_driver_master(listing->all->config.driver, i),
                                   listing->at.from, listing->prefix, listing->keys, on_scanned,
                                   listing));
    await(listing, PHASE_SCANNING);
}

/* ---- a call ---------------------------------------------------------------------------------- */

static void on_timer(uv_timer_t *timer)
{
    struct listing *listing = timer->data;
    if (listing->owed > 0)
        give_up(listing);
    else if (listing->error)
        answer(listing, listing->error, NULL);
    else if (listing->phase == PHASE_SCANNING)
        scanned(listing);
    else if (listing->phase == PHASE_SIFTING)
        sifted(listing);
    else
        inspect_some(listing);
}

/* Where the page begins. */
static int find_start(struct listing *listing, const char *cursor)
{
    const struct fence_fleet *fleet = fleet_of(listing);
    if (fleet->fleet_id[0] == '\0')
        return FENCE_ENOTREADY;
    if (cursor[0] == '\0')
        return choose_master(listing);
    return fence_listing_cursor_read(cursor, listing->prefix, fleet->n, &listing->at);
}

static void begin(struct listing *listing, const struct fence_listing_call *call)
{
    listing->client = call->client;
    listing->limit = call->limit;
    (void)snprintf(listing->prefix, sizeof(listing->prefix), "%s", call->prefix);
    memset(&listing->at, 0, sizeof(listing->at));
    memset(listing->parts, 0, sizeof(listing->parts));
    listing->error = 0;
    listing->asked = 0;
    listing->steps = 0;
    listing->split = false;
    listing->count = 0;
    int error = find_start(listing, call->cursor);
    if (!error) {
        listing->locks = calloc(listing->limit, sizeof(listing->locks[0]));
        error = listing->locks ? 0 : FENCE_ENOMEM;
    }
    if (error) {
        answer(listing, error, NULL);
        return;
    }
    /* As if all keys were new locks; within a step that was split, as that was. */
    listing->keys = keys_for(listing->limit, 1, 1);
    if (listing->at.after[0] != '\0')
        listing->keys = 1;
    next_step(listing);
}

void server_listings_call(struct server_listings *listings, const struct fence_listing_call *call)
{
    assert(call->limit >= 1 && call->limit <= API_LISTING_LIMIT_MAX);
    for (unsigned i = 0; i < SERVER_LISTINGS; i++) {
        if (listings->listing[i].phase != PHASE_IDLE)
            continue;
        begin(&listings->listing[i], call);
        return;
    }
    const struct fence_listing_answer busy = {.client = call->client, .error = FENCE_EBUSY};
    listings->config.answer(listings->config.context, &busy);
}

/* ---- the owner's side ------------------------------------------------------------------------ */

int server_listings_new(const struct server_listings_config *config,
                        struct server_listings **ret_listings)
{
    struct server_listings *listings = calloc(1, sizeof(*listings));
    if (!listings)
        return FENCE_ENOMEM;
    listings->config = *config;
    for (unsigned i = 0; i < SERVER_LISTINGS; i++) {
        struct listing *listing = &listings->listing[i];
        listing->all = listings;
        listing->slot = i;
        int failed = uv_timer_init(config->loop, &listing->timer);
        assert(!failed); /* it only fills in memory */
        listing->timer.data = listing;
    }
    listings->handles = SERVER_LISTINGS;
    *ret_listings = listings;
    return 0;
}

static void on_closed(uv_handle_t *handle)
{
    struct listing *listing = handle->data;
    struct server_listings *listings = listing->all;
    if (--listings->handles == 0)
        free(listings);
}

void server_listings_free(struct server_listings *listings)
{
    if (!listings)
        return;
    for (unsigned i = 0; i < SERVER_LISTINGS; i++) {
        struct listing *listing = &listings->listing[i];
        clear_names(listing);
        free(listing->locks);
        uv_close((uv_handle_t *)&listing->timer, on_closed);
    }
}
