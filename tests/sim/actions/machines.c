#include "tests/sim/actions/machines.h"

#include "tests/sim/actions/line.h"
#include "tests/sim/world/world.h"

#include <string.h>

/* ---- machines as they are -------------------------------------------------------------------- */

static bool has_other_lineage(const struct sim_master *master)
{
    const struct sim_marker *marker = &master->memory.marker;
    return marker->present && marker->lineage != master->lineage;
}

static void show_state(const struct sim_master *master, struct sim_shown *ret_shown)
{
    const struct sim_marker *marker = &master->memory.marker;
    ret_shown->state = !marker->present ? SIM_SHOWN_OUT
                       : marker->active ? SIM_SHOWN_ACTIVE
                                        : SIM_SHOWN_JOINING;
    ret_shown->next = ret_shown->state == SIM_SHOWN_JOINING ? marker->next : 0;
    ret_shown->knows = marker->view;
}

static void show_counters(const struct sim_actions *actions, const struct sim_master *master,
                          struct sim_shown *ret_shown)
{
    for (unsigned slot = 0; slot < actions->slots; slot++)
        ret_shown->counter[slot] = sim_master_counter(master, slot);
    for (unsigned k = 0; k < actions->names; k++)
        ret_shown->counter[actions->slots + k] = master->memory.named[k];
}

/* The locks of a machine that is joining show when it is admitted. */
static void show_locks(const struct sim_master *master, struct sim_shown *ret_shown)
{
    const bool joining = ret_shown->state == SIM_SHOWN_JOINING;
    for (uint32_t r = 0; r < SIM_RESOURCES_MAX; r++) {
        const struct sim_lock *lock = &master->memory.locks[r];
        ret_shown->locks[r] = (struct sim_shown_lock){0};
        if (sim_actions_is_shown(lock) && !joining)
            ret_shown->locks[r] = (struct sim_shown_lock){true, lock->lock, lock->number};
    }
}

static bool has_same_lock(const struct sim_shown_lock *a, const struct sim_shown_lock *b)
{
    return a->present && b->present && a->lock == b->lock && a->number == b->number;
}

/* Reports whether all that @now has was there before. Locks may have gone. */
static bool lost_nothing(const struct sim_shown *before, const struct sim_shown *now)
{
    if (before->state != now->state || before->next != now->next ||
        memcmp(before->counter, now->counter, sizeof(now->counter)) != 0)
        return false;
    if (now->state == SIM_SHOWN_ACTIVE &&
        memcmp(&before->knows, &now->knows, sizeof(now->knows)) != 0)
        return false;
    for (uint32_t r = 0; r < SIM_RESOURCES_MAX; r++)
        if (now->locks[r].present && !has_same_lock(&before->locks[r], &now->locks[r]))
            return false;
    return true;
}

/* ---- what happened to a machine between two requests ----------------------------------------- */

static void write_vanished(struct sim_actions *actions, struct sim_shown *shown, uint32_t r)
{
    sim_line_begin(actions, "vanish");
    sim_line_machine(actions, shown);
    sim_line_number(actions, r);
    sim_line_end(actions);
    shown->locks[r] = (struct sim_shown_lock){0};
}

static void write_fall(struct sim_actions *actions, const struct sim_shown *shown, unsigned members)
{
    sim_line_begin(actions, "fall");
    sim_line_machine(actions, shown);
    sim_line_number(actions, shown->state);
    sim_line_number(actions, sim_line_incarnation(shown->again != 0 ? shown->again : shown->next));
    sim_line_number(actions, shown->lineage);
    sim_line_view(actions, &shown->knows, members);
    sim_line_counters(actions, shown);
    sim_line_number(actions, SIM_RESOURCES_MAX);
    for (uint32_t r = 0; r < SIM_RESOURCES_MAX; r++) {
        const struct sim_shown_lock *lock = &shown->locks[r];
        sim_line_number(actions, lock->present ? lock->lock + UINT64_C(1) : 0);
        sim_line_number(actions, (uint64_t)lock->number);
    }
    sim_line_end(actions);
}

void sim_actions_write_plain(struct sim_actions *actions, const char *word,
                             const struct sim_shown *shown)
{
    sim_line_begin(actions, word);
    sim_line_machine(actions, shown);
    sim_line_end(actions);
}

static struct sim_shown *shown_of(struct sim_world *world, unsigned machine)
{
    struct sim_actions *actions = world->actions;
    for (; actions->machines_count <= machine; actions->machines_count++) {
        struct sim_shown *made = &actions->machines[actions->machines_count];
        const unsigned member = world->machines[actions->machines_count].member;
        unsigned index = 0;
        for (unsigned m = 0; m < actions->machines_count; m++)
            index += actions->machines[m].member == member;
        *made = (struct sim_shown){.member = member, .index = index};
    }
    return &actions->machines[machine];
}

void sim_actions_before(struct sim_world *world, unsigned machine)
{
    struct sim_actions *actions = world->actions;
    if (!actions || actions->over)
        return;
    struct sim_master *master = &world->machines[machine];
    struct sim_shown *shown = shown_of(world, machine);
    sim_master_expire_due(master, sim_clock_read(&master->clock, world->now_us));
    struct sim_shown now = *shown;
    show_state(master, &now);
    show_counters(actions, master, &now);
    show_locks(master, &now);
    const bool other = has_other_lineage(master);
    if (!lost_nothing(shown, &now)) {
        now.lineage = other ? SIM_SHOWN_CHANGED : SIM_SHOWN_KEPT;
        now.again = 0;
        *shown = now;
        write_fall(actions, shown, world->plan.masters);
        return;
    }
    for (uint32_t r = 0; r < SIM_RESOURCES_MAX; r++)
        if (shown->locks[r].present && !now.locks[r].present)
            write_vanished(actions, shown, r);
    if (other && shown->lineage == SIM_SHOWN_KEPT && shown->state != SIM_SHOWN_OUT) {
        shown->lineage = SIM_SHOWN_RESTARTED;
        sim_actions_write_plain(actions, "restart", shown);
    }
}

/* ---- requests about locks -------------------------------------------------------------------- */

/* The gate that a reader's attempt looks at is not taken. */
static unsigned taken_count(const struct sim_lock_request *lock)
{
    return lock->set.count - (lock->gated ? 1 : 0);
}

static void write_heard(struct sim_world *world, const struct sim_shown *shown,
                        const struct sim_request *request)
{
    sim_line_begin(world->actions, "hear");
    sim_line_machine(world->actions, shown);
    sim_line_view(world->actions, &request->view, world->plan.masters);
    sim_line_end(world->actions);
}

/* TAKE and CONFIRM: the numbers that the locks have now, and the counters. */
static void write_locked(struct sim_world *world, const char *word, struct sim_shown *shown,
                         const struct sim_request *request, const int64_t *numbers)
{
    struct sim_actions *actions = world->actions;
    const struct sim_lock_request *lock = &request->lock;
    int64_t by_resource[SIM_RESOURCES_MAX] = {0};
    for (unsigned k = 0; k < taken_count(lock); k++)
        by_resource[lock->set.resource[k]] = numbers[k];
    sim_line_begin(actions, word);
    sim_line_number(actions, request->action);
    sim_line_machine(actions, shown);
    sim_line_view(actions, &request->view, world->plan.masters);
    sim_line_list(actions, by_resource, SIM_RESOURCES_MAX);
    sim_line_counters(actions, shown);
    sim_line_end(actions);
}

/* A lock that was there, and was counted anew, ended in between. */
static void note_taken(struct sim_world *world, struct sim_shown *shown,
                       const struct sim_shown *now, const struct sim_request *request,
                       const struct sim_reply *reply)
{
    for (unsigned k = 0; k < taken_count(&request->lock); k++) {
        const uint32_t r = request->lock.set.resource[k];
        if (shown->locks[r].present && !has_same_lock(&shown->locks[r], &now->locks[r]))
            write_vanished(world->actions, shown, r);
        shown->locks[r] = (struct sim_shown_lock){true, request->lock.lock, reply->number[k]};
    }
    memcpy(shown->counter, now->counter, sizeof(now->counter));
    write_locked(world, "take", shown, request, reply->number);
}

static void note_confirmed(struct sim_world *world, struct sim_shown *shown,
                           const struct sim_shown *now, const struct sim_request *request)
{
    for (unsigned k = 0; k < request->lock.set.count; k++)
        shown->locks[request->lock.set.resource[k]].number = request->lock.set.token[k];
    memcpy(shown->counter, now->counter, sizeof(now->counter));
    write_locked(world, "confirm", shown, request, request->lock.set.token);
}

static void note_joined(struct sim_world *world, struct sim_shown *shown,
                        const struct sim_shown *now, const struct sim_request *request)
{
    struct sim_actions *actions = world->actions;
    const uint32_t r = request->lock.set.resource[0];
    if (shown->locks[r].present || !now->locks[r].present) {
        write_heard(world, shown, request);
        return;
    }
    sim_line_begin(actions, "join");
    sim_line_number(actions, request->lock.lock);
    sim_line_number(actions, r);
    sim_line_number(actions, (uint64_t)request->lock.set.token[0]);
    sim_line_machine(actions, shown);
    sim_line_view(actions, &request->view, world->plan.masters);
    sim_line_end(actions);
    const uint32_t slot = r % actions->slots;
    shown->locks[r] = (struct sim_shown_lock){true, request->lock.lock, request->lock.set.token[0]};
    shown->counter[slot] = request->lock.set.token[0];
}

static void write_counted(struct sim_world *world, const char *word, struct sim_shown *shown,
                          const struct sim_request *request, unsigned slot, int64_t number)
{
    struct sim_actions *actions = world->actions;
    shown->counter[slot] = number;
    actions->rounds[request->action].done |= UINT32_C(1) << shown->member;
    sim_line_begin(actions, word);
    sim_line_number(actions, request->action);
    sim_line_machine(actions, shown);
    sim_line_view(actions, &request->view, world->plan.masters);
    sim_line_number(actions, (uint64_t)number);
    sim_line_end(actions);
}

static void note_lock_reply(struct sim_world *world, struct sim_shown *shown,
                            const struct sim_shown *now, const struct sim_request *request,
                            const struct sim_reply *reply)
{
    struct sim_actions *actions = world->actions;
    const struct sim_lock_request *lock = &request->lock;
    const uint32_t r = lock->set.resource[0];
    const bool yes = reply->kind == FENCE_REPLY_YES;
    if (lock->kind == FENCE_REQUEST_TAKE && reply->kind == FENCE_REPLY_NUMBER)
        note_taken(world, shown, now, request, reply);
    else if (lock->kind == FENCE_REQUEST_CONFIRM && yes)
        note_confirmed(world, shown, now, request);
    else if (lock->kind == FENCE_REQUEST_JOIN && yes)
        note_joined(world, shown, now, request);
    else if (lock->kind == FENCE_REQUEST_COUNT && reply->kind == FENCE_REPLY_NUMBER &&
             actions->names > 0)
        write_counted(world, "count", shown, request, actions->slots + r, reply->number[0]);
    else if (lock->kind == FENCE_REQUEST_BREAK && (yes || reply->kind == FENCE_REPLY_HELD))
        write_counted(world, "break", shown, request, r % actions->slots,
                      now->counter[r % actions->slots]);
    else
        write_heard(world, shown, request);
}

/* Changes that are not explained yet: locks that went, counters that rose. A lock that nothing
 * explains is written as it is, for the checker to refuse. */
static void write_rest(struct sim_actions *actions, struct sim_shown *shown,
                       const struct sim_shown *now)
{
    for (uint32_t r = 0; r < SIM_RESOURCES_MAX; r++) {
        if (shown->locks[r].present && !now->locks[r].present)
            write_vanished(actions, shown, r);
        if (!now->locks[r].present || has_same_lock(&shown->locks[r], &now->locks[r]))
            continue;
        sim_line_begin(actions, "has");
        sim_line_machine(actions, shown);
        sim_line_number(actions, r);
        sim_line_number(actions, now->locks[r].lock);
        sim_line_number(actions, (uint64_t)now->locks[r].number);
        sim_line_end(actions);
    }
    if (memcmp(shown->counter, now->counter, sizeof(now->counter)) == 0)
        return;
    memcpy(shown->counter, now->counter, sizeof(now->counter));
    sim_line_begin(actions, "rise");
    sim_line_machine(actions, shown);
    sim_line_counters(actions, shown);
    sim_line_end(actions);
}

/* ---- all ------------------------------------------------------------------------------------- */

static bool was_done(const struct sim_request *request, const struct sim_reply *reply)
{
    if (request->ask == SIM_ASK_LOCK)
        return reply->kind != FENCE_REPLY_STALE && reply->kind != FENCE_REPLY_REFUSED;
    return reply->outcome == FENCE_REJOIN_DONE;
}

void sim_actions_executed(struct sim_world *world, unsigned machine,
                          const struct sim_request *request, const struct sim_reply *reply)
{
    struct sim_actions *actions = world->actions;
    if (!actions || actions->over || !was_done(request, reply))
        return;
    const struct sim_master *master = &world->machines[machine];
    struct sim_shown *shown = shown_of(world, machine);
    struct sim_shown now = *shown;
    if (request->ask == SIM_ASK_LOCK) {
        show_state(master, &now);
        show_counters(actions, master, &now);
        show_locks(master, &now);
        note_lock_reply(world, shown, &now, request, reply);
    } else if (request->ask == SIM_ASK_REJOIN) {
        sim_actions_stepped(world, machine, request, reply);
    } else if (request->ask == SIM_ASK_RESTAMP) {
        sim_actions_restamped(world, machine);
    }
    if (actions->over)
        return;
    show_state(master, &now);
    show_counters(actions, master, &now);
    show_locks(master, &now);
    shown->state = now.state;
    shown->next = now.next;
    shown->knows = now.knows;
    write_rest(actions, shown, &now);
}
