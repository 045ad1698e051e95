#include "tests/sim/promises/waking.h"

#include "fence/protocol/lease.h"
#include "tests/sim/world/world.h"

#include <inttypes.h>
#include <string.h>

/* The core's own delays, at their longest. */
enum {
    RETRY_US = FENCE_RETRY_BASE_US << FENCE_TRIES_MAX,
    FIRST_LOOK_US = FENCE_FIRST_LOOK_US * (1 + FENCE_LOOK_SPREADS),
    LOOK_US = FENCE_LOOK_US * (1 + FENCE_LOOK_SPREADS),
    LEASE_END_US = 1000, /* it asks so long after the end of a lease */
    ROUNDS_OF_A_CALL = 2 * FENCE_TRIES_MAX,
    ROUNDING_US = 5, /* rounding of true time, from one clock to the other */
};

/* ---- how long -------------------------------------------------------------------------------- */

/* A round lasts until its timeout, an attempt has two rounds, and then the first looks again. */
static uint64_t longest_sleep_us(const struct sim_call *first)
{
    return 2 * fence_round_timeout_us(FENCE_MASTER_DEADLINE_US, first->ttl_ms) + LOOK_US;
}

/* If all goes well it sleeps until word comes or the lease ends: words are under way for less
 * than an attempt, and its clock and a master's differ by no more than the drift of a lease. */
static uint64_t calm_sleep_us(const struct sim_world *world, const struct sim_call *first)
{
    uint64_t drift_us =
        fence_quarantine_us(world->plan.ttl_high_ms) - world->plan.ttl_high_ms * UINT64_C(1000);
    return 2 * fence_round_timeout_us(FENCE_MASTER_DEADLINE_US, first->ttl_ms) + RETRY_US +
           FIRST_LOOK_US + LEASE_END_US + drift_us;
}

/* If masters may owe little, the first of a line waits for all other calls as well. */
static uint64_t admission_us(const struct sim_world *world)
{
    const struct sim_plan *plan = &world->plan;
    return plan->owed > 0
               ? FENCE_ADMISSION_US +
                     (uint64_t)plan->calls * ROUNDS_OF_A_CALL *
                         fence_round_timeout_us(FENCE_MASTER_DEADLINE_US, plan->ttl_high_ms)
               : 0;
}

/* @local_us by the clock of server @s, in true time. */
static uint64_t true_span_us(const struct sim_world *world, unsigned s, uint64_t local_us)
{
    return sim_clock_span(&world->servers[s].clock, local_us + admission_us(world)) + ROUNDING_US;
}

/* @from_us, or when server @s goes on, if it was stopped then or later. */
static uint64_t awake_us(const struct sim_world *world, unsigned s, uint64_t from_us)
{
    uint64_t goes_on_us = world->servers[s].paused_until_us + SIM_TIMERS_LATE_US;
    return from_us > goes_on_us ? from_us : goes_on_us;
}

/* ---- what is expected ------------------------------------------------------------------------ */

static void expect_within(const struct sim_world *world, unsigned s, struct sim_line *line,
                          uint64_t local_us)
{
    line->since_us = world->now_us;
    line->within_us = true_span_us(world, s, local_us);
}

/* The same if that is sooner than what is expected already. */
static void expect_sooner(const struct sim_world *world, unsigned s, struct sim_line *line,
                          uint64_t local_us)
{
    uint64_t within_us = true_span_us(world, s, local_us);
    if (world->now_us + within_us < line->since_us + line->within_us)
        expect_within(world, s, line, local_us);
}

void sim_waking_first(struct sim_world *world, unsigned s, struct sim_line *line, bool at_once)
{
    const struct sim_call *first = sim_line_first(world, line);
    if (first && first->attempt != 0) {
        sim_waking_begin(world, s, line, first->attempt);
        return;
    }
    line->began_us = world->now_us;
    line->attempt = 0;
    line->asking = line->by_word = line->woken = false;
    line->holder = SIM_NO_LOCK;
    expect_within(world, s, line, at_once ? 0 : FIRST_LOOK_US);
}

void sim_waking_begin(struct sim_world *world, unsigned s, struct sim_line *line, uint64_t attempt)
{
    line->began_us = world->now_us;
    line->attempt = attempt;
    line->asking = true;
    line->by_word = line->woken;
    line->woken = false;
    line->holder = SIM_NO_LOCK;
    memset(line->freed, 0, sizeof(line->freed));
    expect_within(world, s, line, longest_sleep_us(sim_line_first(world, line)));
}

/* ---- and what comes -------------------------------------------------------------------------- */

/* How long the first of @line has slept past the moment since which it could have had the lock. */
static void check_freedom(struct sim_world *world, const struct sim_call *first,
                          const struct sim_line *line)
{
    uint32_t resource = first->set.resource[0];
    uint64_t free_us = sim_freedom_since_us(world, first->server, resource);
    if (free_us == FENCE_NEVER || !first->wait_ms)
        return;
    uint64_t from_us = free_us > line->began_us ? free_us : line->began_us;
    from_us = awake_us(world, first->server, from_us);
    uint64_t slept_us = world->now_us > from_us ? world->now_us - from_us : 0;
    uint64_t longest_us = world->plan.calm ? calm_sleep_us(world, first) : longest_sleep_us(first);
    if (slept_us > true_span_us(world, first->server, longest_us))
        sim_check_fail(&world->check,
                       "W3: lock %" PRIu32 " sleeps, though r%" PRIu32 " has been free for %" PRIu64
                       " us",
                       first->lock, resource, slept_us);
    sim_stats_most(&world->stats.longest_sleep_us, slept_us);
}

void sim_waking_check(struct sim_world *world, const struct sim_call *first,
                      const struct sim_line *line)
{
    uint64_t due_us = awake_us(world, first->server, line->since_us) + line->within_us;
    if (world->now_us > due_us)
        sim_check_fail(&world->check,
                       "W3: lock %" PRIu32 " asks for r%" PRIu32 " %" PRIu64 " us too late",
                       first->lock, first->set.resource[0], world->now_us - due_us);
    if (!line->asking)
        check_freedom(world, first, line);
}

void sim_waking_overtaken(struct sim_world *world, uint32_t resource)
{
    for (unsigned s = 0; s < world->plan.servers; s++) {
        const struct sim_line *line = &world->waiters.lines[s][resource];
        const struct sim_call *first = sim_line_first(world, line);
        if (first && !line->asking)
            check_freedom(world, first, line);
    }
}

static void later(uint64_t *us, uint64_t than_us)
{
    if (*us < than_us)
        *us = than_us;
}

void sim_waking_check_group(struct sim_world *world, const struct sim_call *call)
{
    uint64_t due_us = awake_us(world, call->server, call->asked_us) +
                      true_span_us(world, call->server, longest_sleep_us(call));
    if (world->now_us > due_us)
        sim_check_fail(&world->check,
                       "W3: lock %" PRIu32 " of several sleeps %" PRIu64 " us too long", call->lock,
                       world->now_us - due_us);
}

/* Some call before it asks for the seats that are free, or it does so itself. */
void sim_waking_check_seats(struct sim_world *world, const struct sim_call *call)
{
    const uint64_t longest_us =
        true_span_us(world, call->server, longest_sleep_us(call) * (uint64_t)(1 + call->seats));
    for (uint32_t r = 0; r < call->seats && call->wait_ms > 0; r++) {
        const uint64_t free_us = sim_freedom_since_us(world, call->server, r);
        const uint64_t gate_us =
            world->plan.shared ? sim_freedom_since_us(world, call->server, SIM_GATE) : 0;
        if (free_us == FENCE_NEVER || gate_us == FENCE_NEVER)
            continue;
        uint64_t from_us = free_us > call->came_us ? free_us : call->came_us;
        later(&from_us, gate_us);
        from_us = awake_us(world, call->server, from_us);
        if (world->now_us > from_us + longest_us)
            sim_check_fail(&world->check,
                           "W3: lock %" PRIu32 " waits for a seat, though r%" PRIu32
                           " has been free for %" PRIu64 " us",
                           call->lock, r, world->now_us - from_us);
    }
}

/* Its attempt may have begun just before its time was over; where it repeats its call for a seat,
 * the survey before that; a writer asks for the gate and for the seats. */
void sim_waking_check_end(struct sim_world *world, const struct sim_call *call)
{
    const bool surveys = call->seats > 0 && call->idempotent;
    const unsigned rounds = call->mode == FENCE_MODE_WRITE ? 4 : surveys ? 3 : 2;
    uint64_t local_us = call->wait_ms * UINT64_C(1000) +
                        rounds * fence_round_timeout_us(FENCE_MASTER_DEADLINE_US, call->ttl_ms);
    uint64_t end_us =
        awake_us(world, call->server, call->came_us) + true_span_us(world, call->server, local_us);
    if (call->wait_ms > 0 && world->now_us > end_us)
        sim_check_fail(&world->check, "W3: lock %" PRIu32 " waits %" PRIu64 " us longer than asked",
                       call->lock, world->now_us - end_us);
}

/* ---- what the first learns ------------------------------------------------------------------- */

/* How many masters named @lock, and the most that one of them said it has left. */
static unsigned count_votes(const struct sim_call *call, uint32_t lock, uint64_t *ret_longest_ms)
{
    unsigned votes = 0;
    for (unsigned i = 0; i < FENCE_MASTERS_MAX; i++) {
        if (call->named[i] != lock)
            continue;
        votes++;
        if (*ret_longest_ms < call->left_ms[i])
            *ret_longest_ms = call->left_ms[i];
    }
    return votes;
}

void sim_waking_granted(const struct sim_world *world, const struct sim_call *call,
                        struct sim_line *line)
{
    uint64_t lease_us = true_span_us(world, call->server, call->ttl_ms * UINT64_C(1000));
    later(&line->held_until_us[call->lock], world->now_us + lease_us);
    line->granted = line->holder = call->declined ? SIM_NO_LOCK : call->lock;
    line->granted_until_us = sim_clock_read(&world->servers[call->server].clock, call->until_us);
}

/* Whatever attempt it was an answer to. */
static void note_holder(const struct sim_world *world, unsigned s, struct sim_line *line,
                        const struct sim_reply *reply)
{
    uint64_t until_us = world->now_us + true_span_us(world, s, reply->remaining_ms * 1000);
    later(&line->held_until_us[reply->lock], until_us);
    if (reply->lock != line->granted)
        line->granted = SIM_NO_LOCK;
    until_us = sim_clock_read(&world->servers[s].clock, until_us);
    if (line->granted_until_us > until_us)
        line->granted_until_us = until_us;
}

/* The first was told by a majority; word from before that attempt counts. */
static void expect_end(const struct sim_world *world, unsigned s, struct sim_line *line,
                       uint64_t longest_ms)
{
    uint64_t lease_end_us = longest_ms * 1000 + LEASE_END_US;
    line->woken = line->freed[line->holder];
    bool retries = line->woken || lease_end_us < RETRY_US;
    expect_sooner(world, s, line, retries ? RETRY_US : lease_end_us);
}

void sim_waking_told(struct sim_world *world, unsigned s, unsigned i,
                     const struct sim_lock_request *request, const struct sim_reply *reply)
{
    struct sim_line *line = &world->waiters.lines[s][request->set.resource[0]];
    note_holder(world, s, line, reply);
    if (request->kind != FENCE_REQUEST_TAKE || request->set.count > 1 || request->attempt == 0 ||
        request->call == SIM_NO_LOCK)
        return;
    struct sim_call *call = &world->check.calls[request->call];
    if (request->attempt != call->attempt)
        return;
    uint64_t longest_ms = 0;
    call->named[i] = reply->lock;
    call->left_ms[i] = reply->remaining_ms;
    if (count_votes(call, reply->lock, &longest_ms) < fence_majority(world->plan.masters))
        return;
    line->holder = reply->lock;
    if (request->attempt != line->attempt || !line->asking)
        return;
    call->waited = true;
    expect_end(world, s, line, longest_ms);
}

void sim_waking_heard(struct sim_world *world, unsigned s, uint32_t resource, uint32_t lock)
{
    struct sim_line *line = &world->waiters.lines[s][resource];
    if (line->count == 0)
        return;
    if (line->granted == lock)
        line->granted = SIM_NO_LOCK;
    line->freed[lock] = true;
    if (line->asking || line->holder != lock)
        return;
    line->woken = true;
    expect_sooner(world, s, line, 0);
}
