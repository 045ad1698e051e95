#include "fence/core.h"

#include "fence/core_state.h"
#include "fence/name.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A tag is an index in its lower 16 bits, of a call or of a debt, and above it which round of the
 * call or which debt it was. 0 is neither: its reply is only counted. */
enum {
    TAG_INDEX_BITS = 16,
    TAG_DEBT_BIT = 16,
    TAG_SERIAL_SHIFT = 17,
};
static_assert(FENCE_CALLS_MAX <= 1 << TAG_INDEX_BITS, "an index must fit its bits");
static_assert(FENCE_DEBTS_MAX <= 1 << TAG_INDEX_BITS, "an index must fit its bits");

static uint32_t power_of_two(uint32_t at_least)
{
    uint32_t power = 1;
    while (power < at_least)
        power *= 2;
    return power;
}

int fence_core_new(const struct fence_config *config, struct fence_core **ret_core)
{
    if (config->masters % 2 == 0 || config->masters > FENCE_MASTERS_MAX || config->calls == 0 ||
        config->calls > FENCE_CALLS_MAX)
        return FENCE_EINVAL;
    struct fence_core *core = calloc(1, sizeof(*core));
    if (!core)
        return FENCE_ENOMEM;
    core->config = *config;
    fence_fleet_init(&core->fleet, config->masters);

    int error = FENCE_ENOMEM;
    core->calls = calloc(config->calls, sizeof(*core->calls));
    if (!core->calls)
        goto out;
    for (uint32_t i = 0; i < config->calls; i++)
        core->calls[i].next_free = i + 1 < config->calls ? i + 1 : FENCE_NOBODY;
    error = fence_timers_init(&core->timers, config->calls);
    if (error)
        goto out;
    error = fence_lines_init(&core->lines, power_of_two(config->calls), config->seed);
    if (error)
        goto out;
    error = fence_debts_init(&core->debts,
                             config->calls < FENCE_DEBTS_MAX ? config->calls : FENCE_DEBTS_MAX);
    if (error)
        goto out;
    *ret_core = core;
    core = NULL;
out:
    fence_core_free(core);
    return error;
}

void fence_core_free(struct fence_core *core)
{
    if (!core)
        return;
    fence_timers_fini(&core->timers);
    fence_lines_fini(&core->lines);
    fence_debts_fini(&core->debts);
    free(core->calls);
    free(core);
}

const struct fence_fleet *fence_core_fleet(const struct fence_core *core)
{
    return &core->fleet;
}

unsigned fence_core_calls(const struct fence_core *core)
{
    return core->busy;
}

uint64_t fence_core_deadline(const struct fence_core *core)
{
    uint64_t call_us = fence_timers_next_us(&core->timers);
    uint64_t fleet_us = fence_fleet_deadline(&core->fleet);
    if (core->debts.telling)
        return core->now_us;
    return call_us < fleet_us ? call_us : fleet_us;
}

/* ---- what the parts of the core share -------------------------------------------------------- */

uint64_t fence_core_random(struct fence_core *core)
{
    /* SplitMix64 (Steele, Lea, Flood 2014) over the random bits that came with the event. */
    uint64_t z = core->random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static void copy_text(char *to, size_t size, const char *from)
{
    size_t len = from ? strlen(from) : 0;
    assert(len < size);
    memcpy(to, from ? from : "", len + 1);
}

static struct fence_effect *add_effect(struct fence_core *core, enum fence_effect_kind kind)
{
    assert(core->effects->count < FENCE_EFFECTS_MAX);
    struct fence_effect *effect = &core->effects->items[core->effects->count++];
    effect->kind = kind;
    effect->master = 0;
    return effect;
}

void fence_core_next_round(struct fence_core *core, struct call *call)
{
    call->round = ++core->rounds;
}

static void send_each(struct fence_core *core, uint32_t set, const struct fence_request *request)
{
    set &= fence_fleet_active(&core->fleet);
    for (unsigned i = 0; i < core->fleet.n; i++) {
        if (!(set >> i & 1))
            continue;
        struct fence_effect *effect = add_effect(core, FENCE_EFFECT_SEND);
        effect->master = i;
        effect->request = *request;
        fence_fleet_sent(&core->fleet, i, core->now_us);
    }
}

static struct fence_request complete(const struct call *call, const struct fence_request *request,
                                     uint64_t tag)
{
    struct fence_request completed = *request;
    completed.tag = tag;
    completed.resource = call->resource;
    completed.lock_id = call->lock_id;
    completed.owner = call->owner;
    completed.slot = call->slot;
    return completed;
}

void fence_core_ask(struct fence_core *core, const struct call *call, uint32_t set,
                    const struct fence_request *request)
{
    struct fence_request completed =
        complete(call, request, call->round << TAG_SERIAL_SHIFT | fence_core_index(core, call));
    send_each(core, set, &completed);
}

void fence_core_tell(struct fence_core *core, const struct call *call, uint32_t set,
                     const struct fence_request *request)
{
    struct fence_request completed = complete(call, request, 0);
    send_each(core, set, &completed);
}

/* ---- clean-ups ------------------------------------------------------------------------------- */

static void tell_debt(struct fence_core *core, const struct fence_debt *debt, uint32_t set)
{
    struct fence_request request = {
        .kind = FENCE_REQUEST_UNDO,
        .tag = debt->serial << TAG_SERIAL_SHIFT | UINT64_C(1) << TAG_DEBT_BIT |
               (uint64_t)(debt - core->debts.debts),
        .resource = debt->resource,
        .lock_id = debt->lock_id,
        .owner = "",
        .attempt = debt->attempt,
    };
    send_each(core, set, &request);
}

void fence_core_undo(struct fence_core *core, const struct call *call, uint32_t set)
{
    struct fence_debt owed = {
        .attempt = call->attempt.id,
        .expires_us = core->now_us + call->ttl_ms * UINT64_C(1000) + FENCE_DEBT_SLACK_US,
        .owed = set,
    };
    copy_text(owed.resource, sizeof(owed.resource), call->resource);
    copy_text(owed.lock_id, sizeof(owed.lock_id), call->lock_id);
    uint32_t index = fence_debts_open(&core->debts, &owed, core->now_us);
    if (index == FENCE_NO_DEBT) {
        /* Too many at once: this one is told without being remembered. */
        struct fence_request request = {.kind = FENCE_REQUEST_UNDO, .attempt = call->attempt.id};
        fence_core_tell(core, call, set, &request);
        return;
    }
    struct fence_debt *debt = &core->debts.debts[index];
    debt->told = set & fence_fleet_active(&core->fleet);
    tell_debt(core, debt, debt->told);
}

static void debt_reply(struct fence_core *core, unsigned i, uint32_t index, uint64_t serial,
                       enum fence_reply_kind kind)
{
    /* Refused means that nothing was done, as much as lost may mean it. */
    if (kind == FENCE_REPLY_LOST || kind == FENCE_REPLY_REFUSED)
        fence_debts_lose(&core->debts, index, serial, i);
    else
        fence_debts_settle(&core->debts, index, serial, i);
}

static void tell_again(struct fence_core *core)
{
    uint32_t set = 0;
    const struct fence_debt *debt =
        fence_debts_next(&core->debts, fence_fleet_active(&core->fleet), core->now_us, &set);
    if (debt)
        tell_debt(core, debt, set);
}

/* ---- answers --------------------------------------------------------------------------------- */

struct fence_answer *fence_core_answer(struct fence_core *core, const struct call *call, int error)
{
    struct fence_answer *answer = &add_effect(core, FENCE_EFFECT_ANSWER)->answer;
    *answer = (struct fence_answer){
        .kind = call->kind,
        .error = error,
        .client = call->client,
        .resource = call->resource,
        .lock_id = call->lock_id,
        .owner = "",
        .ttl_ms = call->ttl_ms,
        .served_ms = (core->now_us - call->arrived_us) / 1000,
        .total = core->fleet.n,
        .ttl_max_ms = core->fleet.ttl_max_ms,
    };
    return answer;
}

void fence_core_finish(struct fence_core *core, struct call *call)
{
    fence_core_wake_at(core, call, FENCE_NEVER);
    call->state = CALL_FREE;
    call->next_free = core->free;
    core->free = fence_core_index(core, call);
    core->busy--;
}

/* ---- events ---------------------------------------------------------------------------------- */

static void check_call(const struct fence_call *call)
{
    assert(fence_resource_valid(call->resource, strlen(call->resource)));
    if (call->kind != FENCE_CALL_INSPECT)
        assert(fence_lock_id_valid(call->lock_id, strlen(call->lock_id)));
    if (call->kind == FENCE_CALL_ACQUIRE)
        assert(fence_owner_valid(call->owner, strlen(call->owner)));
    if (call->kind == FENCE_CALL_ACQUIRE || call->kind == FENCE_CALL_EXTEND)
        assert(call->ttl_ms >= FENCE_TTL_MIN_MS && call->ttl_ms <= FENCE_TTL_CEILING_MS);
    assert(call->wait_ms <= FENCE_WAIT_MAX_MS);
}

static int refusal(const struct fence_core *core, const struct fence_call *call)
{
    if (core->free == FENCE_NOBODY)
        return FENCE_EBUSY;
    if (core->fleet.fleet_id[0] == '\0')
        return FENCE_ENOTREADY;
    return call->ttl_ms > core->fleet.ttl_max_ms ? FENCE_ETTL : 0;
}

/* Turns a call away before it gets a slot: its strings are the event's own. */
static void refuse(struct fence_core *core, const struct fence_call *call, int error)
{
    add_effect(core, FENCE_EFFECT_ANSWER)->answer = (struct fence_answer){
        .kind = call->kind,
        .error = error,
        .client = call->client,
        .resource = call->resource,
        .lock_id = "",
        .owner = "",
        .ttl_ms = call->ttl_ms,
        .total = core->fleet.n,
        .ttl_max_ms = core->fleet.ttl_max_ms,
    };
}

static void on_call(struct fence_core *core, const struct fence_call *asked)
{
    check_call(asked);
    int error = refusal(core, asked);
    if (error) {
        refuse(core, asked, error);
        return;
    }
    struct call *call = &core->calls[core->free];
    core->free = call->next_free;
    core->busy++;
    call->kind = asked->kind;
    call->client = asked->client;
    call->arrived_us = core->now_us;
    call->wait_until_us = asked->wait_ms ? core->now_us + asked->wait_ms * UINT64_C(1000) : 0;
    call->ttl_ms = asked->ttl_ms;
    call->token = asked->token;
    call->tries = 0;
    call->slot = (uint16_t)fence_slot(asked->resource, strlen(asked->resource));
    copy_text(call->resource, sizeof(call->resource), asked->resource);
    copy_text(call->lock_id, sizeof(call->lock_id), asked->lock_id);
    copy_text(call->owner, sizeof(call->owner), asked->owner);
    if (call->kind == FENCE_CALL_ACQUIRE)
        fence_core_acquire_begin(core, call);
    else
        fence_core_vote_begin(core, call);
}

static void on_reply(struct fence_core *core, unsigned i, const struct fence_reply *reply)
{
    fence_fleet_answered(&core->fleet, i, core->now_us);
    uint32_t index = reply->tag & ((1U << TAG_INDEX_BITS) - 1);
    uint64_t round = reply->tag >> TAG_SERIAL_SHIFT;
    if (reply->tag >> TAG_DEBT_BIT & 1) {
        debt_reply(core, i, index, round, reply->kind);
        return;
    }
    if (round == 0 || index >= core->config.calls || core->calls[index].round != round)
        return; /* of a round that is over */
    struct call *call = &core->calls[index];
    if (call->state == CALL_TRYING)
        fence_core_acquire_reply(core, call, i, reply);
    else if (call->state == CALL_VOTING)
        fence_core_vote_reply(core, call, i, reply);
}

/* A refused master is looked at again on a new connection: the operator may have mended it. */
static void reset(struct fence_core *core, unsigned i, enum fence_reason reason)
{
    fence_fleet_lose(&core->fleet, i, reason);
    add_effect(core, FENCE_EFFECT_RESET)->master = i;
}

static void on_facts(struct fence_core *core, unsigned i, const struct fence_facts *facts)
{
    uint32_t active = fence_fleet_active(&core->fleet);
    uint32_t changed = fence_fleet_learn(&core->fleet, i, facts);
    if (fence_fleet_active(&core->fleet) & ~active)
        fence_debts_tell_again(&core->debts);
    for (unsigned j = 0; j < core->fleet.n; j++) {
        if (!(changed >> j & 1))
            continue;
        if (core->fleet.master[j].state == FENCE_MASTER_RESTAMP)
            add_effect(core, FENCE_EFFECT_RESTAMP)->master = j;
        else
            reset(core, j, FENCE_REASON_CONNECTING);
    }
}

static void call_timer(struct fence_core *core)
{
    struct call *call = &core->calls[fence_timers_first(&core->timers)];
    fence_core_wake_at(core, call, FENCE_NEVER);
    if (call->kind == FENCE_CALL_ACQUIRE)
        fence_core_acquire_timer(core, call);
    else
        fence_core_vote_timer(core, call);
}

/* Calls give up before masters are given up: their clean-ups still go out on the old connections,
 * behind what they clean up. */
static void on_tick(struct fence_core *core)
{
    if (core->debts.telling)
        tell_again(core);
    if (fence_timers_next_us(&core->timers) <= core->now_us) {
        call_timer(core);
        return;
    }
    uint32_t silent = fence_fleet_silent(&core->fleet, core->now_us);
    for (unsigned i = 0; i < core->fleet.n; i++)
        if (silent >> i & 1)
            reset(core, i, FENCE_REASON_SILENT);
}

void fence_step(struct fence_core *core, const struct fence_event *event,
                struct fence_effects *effects)
{
    assert(event->now_us >= core->now_us);
    assert(event->master < core->fleet.n);
    core->now_us = event->now_us;
    core->random = event->random;
    core->effects = effects;
    effects->count = 0;
    switch (event->kind) {
    case FENCE_EVENT_CALL:
        on_call(core, &event->call);
        break;
    case FENCE_EVENT_REPLY:
        on_reply(core, event->master, &event->reply);
        break;
    case FENCE_EVENT_FACTS:
        on_facts(core, event->master, &event->facts);
        break;
    case FENCE_EVENT_DOWN:
        fence_fleet_lose(&core->fleet, event->master, event->reason);
        break;
    case FENCE_EVENT_TICK:
        on_tick(core);
        break;
    }
}
