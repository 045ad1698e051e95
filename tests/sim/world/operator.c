#include "tests/sim/world/operator.h"

#include "fence/protocol/lease.h"
#include "tests/sim/promises/voters.h"
#include "tests/sim/world/healing.h"
#include "tests/sim/world/world.h"

#include <inttypes.h>

enum {
    STREAM = 8192, /* of the seed's random numbers */

    /* Per mille of the requests. */
    UNREACHED = 10, /* the connection ends before it */
    UNHEARD = 20,   /* the same, behind it */
    COPIED = 60,    /* it is executed again, some time later */

    UNSEEN = 1000,   /* tokens, at most, that were granted and that no guard has seen */
    MISTAKES = 200,  /* per mille of the runs in calm worlds: for a new fleet */
    UNNAMED = 500,   /* per mille of the runs that may do without the operator's number */
    CALM_TRIES = 2,  /* runs that fail in calm worlds, too */
    TRIES_MAX = 200, /* of one operator */
    DEADLINE_US = 2000 * 1000,
    PAUSE_US = 50 * 1000, /* at most, before a run is made again */
};

/* The id of a BOOTSTRAP event; its client is the operator. */
enum {
    BEGINS,
    ARRIVES,
    REPLIED,
    NO_REPLY,
    TIME_IS_UP,
    COPY_ARRIVES, /* and the rest of the id is which */
};

static unsigned index_of(const struct sim_world *world, const struct sim_operator *operator)
{
    return (unsigned)(operator- world->operators.one);
}

/* What happens next to @operator. It takes the place of all that was to happen. */
static void schedule_turn(struct sim_world *world, struct sim_operator *operator, uint64_t after_us,
                          uint32_t id)
{
    struct sim_event event = {
        .kind = SIM_EVENT_BOOTSTRAP,
        .client = (uint8_t)index_of(world, operator),
        .generation = ++operator->turn,
        .id = id,
    };
    sim_world_schedule(world, after_us, &event);
}

static uint64_t delay_us(struct sim_world *world)
{
    return sim_chaos_delay_us(&world->chaos, &world->operators.rng, 0);
}

static struct sim_master *master_of(struct sim_world *world, const struct sim_operator *operator,
                                    unsigned i)
{
    return &world->machines[operator->link[i].machine];
}

/* Reports whether something may go wrong with a request now. */
static bool may_fail(const struct sim_world *world, const struct sim_operator *operator)
{
    return !world->chaos.healed || operator->tries <= CALM_TRIES;
}

/* ---- a request ------------------------------------------------------------------------------- */

static struct sim_request request_of(const struct sim_operator *operator)
{
    const struct fence_bootstrap_effect *effect = &operator->effect;
    struct sim_request request = {.ask = SIM_ASK_FACTS};
    if (effect->act == FENCE_BOOTSTRAP_SEND)
        request = sim_rejoin_request(&effect->request);
    request.member = effect->master;
    return request;
}

static struct sim_reply execute(struct sim_world *world, unsigned machine,
                                const struct sim_request *request, bool copy)
{
    struct sim_master *master = &world->machines[machine];
    struct sim_reply reply = sim_master_execute(master, request, copy, world->now_us);
    bool done = reply.outcome == FENCE_REJOIN_DONE;
    enum fence_rejoin_step step = request->rejoin.step;
    if (request->ask == SIM_ASK_FACTS)
        return reply;
    SIM_SAY(world, "  master %u: %s%s of an operator, incarnation %04x: %s %" PRId64,
            request->member, copy ? "again " : "", sim_request_name(request),
            (unsigned)(request->rejoin.incarnation & 0xffff), sim_reply_name(request, &reply),
            reply.highest);
    world->stats.bootstrap_copies += copy && done;
    sim_freedom_note_all(world, machine);
    if (done && step == FENCE_REJOIN_ADMIT)
        sim_check_mended(&world->check); /* a majority may grant from the next one on */
    sim_voters_check(world);
    return reply;
}

static void perhaps_copy(struct sim_world *world, const struct sim_operator *operator, unsigned i)
{
    struct sim_operators *operators = &world->operators;
    if (operator->effect.act != FENCE_BOOTSTRAP_SEND || !may_fail(world, operator) ||
        !sim_rng_chance(&operators->rng, COPIED))
        return;
    unsigned slot = operators->copies++ % SIM_OPERATOR_COPIES;
    operators->copy[slot] =
        (struct sim_copy){.request = request_of(operator), .machine = operator->link[i].machine };
    struct sim_event event = {.kind = SIM_EVENT_BOOTSTRAP, .id = COPY_ARRIVES + slot};
    sim_world_schedule(world, sim_rng_below(&operators->rng, world->plan.slow_us), &event);
}

/* The connection of a run is made with its look, and stays with that process. */
static bool is_connected(struct sim_world *world, struct sim_operator *operator, unsigned i)
{
    if (operator->effect.act == FENCE_BOOTSTRAP_LOOK) {
        operator->link[i].machine = world->address[i];
        operator->link[i].run = world->machines[world->address[i]].run;
    }
    return operator->link[i].run == master_of(world, operator, i)->run;
}

static void arrive(struct sim_world *world, struct sim_operator *operator)
{
    const unsigned i = operator->effect.master;
    struct sim_rng *rng = &world->operators.rng;
    const bool connected = is_connected(world, operator, i);
    const uint64_t stopped_until_us = master_of(world, operator, i)->stopped_until_us;
    if (connected && stopped_until_us > world->now_us) {
        uint64_t left_us = stopped_until_us - world->now_us;
        schedule_turn(world, operator, left_us<DEADLINE_US ? left_us : DEADLINE_US,
                      left_us < DEADLINE_US ? ARRIVES : NO_REPLY);
        return;
    }
    perhaps_copy(world, operator, i);
    if (!connected || (may_fail(world, operator) && sim_rng_chance(rng, UNREACHED))) {
        schedule_turn(world, operator, delay_us(world), NO_REPLY);
        return;
    }
    struct sim_request request = request_of(operator);
    operator->reply = execute(world, operator->link[i].machine, &request, false);
    bool heard =
        !(may_fail(world, operator) && sim_rng_chance(rng, UNHEARD)) && !operator->reply.undurable;
    schedule_turn(world, operator, delay_us(world), heard ? REPLIED : NO_REPLY);
}

/* ---- a run ----------------------------------------------------------------------------------- */

static void carry_out(struct sim_world *world, struct sim_operator *operator);

static void step(struct sim_world *world, struct sim_operator *operator,
                 struct fence_bootstrap_event * event)
{
    event->now_us = sim_clock_read(&operator->clock, world->now_us);
    event->master = operator->effect.master;
    fence_bootstrap_step(&operator->bootstrap, event, &operator->effect);
    sim_trace_mix(&world->trace, (uint64_t) operator->effect.act << 8 | operator->effect.master);
    carry_out(world, operator);
}

static int64_t highest_token(const struct sim_world *world)
{
    int64_t highest = 0;
    for (uint32_t r = 0; r < world->plan.resources; r++)
        if (highest < world->check.grants[r].highest)
            highest = world->check.grants[r].highest;
    return highest;
}

/* Reports whether a survivor tells of the last floor and of the tokens, whatever the operator says.
 */
static bool survivor_tells(const struct sim_world *world, int64_t highest)
{
    for (unsigned i = 0; i < world->plan.masters; i++) {
        const struct sim_master *master = &world->machines[world->address[i]];
        const struct sim_memory *memory = &master->memory;
        bool tells = memory->marker.present && memory->counters.floor >= world->operators.named;
        for (uint32_t slot = 0; tells && slot < master->slots; slot++)
            if (sim_master_counter(master, slot) + FENCE_FLOOR_MARGIN > highest)
                return true;
    }
    return false;
}

/* What guards saw is less than what was granted. No floor that a run named is forgotten; but where
 * a survivor tells of it, and nothing goes wrong any more, it may be. */
static int64_t draw_seen(struct sim_world *world)
{
    struct sim_rng *rng = &world->operators.rng;
    int64_t highest = highest_token(world);
    int64_t seen = highest - sim_rng_below(rng, UNSEEN);
    if (world->chaos.healed && survivor_tells(world, highest) && sim_rng_chance(rng, UNNAMED))
        return 0;
    if (seen < world->operators.named)
        seen = world->operators.named;
    return seen > 0 ? seen : 0;
}

/* A new fleet by mistake: where some master is left that tells of tokens, and will go on to. */
static bool mistakes(struct sim_world *world, const struct sim_operator *operator)
{
    if (!world->chaos.healed ||
        !operator->goes_on || !sim_rng_chance(&world->operators.rng, MISTAKES))
        return false;
    for (unsigned i = 0; i < world->plan.masters; i++) {
        const struct sim_marker *marker = &world->machines[world->address[i]].memory.marker;
        if (marker->present && (marker->active || marker->init == FENCE_MARK_FLOOR))
            return true;
    }
    return false;
}

static void begin_run(struct sim_world *world, struct sim_operator *operator)
{
    if (++operator->tries> TRIES_MAX) {
        sim_check_fail(&world->check, "P3: an operator comes to no end");
        return;
    }
    operator->tries_new = mistakes(world, operator);
    struct fence_bootstrap_params params = {
        .n = world->plan.masters,
        .goes_on = operator->goes_on && !operator->tries_new,
        .ttl_max_ms = world->plan.ttl_high_ms,
        .readers = world->plan.resources,
        .extensions_max = world->plan.extensions,
    };
    sim_fleet_text(params.fleet_id);
    if (params.goes_on)
        params.seen = draw_seen(world);
    for (unsigned i = 0; i < params.n; i++)
        params.random[i] = sim_rng_next(&world->operators.rng);
    SIM_SAY(world, "operator %u begins: %s %" PRId64, index_of(world, operator),
            params.goes_on ? "a floor above" : "a new fleet,", params.seen);
    fence_bootstrap_init(&operator->bootstrap, &params);
    struct fence_bootstrap_event event = {.kind = FENCE_BOOTSTRAP_BEGIN};
    step(world, operator, & event);
}

/* ---- its end --------------------------------------------------------------------------------- */

static void count_end(struct sim_world *world, const struct fence_bootstrap *bootstrap)
{
    struct sim_stats *stats = &world->stats;
    bool done = bootstrap->outcome.failure == FENCE_BOOTSTRAP_DONE;
    stats->bootstraps_new += done && !bootstrap->params.goes_on;
    stats->bootstraps_floor += done && bootstrap->params.goes_on;
    stats->bootstraps_broken += !done && bootstrap->outcome.state != FENCE_BOOTSTRAP_LOOKING;
    stats->bootstraps_refused += !done && bootstrap->outcome.state == FENCE_BOOTSTRAP_LOOKING &&
                                 bootstrap->outcome.failure != FENCE_BOOTSTRAP_LOST_ONE;
}

/* Reports whether the fleet goes on: by this run, by another, or since nothing was lost. */
static bool is_over(const struct fence_bootstrap *bootstrap)
{
    const struct fence_bootstrap_outcome *outcome = &bootstrap->outcome;
    return outcome->failure == FENCE_BOOTSTRAP_DONE ||
           outcome->failure == FENCE_BOOTSTRAP_NOTHING_LOST ||
           outcome->admitted >= fence_majority(bootstrap->params.n);
}

/* The second operator leaves it to the first as long as both are at it. Else neither comes to an
 * end. A fleet that is made already is none of its business. */
static bool gives_way(const struct sim_world *world, const struct sim_operator *operator)
{
    switch (operator->bootstrap.outcome.failure) {
    case FENCE_BOOTSTRAP_CHANGED:
    case FENCE_BOOTSTRAP_TAKEN_OVER:
        return index_of(world, operator) > 0 && world->operators.one[0].needed;
    case FENCE_BOOTSTRAP_MARKED:
    case FENCE_BOOTSTRAP_CUT_SHORT:
        return index_of(world, operator) > 0 && !operator->tries_new;
    default:
        return false;
    }
}

/* Does as the sentence says that the run ended with. */
static void end_run(struct sim_world *world, struct sim_operator *operator)
{
    const struct fence_bootstrap *bootstrap = &operator->bootstrap;
    const bool admitting = bootstrap->outcome.state == FENCE_BOOTSTRAP_ADMITTING;
    const bool done = bootstrap->outcome.failure == FENCE_BOOTSTRAP_DONE;
    SIM_SAY(world, "operator %u ends: failure %d, %u admitted, floor %" PRId64,
            index_of(world, operator), (int)bootstrap->outcome.failure, bootstrap->outcome.admitted,
            bootstrap->floor);
    count_end(world, bootstrap);
    if ((done || admitting) && world->operators.named < bootstrap->floor)
        world->operators.named = bootstrap->floor;
    operator->goes_on = operator->goes_on || admitting ||
        bootstrap->outcome.failure == FENCE_BOOTSTRAP_MARKED ||
        bootstrap->outcome.failure == FENCE_BOOTSTRAP_CUT_SHORT;
    operator->needed = !is_over(bootstrap) && !gives_way(world, operator);
    if (operator->needed)
        schedule_turn(world, operator, sim_rng_below(&world->operators.rng, PAUSE_US), BEGINS);
    else if (!sim_operators_are_busy(world))
        sim_healing_fleet_is_made(world);
}

static void carry_out(struct sim_world *world, struct sim_operator *operator)
{
    const struct fence_bootstrap_effect *effect = &operator->effect;
    if (effect->act == FENCE_BOOTSTRAP_END) {
        end_run(world, operator);
    } else if (effect->act == FENCE_BOOTSTRAP_WAIT) {
        uint64_t at_us = sim_clock_when(&operator->clock, effect->until_us);
        schedule_turn(world, operator, at_us> world->now_us ? at_us - world->now_us : 0,
                      TIME_IS_UP);
    } else {
        schedule_turn(world, operator, delay_us(world), ARRIVES);
    }
}

/* ---- the world's side ------------------------------------------------------------------------ */

void sim_operators_init(struct sim_world *world, uint64_t seed)
{
    struct sim_operators *operators = &world->operators;
    *operators = (struct sim_operators){.copies = 0};
    sim_rng_init(&operators->rng, seed, STREAM);
    for (unsigned o = 0; o < SIM_OPERATORS; o++)
        operators->one[o].clock = (struct sim_clock){
            .offset_us = sim_rng_below(&operators->rng, 1000 * 1000),
            .rate_ppm = sim_plan_draw_rate(&world->plan, &operators->rng),
        };
}

void sim_operator_begin(struct sim_world *world, bool goes_on)
{
    struct sim_rng *rng = &world->operators.rng;
    const unsigned count = 1 + sim_rng_below(rng, SIM_OPERATORS);
    sim_actions_leave_out(world, SIM_LEFT_OUT_operator);
    for (unsigned o = 0; o < count; o++) {
        struct sim_operator *operator= & world->operators.one[o];
        operator->needed = true;
        operator->goes_on = goes_on;
        operator->tries = 0;
        schedule_turn(world, operator,
                      o == 0 ? 0 : sim_rng_below(rng, world->plan.ttl_high_ms * 2000), BEGINS);
    }
}

bool sim_operators_are_busy(const struct sim_world *world)
{
    for (unsigned o = 0; o < SIM_OPERATORS; o++)
        if (world->operators.one[o].needed)
            return true;
    return false;
}

static void take_reply(struct sim_world *world, struct sim_operator *operator)
{
    const struct sim_reply *reply = &operator->reply;
    struct fence_facts facts;
    struct fence_rejoin_reply taken = {
        .outcome = reply->outcome, .cursor = reply->cursor, .highest = reply->highest};
    struct fence_bootstrap_event event = {.kind = FENCE_BOOTSTRAP_REPLY, .reply = &taken};
    if (operator->effect.act == FENCE_BOOTSTRAP_LOOK) {
        facts = sim_facts(reply);
        event.kind = FENCE_BOOTSTRAP_FACTS;
        event.facts = &facts;
    }
    step(world, operator, & event);
}

void sim_operator_act(struct sim_world *world, const struct sim_event *event)
{
    struct sim_operator *operator= & world->operators.one[event->client];
    struct fence_bootstrap_event lost = {.kind = FENCE_BOOTSTRAP_LOST};
    struct fence_bootstrap_event time = {.kind = FENCE_BOOTSTRAP_TIME};
    if (event->id >= COPY_ARRIVES) {
        const struct sim_copy *copy = &world->operators.copy[event->id - COPY_ARRIVES];
        (void)execute(world, copy->machine, &copy->request, true);
        return;
    }
    if (event->generation != operator->turn)
        return;
    if (event->id == BEGINS)
        begin_run(world, operator);
    else if (event->id == ARRIVES)
        arrive(world, operator);
    else if (event->id == REPLIED)
        take_reply(world, operator);
    else
        step(world, operator, event->id == TIME_IS_UP ? &time : & lost);
}
