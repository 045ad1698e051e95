#include "tests/sim/masters/execute.h"

#include "tests/sim/promises/next.h"
#include "tests/sim/promises/voters.h"
#include "tests/sim/promises/waking.h"
#include "tests/sim/world/faults.h"
#include "tests/sim/world/world.h"

#include <inttypes.h>
#include <string.h>

enum {
    /* Per mille of the requests to a master: it saves just before them. */
    SAVES = 100, /* everysec */

    NUMBERS_TEXT_MAX = 21 * SIM_RESOURCES_MAX + 1,
};

/* ---- telling and counting -------------------------------------------------------------------- */

static void numbers_text(const int64_t *numbers, unsigned count,
                         char ret_text[static NUMBERS_TEXT_MAX])
{
    ret_text[0] = '\0';
    for (unsigned k = 0; k < count; k++) {
        size_t len = strlen(ret_text);
        (void)snprintf(ret_text + len, NUMBERS_TEXT_MAX - len, " %" PRId64, numbers[k]);
    }
}

static void say_executed(const struct sim_world *world, const struct sim_event *event,
                         unsigned machine, const struct sim_request *request,
                         const struct sim_reply *reply, bool again)
{
    char name[SIM_MACHINE_TEXT_MAX];
    char set[SIM_SET_TEXT_MAX];
    char tokens[NUMBERS_TEXT_MAX];
    char numbers[NUMBERS_TEXT_MAX];
    if (!world->trace.out)
        return;
    sim_world_machine_text(world, machine, name);
    sim_set_text(&request->lock.set, set);
    numbers_text(request->lock.set.token, request->lock.set.count, tokens);
    numbers_text(reply->number, request->lock.set.count, numbers);
    if (request->ask == SIM_ASK_LOCK)
        SIM_SAY(world, "  %s: %s%s %s lock %" PRIu32 " attempt %04x token%s of server %u: %s%s%s",
                name, again ? "again " : "", sim_request_name(request), set, request->lock.lock,
                (unsigned)(request->lock.attempt & 0xffff), tokens, event->server,
                reply->found ? "FOUND " : "", sim_reply_name(request, reply), numbers);
    else if (request->ask == SIM_ASK_REJOIN)
        SIM_SAY(world, "  %s: %s%s for member %u, incarnation %04x, of server %u: %s%s", name,
                again ? "again " : "", sim_request_name(request), request->rejoin.target,
                (unsigned)(request->rejoin.incarnation & 0xffff), event->server,
                sim_reply_name(request, reply), reply->undurable ? ", not durable" : "");
    else if (request->ask == SIM_ASK_RESTAMP)
        SIM_SAY(world, "  %s: %sRESTAMP of server %u: %s", name, again ? "again " : "",
                event->server, sim_reply_name(request, reply));
}

static void count_lock_request(struct sim_stats *stats, const struct sim_lock_request *request,
                               const struct sim_reply *reply, bool again)
{
    stats->requests++;
    stats->duplicates_executed += again;
    stats->locked_again +=
        again && request->kind == FENCE_REQUEST_TAKE && reply->kind == FENCE_REPLY_NUMBER;
    stats->requests_stale += reply->kind == FENCE_REPLY_STALE;
    stats->requests_refused += reply->kind == FENCE_REPLY_REFUSED;
    stats->confirms_refused +=
        request->kind == FENCE_REQUEST_CONFIRM && reply->kind == FENCE_REPLY_NO;
    stats->undone += request->kind == FENCE_REQUEST_UNDO && reply->kind == FENCE_REPLY_YES;
    stats->found_at_a_master += reply->found;
    stats->counted_anew += reply->counted_anew;
    stats->superseded += reply->kind == FENCE_REPLY_SUPERSEDED;
    stats->past += reply->kind == FENCE_REPLY_PAST;
    stats->joined += request->kind == FENCE_REQUEST_JOIN && reply->kind == FENCE_REPLY_YES;
    stats->uncounted += reply->kind == FENCE_REPLY_UNCOUNTED;
    stats->break_superseded += request->kind == FENCE_REQUEST_BREAK &&
                               reply->kind == FENCE_REPLY_HELD && reply->lock == request->lock;
    stats->tombstones_met += reply->kind == FENCE_REPLY_HELD && reply->lock == SIM_TOMBSTONE;
    stats->extended_imported += reply->kind == FENCE_REPLY_YES && reply->imported;
}

static void count_other(struct sim_stats *stats, const struct sim_request *request,
                        const struct sim_reply *reply, bool again)
{
    if (request->ask == SIM_ASK_FACTS || request->ask == SIM_ASK_PROBE)
        return;
    bool done = reply->outcome == FENCE_REJOIN_DONE;
    stats->rejoins_executed_again += again && done;
    stats->restamps += request->ask == SIM_ASK_RESTAMP && done;
    if (request->ask != SIM_ASK_REJOIN)
        return;
    enum fence_rejoin_step step = request->rejoin.step;
    stats->rejoins_changed += !done;
    stats->marks += done && step == FENCE_REJOIN_MARK;
    stats->clears += done && step == FENCE_REJOIN_CLEAR;
    stats->records += done && step == FENCE_REJOIN_RECORD;
    stats->pages_read += done && step == FENCE_REJOIN_READ;
    stats->pages_failed += step == FENCE_REJOIN_READ && reply->outcome == FENCE_REJOIN_REFUSED;
    stats->pages_merged += done && step == FENCE_REJOIN_INSTALL && request->rejoin.has_page;
    stats->signs_of_life += done && step == FENCE_REJOIN_INSTALL && !request->rejoin.has_page;
    stats->admits += done && step == FENCE_REJOIN_ADMIT;
}

/* ---- executing ------------------------------------------------------------------------------- */

/* What was locked before the request, and when it was saved, is up to chance. */
static void before_executing(struct sim_world *world, struct sim_master *master,
                             struct sim_link *link, const struct sim_request *request)
{
    if (master->persistence == SIM_EVERYSEC && sim_rng_chance(&link->rng, SAVES))
        sim_master_save(master);
    if (sim_plan_copies(&world->plan) && sim_rng_chance(&link->rng, world->plan.copies))
        sim_master_copy(master);
    if (request->ask != SIM_ASK_LOCK)
        return;
    for (unsigned k = 0; k < request->lock.set.count; k++)
        if (sim_chaos_strikes(&world->chaos, SIM_FAULT_VANISH))
            world->stats.locks_vanished += sim_master_expire(master, request->lock.set.resource[k]);
}

/* Of what @request may lock at @machine. */
static void note_overtaken(struct sim_world *world, unsigned machine,
                           const struct sim_request *request)
{
    if (request->ask != SIM_ASK_LOCK || request->lock.kind != FENCE_REQUEST_TAKE)
        return;
    for (unsigned k = 0; k < request->lock.set.count; k++) {
        uint32_t resource = request->lock.set.resource[k];
        if (!sim_freedom_is_held(world, machine, resource))
            sim_waking_overtaken(world, resource);
    }
}

/* What is left of a call that got nothing must go with its clean-up: all that this attempt locked,
 * and under a lock id that a server made nothing may stand for itself before it was granted. */
static void check_left_behind(struct sim_world *world, const struct sim_lock *lock,
                              uint32_t resource, const struct sim_lock_request *request)
{
    if (!lock->present || lock->lock >= SIM_CALLS_MAX || resource == SIM_GATE)
        return; /* the word that a gate is released may be lost: it ends with its lease */
    const struct sim_call *call = &world->check.calls[lock->lock];
    bool merged = lock->imported; /* from two of its attempts: until its lease ends */
    bool ownerless = lock->attempt == SIM_ADOPTED && !call->idempotent && call->error && !merged;
    bool missed = request->kind == FENCE_REQUEST_UNDO && lock->attempt == request->attempt;
    if (ownerless || missed)
        sim_check_fail(&world->check,
                       "P3: lock %" PRIu32 " of r%" PRIu32 " was never granted, and %s", lock->lock,
                       resource, ownerless ? "no clean-up takes it" : "its clean-up leaves it");
}

/* What @request left at @machine. */
static void note_locks(struct sim_world *world, unsigned machine, const struct sim_request *request,
                       const struct sim_reply *reply)
{
    bool ran = reply->kind != FENCE_REPLY_STALE && reply->kind != FENCE_REPLY_REFUSED;
    struct sim_master *master = &world->machines[machine];
    for (unsigned k = 0; k < request->lock.set.count; k++) {
        uint32_t resource = request->lock.set.resource[k];
        uint32_t slot = sim_master_slot(master, resource);
        sim_freedom_note(world, machine, resource);
        sim_check_counter(&world->check, machine, slot, sim_master_counter(master, slot));
        if (ran)
            check_left_behind(world, &master->memory.locks[resource], resource, &request->lock);
    }
}

/* A step of a rejoin was done at member @i: something may go wrong with it just then. */
static void note_step(struct sim_world *world, const struct sim_event *event,
                      const struct sim_request *request, const struct sim_reply *reply)
{
    const struct sim_rejoin_request *rejoin = &request->rejoin;
    if (request->ask != SIM_ASK_REJOIN || reply->outcome != FENCE_REJOIN_DONE)
        return;
    bool records = rejoin->step == FENCE_REJOIN_RECORD &&
                   request->view.incarnation[rejoin->target] == rejoin->incarnation;
    if (records)
        sim_faults_recorded(world, event->server, event->master);
    else if (rejoin->step == FENCE_REJOIN_READ)
        sim_faults_read(world, event->server, event->master,
                        rejoin->part == FENCE_REJOIN_LOCKS && reply->cursor == 0);
    else if (rejoin->target == event->master)
        sim_faults_importing(world, event->master);
}

/* A page that is refused, again and again. */
static void perhaps_fail_page(struct sim_world *world, const struct sim_request *request,
                              struct sim_reply *reply)
{
    const struct sim_rejoin_request *rejoin = &request->rejoin;
    if (request->ask == SIM_ASK_REJOIN && rejoin->step == FENCE_REJOIN_READ &&
        rejoin->part == FENCE_REJOIN_LOCKS && sim_chaos_strikes(&world->chaos, SIM_FAULT_PAGES))
        reply->outcome = FENCE_REJOIN_REFUSED;
}

/* To every server that listens to that machine, over another connection than its requests: word may
 * come before or after them, or not at all. */
static void publish(struct sim_world *world, unsigned machine, uint32_t resource, uint32_t lock)
{
    for (unsigned s = 0; s < world->plan.servers; s++)
        for (unsigned i = 0; i < world->plan.masters; i++) {
            struct sim_link *link = sim_link_of(world, s, i);
            struct sim_event word = {
                .kind = SIM_EVENT_FREED, .server = (uint8_t)s, .id = resource, .generation = lock};
            if (link->machine != machine || link->state == SIM_LINK_CLOSED)
                continue;
            if (sim_rng_chance(&link->rng, world->plan.words_lost))
                world->stats.words_lost++;
            else
                sim_world_schedule(world, sim_chaos_delay_us(&world->chaos, &link->rng, 0), &word);
        }
}

/* F1. Reports whether a reader that takes its seat now overtakes the writer that has the gate. */
static bool would_overtake_writer(const struct sim_world *world, unsigned machine,
                                  const struct sim_request *request)
{
    const struct sim_lock_request *lock = &request->lock;
    const struct sim_lock *gate = &world->machines[machine].memory.locks[SIM_GATE];
    return request->ask == SIM_ASK_LOCK && lock->kind == FENCE_REQUEST_TAKE && lock->gated &&
           gate->lock != lock->lock && sim_freedom_is_held(world, machine, SIM_GATE) &&
           !sim_freedom_is_held(world, machine, lock->set.resource[0]);
}

/* Executes @request at @machine. @again: a copy of what was sent once. */
static struct sim_reply execute(struct sim_world *world, const struct sim_event *event,
                                unsigned machine, const struct sim_request *request, bool again)
{
    struct sim_master *master = &world->machines[machine];
    struct sim_link *link = sim_link_of(world, event->server, event->master);
    before_executing(world, master, link, request);
    if (request->ask == SIM_ASK_SCAN || request->ask == SIM_ASK_HOLDERS)
        return sim_listing_execute(world, machine, request);
    note_overtaken(world, machine, request);
    const struct sim_lock before = master->memory.locks[request->lock.set.resource[0]];
    const bool was_free =
        request->ask == SIM_ASK_LOCK && sim_next_is_free(world, machine, &request->lock);
    const bool overtakes = would_overtake_writer(world, machine, request);
    sim_actions_before(world, machine);
    struct sim_reply reply = sim_master_execute(master, request, again, world->now_us);
    if (overtakes && reply.kind == FENCE_REPLY_NUMBER)
        sim_check_fail(&world->check, "F1: lock %" PRIu32 " reads, though a writer has the gate",
                       request->lock.lock);
    world->stats.turned_away += overtakes && reply.kind == FENCE_REPLY_HELD;
    if (request->ask == SIM_ASK_LOCK) {
        sim_closed_executed(world, machine, &request->lock, &reply, &before);
        sim_next_executed(world, machine, &request->lock, &reply, was_free);
        count_lock_request(&world->stats, &request->lock, &reply, again);
        note_locks(world, machine, request, &reply);
        for (uint32_t r = 0; reply.freed >> r != 0; r++)
            if (reply.freed >> r & 1)
                publish(world, machine, r, request->lock.lock);
        sim_trace_mix(&world->trace, (uint64_t)reply.number[0] << 8 | (uint64_t)reply.kind);
    } else {
        perhaps_fail_page(world, request, &reply);
        count_other(&world->stats, request, &reply, again);
        if (request->ask == SIM_ASK_REJOIN)
            sim_freedom_note_all(world, machine);
        sim_trace_mix(&world->trace, (uint64_t)request->ask << 8 | (uint64_t)reply.outcome);
        sim_voters_check(world);
    }
    say_executed(world, event, machine, request, &reply, again);
    sim_actions_executed(world, machine, request, &reply);
    if (!again)
        note_step(world, event, request, &reply);
    return reply;
}

/* The requests of one connection, but for those that are copies anyway, may come twice: the second
 * time just before a later one. */
static void perhaps_replay(struct sim_world *world, const struct sim_event *event,
                           const struct sim_message *message)
{
    struct sim_link *link = sim_link_of(world, event->server, event->master);
    if (message->duplicate || world->plan.permille[SIM_FAULT_REPLAY] == 0)
        return;
    if (link->executed > 0 && sim_chaos_strikes(&world->chaos, SIM_FAULT_REPLAY)) {
        uint32_t count = link->executed < SIM_RECENT ? link->executed : SIM_RECENT;
        uint32_t which = sim_chaos_pick(&world->chaos, SIM_FAULT_REPLAY, count);
        (void)execute(world, event, message->machine, &link->recent[which], true);
    }
    link->recent[link->executed++ % SIM_RECENT] = message->request;
}

void sim_execute(struct sim_world *world, const struct sim_event *event,
                 struct sim_message *message)
{
    perhaps_replay(world, event, message);
    message->reply = execute(world, event, message->machine, &message->request, message->duplicate);
}
