#include "tests/sim/world/listing.h"

#include "tests/sim/masters/scan.h"
#include "tests/sim/world/world.h"

#include <inttypes.h>
#include <string.h>

enum {
    STREAM = 5000, /* part of the seed's random numbers */

    /* Per mille. */
    RESIZES = 200, /* share of the steps of a scan: the table is resized just before */
    REPEATS = 100, /* a name is given twice */
    DALLIES = 400, /* share of the pauses between two pages: it is a long one */

    LISTINGS_MAX = 10,
    PAGES_MAX = 64,             /* then the client has had enough */
    PAUSE_US = 3000,            /* at most, between two pages */
    LONG_PAUSE_US = 100 * 1000, /* and between two listings */
};

static struct sim_page_maker *maker_at(struct sim_world *world, unsigned s)
{
    return &world->listing.makers[s];
}

static void resize(struct sim_listing *listing, unsigned machine)
{
    listing->table[machine] = (uint8_t)sim_rng_below(&listing->rng, SIM_TABLE_BITS_MAX + 1);
}

/* ---- who lists ------------------------------------------------------------------------------- */

static void go_on_within(struct sim_world *world, uint32_t within_us)
{
    struct sim_event event = {.kind = SIM_EVENT_LIST};
    sim_world_schedule(world, 1 + sim_rng_below(&world->listing.rng, within_us), &event);
}

void sim_listing_start(struct sim_world *world, uint64_t seed)
{
    struct sim_listing *listing = &world->listing;
    sim_rng_init(&listing->rng, seed, STREAM);
    listing->listed.under_way = false;
    listing->server = SIM_SERVERS_MAX;
    if (!world->plan.lists)
        return;
    listing->left = sim_rng_between(&listing->rng, 1, LISTINGS_MAX);
    listing->pages = 0;
    for (unsigned m = 0; m < SIM_MACHINES_MAX; m++)
        resize(listing, m);
    for (unsigned s = 0; s < world->plan.servers; s++)
        sim_listing_crashed(world, s);
    go_on_within(world, LONG_PAUSE_US);
}

static void end_listing(struct sim_world *world)
{
    world->listing.pages = 0;
    world->listing.server = SIM_SERVERS_MAX;
    sim_listed_give_up(world);
    go_on_within(world, LONG_PAUSE_US);
}

static void begin_listing(struct sim_world *world)
{
    struct sim_listing *listing = &world->listing;
    listing->left--;
    listing->limit = sim_rng_between(&listing->rng, 1, SIM_PAGE_MAX);
    listing->cursor[0] = '\0';
    sim_listed_begin(world);
}

static void step(struct sim_world *world, unsigned s, struct fence_listing_event *event);

static void begin_page(struct sim_world *world, unsigned s)
{
    struct sim_listing *listing = &world->listing;
    const struct fence_listing_call call = {
        .client = ++listing->pages,
        .prefix = "",
        .cursor = listing->cursor,
        .limit = listing->limit,
    };
    struct fence_listing_event event = {
        .kind = FENCE_LISTING_EVENT_BEGIN,
        .begin = {.call = &call, .locks = listing->makers[s].locks},
    };
    SIM_SAY(world, "server %u makes page %u of a listing, of %u, from \"%s\"", s, listing->pages,
            listing->limit, listing->cursor);
    listing->server = s;
    world->stats.listing_pages++;
    sim_listed_page_begins(world, s);
    step(world, s, &event);
}

/* Once all is well again no client lists: the world asks then. */
void sim_listing_act(struct sim_world *world)
{
    struct sim_listing *listing = &world->listing;
    unsigned s = sim_rng_below(&listing->rng, world->plan.servers);
    bool begins = listing->pages == 0;
    if (world->chaos.healed || (begins && listing->left == 0)) {
        sim_listed_give_up(world);
        return;
    }
    if (!fence_listing_is_idle(&listing->makers[s].page) || listing->pages == PAGES_MAX) {
        world->stats.listings_put_off++;
        end_listing(world);
        return;
    }
    if (begins)
        begin_listing(world);
    begin_page(world, s);
}

static void answered(struct sim_world *world, unsigned s, const struct fence_listing_answer *page)
{
    struct sim_listing *listing = &world->listing;
    SIM_SAY(world, "server %u answers page %" PRIu64 ": %s, %zu locks, cursor %s", s, page->client,
            fence_strerror(page->error), page->count, page->next_cursor ? page->next_cursor : "-");
    if (s != listing->server || page->client != listing->pages) {
        sim_check_fail(&world->check, "L3: server %u answers a page that is not awaited", s);
        return;
    }
    listing->server = SIM_SERVERS_MAX;
    if (page->error) {
        world->stats.listings_outdated += page->error == FENCE_EINVAL;
        world->stats.listings_failed += page->error != FENCE_EINVAL;
        end_listing(world);
        return;
    }
    sim_listed_page(world, page);
    if (page->next_cursor) {
        memcpy(listing->cursor, page->next_cursor, strlen(page->next_cursor) + 1);
        go_on_within(world, sim_rng_chance(&listing->rng, DALLIES) ? LONG_PAUSE_US : PAUSE_US);
        return;
    }
    world->stats.listings_ended++;
    sim_listed_end(world);
    end_listing(world);
}

void sim_listing_crashed(struct sim_world *world, unsigned s)
{
    struct sim_page_maker *maker = maker_at(world, s);
    if (!world->plan.lists)
        return;
    fence_listing_init(&maker->page);
    maker->tick_at_us = FENCE_NEVER;
    maker->inspecting = 0;
    if (world->listing.server == s)
        end_listing(world);
}

/* ---- what the machine asks ------------------------------------------------------------------- */

static void told_nothing(struct sim_world *world, unsigned s, unsigned i,
                         enum fence_listing_event_kind kind)
{
    const struct fence_found none = {.part = FENCE_PART_TIMEOUT};
    struct fence_listing_event event = {.kind = kind, .told = {.master = i, .found = &none}};
    step(world, s, &event);
}

static void scan(struct sim_world *world, unsigned s, const struct fence_listing_effect *effect)
{
    unsigned i = (unsigned)__builtin_ctz(effect->masters);
    const struct sim_request request = {
        .ask = SIM_ASK_SCAN,
        .member = i,
        .scan = {.cursor = effect->scan.cursor, .keys = effect->scan.keys},
    };
    world->stats.scans++;
    if (sim_network_can_ask(world, s, i))
        sim_network_send(world, s, i, &request);
    else
        told_nothing(world, s, i, FENCE_LISTING_EVENT_SCANNED);
}

static void ask_holders(struct sim_world *world, unsigned s,
                        const struct fence_listing_effect *effect)
{
    struct sim_request request = {
        .ask = SIM_ASK_HOLDERS,
        .scan = {.count = (unsigned)effect->names.count},
    };
    for (size_t k = 0; k < effect->names.count; k++)
        request.scan.resource[k] = sim_resource_number(effect->names.name[k].text);
    for (unsigned i = 0; i < world->plan.masters; i++) {
        request.member = i;
        if (!(effect->masters >> i & 1))
            continue;
        world->stats.holders_asked++;
        if (sim_network_can_ask(world, s, i))
            sim_network_send(world, s, i, &request);
        else
            told_nothing(world, s, i, FENCE_LISTING_EVENT_HOLDERS);
    }
}

static void inspect(struct sim_world *world, unsigned s, const struct fence_listing_effect *effect)
{
    maker_at(world, s)->inspecting += (unsigned)effect->names.count;
    for (size_t k = 0; k < effect->names.count && sim_check_ok(&world->check); k++) {
        bool is_ours = effect->names.name[k].text[0] == 'r';
        struct fence_event event = {
            .kind = FENCE_EVENT_CALL,
            .call = {.kind = FENCE_CALL_INSPECT,
                     .origin = FENCE_ORIGIN_LISTING,
                     .client = s,
                     .resource = is_ours ? effect->names.name[k].text : sim_resource_text(0),
                     .lock_id = "",
                     .owner = ""},
        };
        world->stats.listings_gave_up += !is_ours;
        sim_server_step(world, s, &event);
    }
}

static void act(struct sim_world *world, unsigned s, const struct fence_listing_effect *effect)
{
    switch (effect->kind) {
    case FENCE_LISTING_EFFECT_SCAN:
        scan(world, s, effect);
        break;
    case FENCE_LISTING_EFFECT_HOLDERS:
        ask_holders(world, s, effect);
        break;
    case FENCE_LISTING_EFFECT_INSPECT:
        inspect(world, s, effect);
        break;
    case FENCE_LISTING_EFFECT_ANSWER:
        answered(world, s, &effect->answer);
        break;
    }
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void schedule_tick(struct sim_world *world, unsigned s)
{
    struct sim_page_maker *maker = maker_at(world, s);
    uint64_t deadline_us = fence_listing_deadline(&maker->page);
    if (deadline_us == FENCE_NEVER)
        return;
    uint64_t at_us = sim_clock_when(&world->servers[s].clock, deadline_us);
    if (at_us < world->now_us)
        at_us = world->now_us;
    if (at_us >= maker->tick_at_us)
        return;
    maker->tick_at_us = at_us;
    struct sim_event event = {.kind = SIM_EVENT_LISTING_TICK, .server = (uint8_t)s};
    sim_world_schedule(world, at_us - world->now_us, &event);
}

/* L3: a page waits for the core, which answers in time, or until a deadline. */
static void check_ends(struct sim_world *world, unsigned s, uint64_t now_us)
{
    const struct sim_page_maker *maker = maker_at(world, s);
    uint64_t deadline_us = fence_listing_deadline(&maker->page);
    if (world->listing.server == s && maker->inspecting == 0 &&
        deadline_us > now_us + FENCE_LISTING_PATIENCE_US)
        sim_check_fail(&world->check, "L3: a page at server %u waits for masters without a limit",
                       s);
}

static void step(struct sim_world *world, unsigned s, struct fence_listing_event *event)
{
    struct sim_page_maker *maker = maker_at(world, s);
    struct fence_listing_effects effects;
    event->now_us = sim_clock_read(&world->servers[s].clock, world->now_us);
    event->fleet = fence_core_fleet(world->servers[s].core);
    fence_listing_step(&maker->page, event, &effects);
    fence_listing_check(&maker->page);
    for (unsigned k = 0; k < effects.count && sim_check_ok(&world->check); k++)
        act(world, s, &effects.items[k]);
    check_ends(world, s, event->now_us);
    schedule_tick(world, s);
}

void sim_listing_tick(struct sim_world *world, unsigned s)
{
    struct sim_page_maker *maker = maker_at(world, s);
    struct fence_listing_event event = {.kind = FENCE_LISTING_EVENT_TICK};
    if (maker->tick_at_us > world->now_us)
        return; /* scheduled before an earlier one, which has looked already */
    maker->tick_at_us = FENCE_NEVER;
    step(world, s, &event);
}

void sim_listing_inspected(struct sim_world *world, unsigned s, const struct fence_answer *answer)
{
    sim_listed_inspected(world, sim_resource_number(answer->resource), sim_check_unheard(answer));
    struct fence_listing_event event = {
        .kind = FENCE_LISTING_EVENT_INSPECTED,
        .answer = answer,
    };
    maker_at(world, s)->inspecting--;
    step(world, s, &event);
}

void sim_listing_told(struct sim_world *world, unsigned s, unsigned i,
                      const struct sim_message *message, enum fence_part part)
{
    struct sim_page_maker *maker = maker_at(world, s);
    const struct sim_scan_reply *reply = &message->reply.scan;
    const char *names[SIM_FOUND_MAX];
    for (unsigned k = 0; k < reply->count; k++)
        names[k] = sim_resource_text(reply->found[k]);
    const struct fence_found found = {
        .part = part == FENCE_PART_GRANTED && reply->refused ? FENCE_PART_REFUSED : part,
        .next = reply->next,
        .count = reply->count,
        .names = names,
        .holders = reply->holder,
    };
    struct fence_listing_event event = {
        .kind = message->request.ask == SIM_ASK_SCAN ? FENCE_LISTING_EVENT_SCANNED
                                                     : FENCE_LISTING_EVENT_HOLDERS,
        .told = {.master = i,
                 .found = &found,
                 .room = {.name = maker->name, .holder = maker->holder}},
    };
    step(world, s, &event);
}

void sim_listing_check_over(struct sim_world *world)
{
    if (world->listing.server != SIM_SERVERS_MAX)
        sim_check_fail(&world->check, "L3: server %u never answered a page", world->listing.server);
}

/* ---- at a master ----------------------------------------------------------------------------- */

struct sim_reply sim_listing_execute(struct sim_world *world, unsigned machine,
                                     const struct sim_request *request)
{
    const struct sim_master *master = &world->machines[machine];
    struct sim_reply reply = {.kind = FENCE_REPLY_YES};
    if (sim_chaos_strikes(&world->chaos, SIM_FAULT_PAGES)) {
        reply.scan.refused = true;
        return reply;
    }
    if (request->ask == SIM_ASK_HOLDERS) {
        reply.scan = sim_scan_holders(master, &request->scan, world->now_us);
        return reply;
    }
    if (sim_rng_chance(&world->listing.rng, RESIZES))
        resize(&world->listing, machine);
    reply.scan =
        sim_scan_step(master, world->listing.table[machine], &request->scan, world->now_us);
    if (reply.scan.count > 0 && sim_rng_chance(&world->listing.rng, REPEATS)) {
        reply.scan.found[reply.scan.count] = reply.scan.found[0];
        reply.scan.count++;
    }
    return reply;
}
