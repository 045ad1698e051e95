#include "tests/sim/actions/line.h"
#include "tests/sim/actions/tables.h"
#include "tests/sim/world/world.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- all histories --------------------------------------------------------------------------- */

struct sim_actions *sim_actions_new(FILE *out)
{
    struct sim_actions *actions = calloc(1, sizeof(*actions));
    if (actions)
        actions->out = out;
    return actions;
}

void sim_actions_free(struct sim_actions *actions)
{
    if (actions)
        sim_actions_flush(actions);
    free(actions);
}

void sim_actions_flush(struct sim_actions *actions)
{
    const bool written = fwrite(actions->text, 1, actions->len, actions->out) == actions->len;
    actions->broken = actions->broken || !written || fflush(actions->out) != 0;
    actions->len = 0;
}

bool sim_actions_broken(const struct sim_actions *actions)
{
    return actions->broken;
}

void sim_actions_report(const struct sim_actions *actions)
{
    static const char *const texts[] = {
#define TEXT(name, text) text,
        SIM_LEFT_OUT(TEXT)
#undef TEXT
    };
    printf("%-28s %12" PRIu64 "\n", "actions", actions->lines);
    for (unsigned k = 0; k < SIM_LEFT_OUT_COUNT; k++)
        printf("%12" PRIu64 " histories in part: %s\n", actions->left_out[k], texts[k]);
}

void sim_actions_start(struct sim_world *world, uint64_t seed)
{
    struct sim_actions *actions = world->actions;
    if (!actions)
        return;
    const struct sim_plan *plan = &world->plan;
    actions->over = false;
    memset(actions->core, 0, sizeof(actions->core));
    actions->slots = plan->slots;
    actions->names = plan->counts > 0 ? world->machines[0].resources : 0;
    actions->machines_count = 0;
    actions->tries_count = 0;
    actions->rounds_count = 0;
    actions->reads_count = 0;
    actions->installs_count = 0;
    actions->records_count = 0;
    actions->marks_count = 0;
    sim_line_begin(actions, "history");
    sim_line_number(actions, seed);
    sim_line_number(actions, plan->masters);
    sim_line_number(actions, SIM_RESOURCES_MAX + actions->names);
    for (unsigned r = 0; r < SIM_RESOURCES_MAX; r++) /* seats share the counter of their name */
        sim_line_number(actions, plan->seats ? 0 : r % plan->slots);
    for (unsigned k = 0; k < actions->names; k++)
        sim_line_number(actions, plan->slots + k);
    sim_line_end(actions);
    for (unsigned i = 0; i < plan->masters; i++) {
        struct sim_shown *shown = &actions->machines[actions->machines_count++];
        *shown = (struct sim_shown){.member = i, .state = SIM_SHOWN_ACTIVE};
        shown->knows = world->machines[i].memory.marker.view;
    }
    if (plan->blank)
        sim_actions_leave_out(world, SIM_LEFT_OUT_operator);
}

void sim_actions_leave_out(struct sim_world *world, enum sim_left_out why)
{
    struct sim_actions *actions = world->actions;
    if (!actions || actions->over)
        return;
    actions->over = true;
    actions->left_out[why]++;
    sim_line_begin(actions, "leave");
    sim_line_number(actions, why);
    sim_line_end(actions);
}

/* ---- what servers send ----------------------------------------------------------------------- */

static uint32_t begin_try(struct sim_world *world, const struct sim_request *request)
{
    struct sim_actions *actions = world->actions;
    const struct sim_lock_request *lock = &request->lock;
    if (actions->tries_count == SIM_ACTIONS_TRIES_MAX) {
        sim_actions_leave_out(world, SIM_LEFT_OUT_full);
        return 0;
    }
    struct sim_shown_try *try = &actions->tries[actions->tries_count++];
    *try = (struct sim_shown_try){.id = lock->attempt, .lock = lock->lock, .set = lock->set};
    try->set.count -= lock->gated ? 1 : 0;
    sim_line_begin(actions, "start");
    sim_line_number(actions, (uint64_t)(try - actions->tries));
    sim_line_number(actions, try->lock);
    sim_line_number(actions, try->set.count);
    for (unsigned k = 0; k < try->set.count; k++)
        sim_line_number(actions, try->set.resource[k]);
    sim_line_end(actions);
    return (uint32_t)(try - actions->tries);
}

static uint32_t begin_round(struct sim_world *world, unsigned s, const struct sim_request *request)
{
    struct sim_actions *actions = world->actions;
    const bool counts = request->lock.kind == FENCE_REQUEST_COUNT;
    if (actions->rounds_count == SIM_ACTIONS_ROUNDS_MAX) {
        sim_actions_leave_out(world, SIM_LEFT_OUT_full);
        return 0;
    }
    struct sim_shown_round *round = &actions->rounds[actions->rounds_count++];
    *round = (struct sim_shown_round){
        .server = s,
        .core = actions->core[s],
        .tag = request->tag,
        .kind = request->lock.kind,
        .resource = request->lock.set.resource[0],
        .token = request->lock.set.token[0],
    };
    sim_line_begin(actions, counts ? "begin-count" : "begin-break");
    sim_line_number(actions, (uint64_t)(round - actions->rounds));
    sim_line_number(actions, counts ? SIM_RESOURCES_MAX + round->resource : round->resource);
    sim_line_number(actions, counts ? request->lock.count : (uint64_t)round->token);
    sim_line_end(actions);
    return (uint32_t)(round - actions->rounds);
}

void sim_actions_sent(struct sim_world *world, unsigned s, struct sim_request *request)
{
    struct sim_actions *actions = world->actions;
    if (!actions || actions->over)
        return;
    const enum fence_request_kind kind = request->lock.kind;
    if (kind == FENCE_REQUEST_TAKE || kind == FENCE_REQUEST_CONFIRM) {
        const struct sim_shown_try *try = sim_actions_try(actions, request->lock.attempt);
        request->action = try ? (uint32_t)(try - actions->tries) : begin_try(world, request);
    } else if (kind == FENCE_REQUEST_COUNT || kind == FENCE_REQUEST_BREAK) {
        const struct sim_shown_round *round = sim_actions_round(actions, s, request);
        request->action =
            round ? (uint32_t)(round - actions->rounds) : begin_round(world, s, request);
    }
}

void sim_actions_crashed(struct sim_world *world, unsigned s)
{
    if (world->actions)
        world->actions->core[s]++;
}

/* ---- what servers decide --------------------------------------------------------------------- */

static void write_tokens(struct sim_actions *actions, const struct sim_shown_try *try,
                         int64_t first)
{
    int64_t tokens[SIM_RESOURCES_MAX] = {0};
    for (unsigned k = 0; k < try->set.count; k++)
        for (unsigned i = 0; i < FENCE_MASTERS_MAX; i++)
            if (try->frozen >> i & 1 && tokens[try->set.resource[k]] < try->numbers[i][k])
                tokens[try->set.resource[k]] = try->numbers[i][k];
    if (first > 0)
        tokens[try->set.resource[0]] = first;
    sim_line_begin(actions, "grant");
    sim_line_number(actions, (uint64_t)(try - actions->tries));
    sim_line_list(actions, tokens, SIM_RESOURCES_MAX);
    sim_line_end(actions);
}

static bool all_equal(const struct sim_shown_try *try)
{
    for (unsigned k = 0; k < try->set.count; k++) {
        int64_t number = 0;
        for (unsigned i = 0; i < FENCE_MASTERS_MAX; i++) {
            if ((try->frozen >> i & 1) == 0)
                continue;
            if (number != 0 && number != try->numbers[i][k])
                return false;
            number = try->numbers[i][k];
        }
    }
    return true;
}

void sim_actions_decided(struct sim_world *world, const struct fence_trace *trace)
{
    struct sim_actions *actions = world->actions;
    if (!actions || actions->over || trace->kind != FENCE_TRACE_FROZEN)
        return;
    struct sim_shown_try *try = sim_actions_try(actions, trace->attempt);
    assert(try);
    try->frozen = trace->masters;
    sim_line_begin(actions, "freeze");
    sim_line_number(actions, (uint64_t)(try - actions->tries));
    sim_line_number(actions, (unsigned)__builtin_popcount(try->frozen));
    for (unsigned i = 0; i < FENCE_MASTERS_MAX; i++) {
        int64_t numbers[SIM_RESOURCES_MAX] = {0};
        if ((try->frozen >> i & 1) == 0)
            continue;
        for (unsigned k = 0; k < try->set.count; k++)
            numbers[try->set.resource[k]] = try->numbers[i][k];
        sim_line_number(actions, i);
        sim_line_list(actions, numbers, SIM_RESOURCES_MAX);
    }
    sim_line_end(actions);
    if (!all_equal(try))
        return;
    try->granted = true;
    write_tokens(actions, try, trace->number);
}

/* ---- what servers hear ----------------------------------------------------------------------- */

static void hear_number(struct sim_actions *actions, unsigned i, const struct sim_request *request,
                        const struct sim_reply *reply)
{
    struct sim_shown_try *try = &actions->tries[request->action];
    if (try->heard >> i & 1)
        return;
    try->heard |= UINT32_C(1) << i;
    memcpy(try->numbers[i], reply->number, sizeof(try->numbers[i]));
}

static void hear_agreement(struct sim_world *world, unsigned i, const struct sim_request *request)
{
    struct sim_actions *actions = world->actions;
    struct sim_shown_try *try = &actions->tries[request->action];
    if (try->granted || try->frozen == 0)
        return;
    try->yes |= UINT32_C(1) << i;
    if ((unsigned)__builtin_popcount(try->yes) < world->machines[0].majority)
        return;
    try->granted = true;
    write_tokens(actions, try, 0);
}

static void hear_count(struct sim_world *world, unsigned i, const struct sim_request *request,
                       const struct sim_reply *reply)
{
    struct sim_actions *actions = world->actions;
    struct sim_shown_round *round = &actions->rounds[request->action];
    unsigned votes = 0;
    if (round->over || round->heard >> i & 1)
        return;
    round->heard |= UINT32_C(1) << i;
    round->numbers[i] = reply->number[0];
    for (unsigned j = 0; j < world->plan.masters; j++)
        votes += round->heard >> j & 1 && round->numbers[j] == reply->number[0];
    if (votes < world->machines[0].majority)
        return;
    round->over = true;
    sim_line_begin(actions, "agree");
    sim_line_number(actions, (uint64_t)(round - actions->rounds));
    sim_line_number(actions, (uint64_t)reply->number[0]);
    sim_line_end(actions);
}

void sim_actions_heard(struct sim_world *world, unsigned i, const struct sim_request *request,
                       const struct sim_reply *reply)
{
    struct sim_actions *actions = world->actions;
    if (!actions || actions->over)
        return;
    const enum fence_request_kind kind = request->lock.kind;
    if (kind == FENCE_REQUEST_TAKE && reply->kind == FENCE_REPLY_NUMBER)
        hear_number(actions, i, request, reply);
    else if (kind == FENCE_REQUEST_CONFIRM && reply->kind == FENCE_REPLY_YES)
        hear_agreement(world, i, request);
    else if (kind == FENCE_REQUEST_COUNT && reply->kind == FENCE_REPLY_NUMBER)
        hear_count(world, i, request, reply);
}

/* ---- what servers answer --------------------------------------------------------------------- */

static void write_told(struct sim_actions *actions, uint32_t lock, uint32_t resource, int64_t token)
{
    sim_line_begin(actions, "told");
    sim_line_number(actions, lock);
    sim_line_number(actions, resource);
    sim_line_number(actions, (uint64_t)token);
    sim_line_end(actions);
}

/* The second round of a break of that token, at that server, which most masters have answered. */
static void write_broken(struct sim_actions *actions, unsigned s, const struct sim_call *call,
                         int64_t token)
{
    uint32_t most = UINT32_MAX;
    for (unsigned k = 0; k < actions->rounds_count; k++) {
        const struct sim_shown_round *round = &actions->rounds[k];
        if (round->kind != FENCE_REQUEST_BREAK || round->server != s || round->token != token ||
            round->resource != call->set.resource[0])
            continue;
        if (most == UINT32_MAX ||
            __builtin_popcount(round->done) >= __builtin_popcount(actions->rounds[most].done))
            most = k;
    }
    if (most == UINT32_MAX)
        return; /* the core found that the grant had ended before */
    sim_line_begin(actions, "broken");
    sim_line_number(actions, most);
    sim_line_end(actions);
}

void sim_actions_answered(struct sim_world *world, unsigned s, const struct sim_call *call,
                          const struct fence_answer *answer)
{
    struct sim_actions *actions = world->actions;
    if (!actions || actions->over || answer->error)
        return;
    if (call->kind == FENCE_CALL_ACQUIRE && answer->acquire.group) {
        for (unsigned k = 0; k < answer->acquire.group->count; k++)
            write_told(actions, call->lock,
                       sim_resource_number(answer->acquire.group->locks[k].resource),
                       answer->acquire.group->locks[k].token);
    } else if (call->kind == FENCE_CALL_ACQUIRE || call->kind == FENCE_CALL_EXTEND) {
        write_told(actions, call->lock, call->set.resource[0], answer->token);
    } else if (call->kind == FENCE_CALL_COUNT) {
        sim_line_begin(actions, "told-values");
        sim_line_number(actions, SIM_RESOURCES_MAX + call->set.resource[0]);
        sim_line_number(actions, (uint64_t)answer->count.value);
        sim_line_number(actions, call->count);
        sim_line_end(actions);
    } else if (call->kind == FENCE_CALL_BREAK && answer->breaks.released) {
        write_broken(actions, s, call, call->set.token[0]);
    }
}
