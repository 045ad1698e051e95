#include "fence/bootstrap/bootstrap.h"

#include "fence/base/set.h"
#include "fence/bootstrap/closing.h"
#include "fence/bootstrap/survivors.h"
#include "fence/protocol/lease.h"

#include <assert.h>
#include <string.h>

/* ---- what to ask ----------------------------------------------------------------------------- */

static void ask_end(struct fence_bootstrap *bootstrap, struct fence_bootstrap_effect *effect)
{
    bootstrap->state = FENCE_BOOTSTRAP_ENDED;
    effect->act = FENCE_BOOTSTRAP_END;
}

/* The step of a rejoin that belongs to the state, for the master whose turn it is. */
static void ask_step(struct fence_bootstrap *bootstrap, enum fence_rejoin_step step,
                     struct fence_bootstrap_effect *effect)
{
    assert(bootstrap->at < bootstrap->params.n);
    const unsigned i = bootstrap->at;
    effect->act = FENCE_BOOTSTRAP_SEND;
    effect->master = i;
    effect->request = (struct fence_rejoin_request){
        .step = step,
        .member = i,
        .incarnation = bootstrap->admitted.incarnation[i],
        .fleet_id = step == FENCE_REJOIN_CLOSE ? bootstrap->params.fleet_id : bootstrap->fleet_id,
        .ttl_max_ms = bootstrap->ttl_max_ms,
        .readers = bootstrap->readers,
        .extensions_max = bootstrap->extensions_max,
        .predecessors = &bootstrap->predecessors,
        .seen = &bootstrap->seen[i],
        .keeps = (bootstrap->keeps & fence_set_of(i)) != 0,
        .mark = bootstrap->params.goes_on || bootstrap->params.closes ? FENCE_MARK_FLOOR
                                                                      : FENCE_MARK_NEW,
        .floor = bootstrap->floor,
        .steps = bootstrap->steps[i],
        .cursor = bootstrap->cursor,
        .source = i,
        .page = &bootstrap->empty,
        .view = step == FENCE_REJOIN_MARK ? &bootstrap->known : &bootstrap->admitted,
    };
}

static void ask_look(const struct fence_bootstrap *bootstrap, struct fence_bootstrap_effect *effect)
{
    effect->act = FENCE_BOOTSTRAP_LOOK;
    effect->master = bootstrap->at;
}

static void ask_wait(const struct fence_bootstrap *bootstrap, uint64_t now_us,
                     struct fence_bootstrap_effect *effect)
{
    assert(bootstrap->state == FENCE_BOOTSTRAP_WAITING);
    uint64_t watch_us = now_us + FENCE_BOOTSTRAP_WATCH_US;
    effect->act = FENCE_BOOTSTRAP_WAIT;
    effect->until_us = bootstrap->until_us < watch_us ? bootstrap->until_us : watch_us;
}

/* ---- from state to state --------------------------------------------------------------------- */

/* The first master from @i on that is not skipped; n: there is none. */
static unsigned whose_turn(const struct fence_bootstrap *bootstrap, unsigned i)
{
    while (i < bootstrap->params.n && (bootstrap->skips & fence_set_of(i)) != 0)
        i++;
    return i;
}

static void begin_state(struct fence_bootstrap *bootstrap, enum fence_bootstrap_state state)
{
    bootstrap->state = state;
    bootstrap->at = whose_turn(bootstrap, 0);
    bootstrap->cursor = 0;
}

static void begin_admitting(struct fence_bootstrap *bootstrap,
                            struct fence_bootstrap_effect *effect)
{
    begin_state(bootstrap, FENCE_BOOTSTRAP_ADMITTING);
    ask_step(bootstrap, FENCE_REJOIN_ADMIT, effect);
}

/* For this fleet, and for one that it follows. */
static uint32_t longest_lease_ms(const struct fence_bootstrap *bootstrap)
{
    uint32_t from_ms = bootstrap->params.from_ttl_max_ms;
    return bootstrap->ttl_max_ms > from_ms ? bootstrap->ttl_max_ms : from_ms;
}

/* When no holder can count on a lock any more. Masters that voted before may have forgotten locks.
 * If none of these did, those of the fleet that is followed tell. */
static uint64_t leases_end_us(const struct fence_bootstrap *bootstrap, uint64_t now_us)
{
    const uint64_t from_us = bootstrap->params.from_until_us;
    if (from_us != 0 && bootstrap->survivors == 0)
        return from_us > now_us ? from_us : now_us;
    return now_us + fence_quarantine_us(longest_lease_ms(bootstrap));
}

/* A holder may still count on its lock, though no master remembers it. */
static void begin_waiting(struct fence_bootstrap *bootstrap, uint64_t now_us,
                          struct fence_bootstrap_effect *effect)
{
    assert(bootstrap->params.goes_on);
    begin_state(bootstrap, FENCE_BOOTSTRAP_WAITING);
    bootstrap->until_us = leases_end_us(bootstrap, now_us);
    ask_step(bootstrap, FENCE_REJOIN_INSTALL, effect);
}

static void end_looking(struct fence_bootstrap *bootstrap, struct fence_bootstrap_effect *effect)
{
    const bool fine = bootstrap->params.closes ? fence_bootstrap_judge_closing(bootstrap)
                                               : fence_bootstrap_judge(bootstrap);
    const bool all_skipped = whose_turn(bootstrap, 0) == bootstrap->params.n;
    if (!fine || all_skipped || bootstrap->params.until == FENCE_BOOTSTRAP_ALL_LOOKED_AT) {
        ask_end(bootstrap, effect);
        return;
    }
    begin_state(bootstrap, FENCE_BOOTSTRAP_CLAIMING);
    ask_step(bootstrap, FENCE_REJOIN_MARK, effect);
}

static void end_claiming(struct fence_bootstrap *bootstrap, struct fence_bootstrap_effect *effect)
{
    if (bootstrap->params.until == FENCE_BOOTSTRAP_ALL_CLAIMED) {
        ask_end(bootstrap, effect);
    } else if (bootstrap->params.closes) {
        begin_state(bootstrap, FENCE_BOOTSTRAP_SURVEYING);
        ask_step(bootstrap, FENCE_REJOIN_SURVEY, effect);
    } else if (bootstrap->params.goes_on) {
        begin_state(bootstrap, FENCE_BOOTSTRAP_WIPING);
        ask_step(bootstrap, FENCE_REJOIN_CLEAR, effect);
    } else {
        begin_admitting(bootstrap, effect);
    }
}

static void begin_closing(struct fence_bootstrap *bootstrap, struct fence_bootstrap_effect *effect)
{
    begin_state(bootstrap, FENCE_BOOTSTRAP_CLOSING);
    ask_step(bootstrap, FENCE_REJOIN_CLOSE, effect);
}

static void end_surveying(struct fence_bootstrap *bootstrap, uint64_t now_us,
                          struct fence_bootstrap_effect *effect)
{
    const bool closes = bootstrap->params.closes;
    if (!(closes ? fence_bootstrap_set_closing_floor(bootstrap)
                 : fence_bootstrap_set_floor(bootstrap, bootstrap->highest))) {
        ask_end(bootstrap, effect);
    } else if (closes && fence_bootstrap_knows_all_leases(bootstrap)) {
        begin_state(bootstrap, FENCE_BOOTSTRAP_READING_LEASES);
        ask_step(bootstrap, FENCE_REJOIN_LEASES, effect);
    } else if (closes) {
        begin_closing(bootstrap, effect);
    } else {
        begin_waiting(bootstrap, now_us, effect);
    }
}

/* All masters answered in @bootstrap->state. */
static void end_round(struct fence_bootstrap *bootstrap, uint64_t now_us,
                      struct fence_bootstrap_effect *effect)
{
    assert(bootstrap->at == bootstrap->params.n);
    switch (bootstrap->state) {
    case FENCE_BOOTSTRAP_LOOKING:
        end_looking(bootstrap, effect);
        return;
    case FENCE_BOOTSTRAP_CLAIMING:
        end_claiming(bootstrap, effect);
        return;
    case FENCE_BOOTSTRAP_WIPING:
        begin_state(bootstrap, FENCE_BOOTSTRAP_SURVEYING);
        ask_step(bootstrap, FENCE_REJOIN_SURVEY, effect);
        return;
    case FENCE_BOOTSTRAP_SURVEYING:
        end_surveying(bootstrap, now_us, effect);
        return;
    case FENCE_BOOTSTRAP_WAITING:
        bootstrap->at = 0;
        if (now_us < bootstrap->until_us)
            ask_wait(bootstrap, now_us, effect);
        else
            begin_admitting(bootstrap, effect);
        return;
    case FENCE_BOOTSTRAP_READING_LEASES:
        begin_closing(bootstrap, effect);
        return;
    case FENCE_BOOTSTRAP_CLOSING:
    case FENCE_BOOTSTRAP_ADMITTING:
    case FENCE_BOOTSTRAP_ENDED:
        ask_end(bootstrap, effect);
        return;
    }
}

/* The step that each state asks of one master after another. */
static enum fence_rejoin_step step_of(enum fence_bootstrap_state state)
{
    static const enum fence_rejoin_step steps[] = {
        [FENCE_BOOTSTRAP_CLAIMING] = FENCE_REJOIN_MARK,
        [FENCE_BOOTSTRAP_WIPING] = FENCE_REJOIN_CLEAR,
        [FENCE_BOOTSTRAP_SURVEYING] = FENCE_REJOIN_SURVEY,
        [FENCE_BOOTSTRAP_READING_LEASES] = FENCE_REJOIN_LEASES,
        [FENCE_BOOTSTRAP_CLOSING] = FENCE_REJOIN_CLOSE,
        [FENCE_BOOTSTRAP_WAITING] = FENCE_REJOIN_INSTALL,
        [FENCE_BOOTSTRAP_ADMITTING] = FENCE_REJOIN_ADMIT,
    };
    return steps[state];
}

/* The next master's turn in the same state; or the state is over. */
static void go_on(struct fence_bootstrap *bootstrap, uint64_t now_us,
                  struct fence_bootstrap_effect *effect)
{
    bootstrap->cursor = 0;
    bootstrap->at = whose_turn(bootstrap, bootstrap->at + 1);
    if (bootstrap->at == bootstrap->params.n)
        end_round(bootstrap, now_us, effect);
    else if (bootstrap->state == FENCE_BOOTSTRAP_LOOKING)
        ask_look(bootstrap, effect);
    else
        ask_step(bootstrap, step_of(bootstrap->state), effect);
}

/* ---- what came back -------------------------------------------------------------------------- */

static bool check_params(struct fence_bootstrap *bootstrap)
{
    const struct fence_bootstrap_params *params = &bootstrap->params;
    if (params->n % 2 == 0 || params->n > FENCE_MASTERS_MAX)
        return fence_bootstrap_fail(bootstrap, FENCE_BOOTSTRAP_BAD_COUNT, 0);
    if (params->ttl_max_ms != 0 &&
        (params->ttl_max_ms < FENCE_TTL_MIN_MS || params->ttl_max_ms > FENCE_TTL_CEILING_MS))
        return fence_bootstrap_fail(bootstrap, FENCE_BOOTSTRAP_BAD_TTL, 0);
    /* The operator's number alone may be too high. */
    return !params->goes_on || fence_bootstrap_set_floor(bootstrap, 0);
}

/* The first failure ends the run; but all masters are asked to be admitted. */
static void take_failure(struct fence_bootstrap *bootstrap, enum fence_bootstrap_failure failure,
                         unsigned master, uint64_t now_us, struct fence_bootstrap_effect *effect)
{
    (void)fence_bootstrap_fail(bootstrap, failure, master);
    if (bootstrap->state == FENCE_BOOTSTRAP_ADMITTING)
        go_on(bootstrap, now_us, effect);
    else
        ask_end(bootstrap, effect);
}

/* A step was done on the master whose turn it is. */
static void take_done(struct fence_bootstrap *bootstrap, const struct fence_rejoin_reply *reply,
                      uint64_t now_us, struct fence_bootstrap_effect *effect)
{
    const unsigned i = bootstrap->at;
    if (bootstrap->state == FENCE_BOOTSTRAP_WIPING || bootstrap->state == FENCE_BOOTSTRAP_WAITING)
        bootstrap->steps[i]++;
    if (bootstrap->state == FENCE_BOOTSTRAP_SURVEYING && bootstrap->highest < reply->highest)
        bootstrap->highest = reply->highest;
    if (bootstrap->state == FENCE_BOOTSTRAP_ADMITTING)
        bootstrap->outcome.admitted++;
    if (bootstrap->state == FENCE_BOOTSTRAP_READING_LEASES)
        fence_bootstrap_note_lease(bootstrap, reply->left_ms, now_us);
    const bool in_pages = bootstrap->state == FENCE_BOOTSTRAP_WIPING ||
                          bootstrap->state == FENCE_BOOTSTRAP_READING_LEASES;
    if (in_pages && reply->cursor != 0) {
        /* This ends: no lock is added meanwhile, and the cursor goes round once. */
        bootstrap->cursor = reply->cursor;
        ask_step(bootstrap, step_of(bootstrap->state), effect);
        return;
    }
    go_on(bootstrap, now_us, effect);
}

static void take_step_reply(struct fence_bootstrap *bootstrap,
                            const struct fence_bootstrap_event *event,
                            struct fence_bootstrap_effect *effect)
{
    enum fence_bootstrap_failure failure = FENCE_BOOTSTRAP_LOST_ONE;
    assert(event->master == bootstrap->at);
    if (event->reply->outcome == FENCE_REJOIN_DONE) {
        take_done(bootstrap, event->reply, event->now_us, effect);
        return;
    }
    if (event->reply->outcome == FENCE_REJOIN_CHANGED)
        failure = bootstrap->state == FENCE_BOOTSTRAP_CLAIMING ? FENCE_BOOTSTRAP_CHANGED
                                                               : FENCE_BOOTSTRAP_TAKEN_OVER;
    take_failure(bootstrap, failure, event->master, event->now_us, effect);
}

/* ---- the owner's side ------------------------------------------------------------------------ */

void fence_bootstrap_init(struct fence_bootstrap *bootstrap,
                          const struct fence_bootstrap_params *params)
{
    memset(bootstrap, 0, sizeof(*bootstrap));
    bootstrap->params = *params;
    bootstrap->empty.bytes = "";
}

void fence_bootstrap_step(struct fence_bootstrap *bootstrap,
                          const struct fence_bootstrap_event *event,
                          struct fence_bootstrap_effect *ret_effect)
{
    assert(bootstrap->state != FENCE_BOOTSTRAP_ENDED);
    memset(ret_effect, 0, sizeof(*ret_effect));
    switch (event->kind) {
    case FENCE_BOOTSTRAP_BEGIN:
        if (check_params(bootstrap))
            ask_look(bootstrap, ret_effect);
        else
            ask_end(bootstrap, ret_effect);
        break;
    case FENCE_BOOTSTRAP_FACTS:
        assert(bootstrap->state == FENCE_BOOTSTRAP_LOOKING && event->master == bootstrap->at);
        bootstrap->seen[bootstrap->at] = *event->facts;
        go_on(bootstrap, event->now_us, ret_effect);
        break;
    case FENCE_BOOTSTRAP_REPLY:
        take_step_reply(bootstrap, event, ret_effect);
        break;
    case FENCE_BOOTSTRAP_LOST:
        assert(bootstrap->state == FENCE_BOOTSTRAP_WAITING || event->master == bootstrap->at);
        take_failure(bootstrap, FENCE_BOOTSTRAP_LOST_ONE, event->master, event->now_us, ret_effect);
        break;
    case FENCE_BOOTSTRAP_TIME:
        assert(bootstrap->state == FENCE_BOOTSTRAP_WAITING);
        ask_step(bootstrap, FENCE_REJOIN_INSTALL, ret_effect);
        break;
    }
}

uint64_t fence_bootstrap_wait_ms(const struct fence_bootstrap *bootstrap, uint64_t now_us)
{
    assert(bootstrap->state == FENCE_BOOTSTRAP_WAITING);
    return bootstrap->until_us > now_us ? (bootstrap->until_us - now_us + 999) / 1000 : 0;
}

int fence_bootstrap_error(const struct fence_bootstrap *bootstrap)
{
    assert(bootstrap->state == FENCE_BOOTSTRAP_ENDED);
    switch (bootstrap->outcome.failure) {
    case FENCE_BOOTSTRAP_DONE:
        return 0;
    case FENCE_BOOTSTRAP_BAD_COUNT:
    case FENCE_BOOTSTRAP_BAD_TTL:
        return FENCE_EINVAL;
    case FENCE_BOOTSTRAP_LOST_ONE:
        return FENCE_EIO;
    default:
        return FENCE_ECONFLICT;
    }
}
