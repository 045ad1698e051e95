#include "server/loop/listing.h"

#include "fence/listing/page.h"
#include "server/system/clock.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct listing {
    struct server_listings *all;
    uint64_t slot;
    uv_timer_t timer; /* the machine's deadline */
    struct fence_listing page;

    /* The parts that the machine borrows. */
    struct fence_listed *locks; /* NULL: the machine has answered */
    struct fence_listing_names room;
};

struct server_listings {
    struct server_listings_config config;
    unsigned handles; /* not yet closed */
    struct listing listing[SERVER_LISTINGS];
};

static void listing_step(struct listing *listing, struct fence_listing_event *event);

/* ---- what the machine borrows ---------------------------------------------------------------- */

static void free_room(struct listing *listing)
{
    free(listing->room.name);
    free(listing->room.holder);
    memset(&listing->room, 0, sizeof(listing->room));
}

/* Makes room for @count names; for none if these are too many. FENCE_ENOMEM. */
static int listing_make_room(struct listing *listing, size_t count)
{
    struct fence_listing_names *room = &listing->room;
    assert(listing->locks); /* a call is under way */
    free_room(listing);
    if (count == 0 || count > FENCE_LISTING_NAMES_MAX)
        return 0;
    room->name = malloc(count * sizeof(room->name[0]));
    room->holder = malloc(count * sizeof(room->holder[0]));
    return room->name && room->holder ? 0 : FENCE_ENOMEM;
}

/* ---- events ---------------------------------------------------------------------------------- */

static void on_timer(uv_timer_t *timer)
{
    struct fence_listing_event event = {.kind = FENCE_LISTING_EVENT_TICK};
    listing_step(timer->data, &event);
}

static void on_listing_scanned(void *context, unsigned i, const struct fence_found *found)
{
    struct listing *listing = context;
    struct fence_found told = *found;
    if (listing->locks && listing_make_room(listing, found->count) != 0)
        told.error = FENCE_ENOMEM;
    struct fence_listing_event event = {
        .kind = FENCE_LISTING_EVENT_SCANNED,
        .told = {.master = i, .found = &told, .room = listing->room},
    };
    listing_step(listing, &event);
}

static void on_listing_holders(void *context, unsigned i, const struct fence_found *found)
{
    struct fence_listing_event event = {
        .kind = FENCE_LISTING_EVENT_HOLDERS,
        .told = {.master = i, .found = found},
    };
    listing_step(context, &event);
}

void server_listings_answer(struct server_listings *listings, const struct fence_answer *answer)
{
    struct fence_listing_event event = {
        .kind = FENCE_LISTING_EVENT_INSPECTED,
        .answer = answer,
    };
    assert(answer->origin == FENCE_ORIGIN_LISTING && answer->client < SERVER_LISTINGS);
    listing_step(&listings->listing[answer->client], &event);
}

/* ---- effects --------------------------------------------------------------------------------- */

/* Returns the answer for a master that could not be asked: as if its connection had just ended. */
static struct fence_found unasked(int error)
{
    return (struct fence_found){
        .part = FENCE_PART_TIMEOUT,
        .error = error == FENCE_ENOMEM ? error : 0,
    };
}

static void scan(struct listing *listing, const struct fence_listing_effect *effect)
{
    assert(__builtin_popcount(effect->masters) == 1 && !fence_listing_is_idle(&listing->page));
    unsigned i = (unsigned)__builtin_ctz(effect->masters);
    struct storage_master *master = server_driver_master(listing->all->config.driver, i);
    const struct fence_scan step = {
        .kind = effect->listed,
        .cursor = effect->scan.cursor,
        .prefix = effect->scan.prefix,
        .keys = effect->scan.keys,
    };
    int error = storage_master_scan(master, &step, on_listing_scanned, listing);
    if (error) {
        const struct fence_found none = unasked(error);
        on_listing_scanned(listing, i, &none);
    }
}

static void ask_holders(struct listing *listing, const struct fence_listing_effect *effect)
{
    assert(effect->masters != 0 && effect->names.count > 0);
    for (uint32_t left = effect->masters; left; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctz(left);
        struct storage_master *master = server_driver_master(listing->all->config.driver, i);
        int error = storage_master_holders(master, effect->listed, effect->names.name,
                                           effect->names.count, on_listing_holders, listing);
        if (error) {
            const struct fence_found none = unasked(error);
            on_listing_holders(listing, i, &none);
        }
    }
}

static void listing_inspect(struct listing *listing, const struct fence_listing_effect *effect)
{
    for (size_t k = 0; k < effect->names.count; k++) {
        const struct fence_call call = {
            .kind =
                effect->listed == FENCE_LISTING_COUNTERS ? FENCE_CALL_COUNT : FENCE_CALL_INSPECT,
            .origin = FENCE_ORIGIN_LISTING,
            .client = listing->slot,
            .resource = effect->names.name[k].text,
            .lock_id = "",
            .owner = "",
        };
        server_driver_call(listing->all->config.driver, &call);
    }
}

/* Answers the call. Another call may take the place before this returns. */
static void listing_answer(struct listing *listing, const struct fence_listing_answer *page)
{
    struct fence_listed *locks = listing->locks;
    assert(locks);
    listing->locks = NULL;
    free_room(listing);
    listing->all->config.answer(listing->all->config.context, page);
    free(locks);
}

static void listing_act(struct listing *listing, const struct fence_listing_effect *effect)
{
    switch (effect->kind) {
    case FENCE_LISTING_EFFECT_SCAN:
        scan(listing, effect);
        break;
    case FENCE_LISTING_EFFECT_HOLDERS:
        ask_holders(listing, effect);
        break;
    case FENCE_LISTING_EFFECT_INSPECT:
        listing_inspect(listing, effect);
        break;
    case FENCE_LISTING_EFFECT_ANSWER:
        listing_answer(listing, &effect->answer);
        break;
    }
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void set_listing_timer(struct listing *listing, uint64_t now_us)
{
    uint64_t deadline_us = fence_listing_deadline(&listing->page);
    uint64_t left_us = deadline_us > now_us ? deadline_us - now_us : 0;
    if (deadline_us == FENCE_NEVER)
        uv_timer_stop(&listing->timer);
    else
        uv_timer_start(&listing->timer, on_timer, (left_us + 999) / 1000, 0);
}

/* Effects may cause events at once. These events are steps within this step: they have no
 * effects. */
static void listing_step(struct listing *listing, struct fence_listing_event *event)
{
    assert(listing->slot < SERVER_LISTINGS);
    struct fence_listing_effects effects;
    event->now_us = server_clock_us();
    event->fleet = server_driver_fleet(listing->all->config.driver);
    fence_listing_step(&listing->page, event, &effects);
    set_listing_timer(listing, event->now_us);
    for (unsigned k = 0; k < effects.count; k++)
        listing_act(listing, &effects.items[k]);
}

/* ---- a call ---------------------------------------------------------------------------------- */

static void refuse(struct server_listings *listings, const struct fence_listing_call *call,
                   int error)
{
    const struct fence_listing_answer page = {
        .kind = call->kind, .client = call->client, .error = error};
    listings->config.answer(listings->config.context, &page);
}

void server_listings_call(struct server_listings *listings, const struct fence_listing_call *call)
{
    struct listing *listing = listings->listing;
    while (listing < listings->listing + SERVER_LISTINGS && !fence_listing_is_idle(&listing->page))
        listing++;
    if (listing == listings->listing + SERVER_LISTINGS) {
        refuse(listings, call, FENCE_EBUSY);
        return;
    }
    assert(!listing->locks && call->limit > 0);
    listing->locks = calloc(call->limit, sizeof(listing->locks[0]));
    if (!listing->locks) {
        refuse(listings, call, FENCE_ENOMEM);
        return;
    }
    struct fence_listing_event event = {
        .kind = FENCE_LISTING_EVENT_BEGIN,
        .begin = {.call = call, .locks = listing->locks},
    };
    listing_step(listing, &event);
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
        fence_listing_init(&listing->page);
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
    assert(listings->handles > 0);
    if (--listings->handles == 0)
        free(listings);
}

void server_listings_free(struct server_listings *listings)
{
    if (!listings)
        return;
    for (unsigned i = 0; i < SERVER_LISTINGS; i++) {
        struct listing *listing = &listings->listing[i];
        free_room(listing);
        free(listing->locks);
        uv_close((uv_handle_t *)&listing->timer, on_closed);
    }
}
