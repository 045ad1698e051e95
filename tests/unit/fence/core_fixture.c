#include "tests/unit/fence/core_fixture.h"

#include "fence/protocol/name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct fence_words core_unfit = {"too-small", "It is too small. Get a larger one."};

struct fence_facts core_facts(unsigned i)
{
    struct fence_facts facts = {
        .durable = true,
        .persistence = "always",
        .marked = true,
        .fleet_id = "f1ee7f1ee7f1ee7f1ee7f1ee7f1ee7f1ee7f1ee7",
        .member = i + 1,
        .marked_durable = true,
        .marked_active = true,
        .ttl_max_ms = CORE_TTL_MAX_MS,
    };
    snprintf(facts.server_id, sizeof(facts.server_id), "%040u", i + 1);
    memcpy(facts.marked_server_id, facts.server_id, sizeof(facts.marked_server_id));
    snprintf(facts.lineage, sizeof(facts.lineage), "%040u:0", i + 101);
    memcpy(facts.marked_lineage, facts.lineage, sizeof(facts.marked_lineage));
    for (unsigned j = 0; j < FENCE_MASTERS_MAX; j++)
        facts.view.incarnation[j] = CORE_ADMISSIONS(1000) + CORE_ADMISSIONS(j);
    return facts;
}

static struct core_fixture *fixture_of(void **state, unsigned n, enum fence_ask ask, uint32_t calls)
{
    core_fixture_end(state);
    struct core_fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    *state = f;
    f->n = n;
    f->now_us = 1000000;
    f->random = 1;
    struct fence_config config = {
        .masters = n,
        .calls = calls,
        .waiters = calls - 1,
        .extensions = CORE_EXTENSIONS,
        .ask = ask,
        .seed = 1,
    };
    assert_int_equal(fence_core_new(&config, &f->core), 0);
    return f;
}

static struct core_fixture *fixture_new(void **state, unsigned n, enum fence_ask ask)
{
    return fixture_of(state, n, ask, CORE_CALLS);
}

static struct core_fixture *all_up(struct core_fixture *f)
{
    for (unsigned i = 0; i < f->n; i++)
        core_shake_hands(f, i, core_facts(i));
    assert_int_equal(fence_fleet_active(fence_core_fleet(f->core)), CORE_FIRST(f->n));
    return f;
}

struct core_fixture *core_fixture_new_down(void **state, unsigned n)
{
    return fixture_new(state, n, FENCE_ASK_ALL);
}

struct core_fixture *core_fixture_new(void **state, unsigned n)
{
    return all_up(fixture_new(state, n, FENCE_ASK_ALL));
}

struct core_fixture *core_fixture_new_large(void **state, unsigned n)
{
    return all_up(fixture_of(state, n, FENCE_ASK_ALL, CORE_CALLS_LARGE));
}

struct core_fixture *core_fixture_acquiring(void **state, unsigned n, uint32_t wait_ms)
{
    struct core_fixture *f = core_fixture_new(state, n);
    core_acquire(f, 1, wait_ms);
    return f;
}

static struct core_fixture *all_up_for_long(struct core_fixture *f)
{
    all_up(f);
    core_later_us(f, UINT64_C(1000) * 1000 *
                         1000); /* copies that members may have imported are gone */
    return f;
}

struct core_fixture *core_fixture_new_spread(void **state, unsigned n)
{
    return all_up_for_long(fixture_new(state, n, FENCE_ASK_SPREAD));
}

struct core_fixture *core_fixture_new_majority(void **state, unsigned n)
{
    return all_up_for_long(fixture_new(state, n, FENCE_ASK_MAJORITY));
}

int core_fixture_end(void **state)
{
    struct core_fixture *f = *state;
    if (f)
        fence_core_free(f->core);
    free(f);
    *state = NULL;
    return 0;
}

void core_later_us(struct core_fixture *f, uint64_t us)
{
    f->now_us += us;
}

static void owe(struct core_owed *owed, const struct fence_rejoin_request *request)
{
    assert_true(owed->count < CORE_OWED);
    owed->steps[owed->count++] = (struct core_step){
        .step = request->step,
        .tag = request->tag,
        .member = request->member,
        .view = *request->view,
    };
}

void core_give(struct core_fixture *f, struct fence_event event)
{
    event.now_us = f->now_us;
    event.random = f->random++;
    fence_step(f->core, &event, &f->effects);
    for (unsigned e = 0; e < f->effects.count; e++) {
        const struct fence_effect *effect = &f->effects.items[e];
        for (unsigned i = 0; i < f->n; i++) {
            if (!(effect->masters & CORE_SET(i)))
                continue;
            if (effect->kind == FENCE_EFFECT_SEND && effect->request.tag != 0)
                f->tag[i] = effect->request.tag;
            if (effect->kind == FENCE_EFFECT_REJOIN)
                owe(&f->owed[i], &effect->rejoin);
        }
    }
}

void core_tick(struct core_fixture *f)
{
    uint64_t due_us = fence_core_deadline(f->core);
    assert_true(due_us != FENCE_NEVER);
    if (due_us > f->now_us)
        f->now_us = due_us;
    core_give(f, (struct fence_event){.kind = FENCE_EVENT_TICK});
}

const char *core_lock_id(uint64_t client)
{
    static char ids[CORE_CALLS][FENCE_LOCK_ID_LEN + 1];
    char *id = ids[client % CORE_CALLS];
    snprintf(id, sizeof(ids[0]), "lock-id-of-client-%09u", (unsigned)client);
    return id;
}

bool core_is_due(const struct core_fixture *f)
{
    return fence_core_deadline(f->core) <= f->now_us;
}

void core_call(struct core_fixture *f, struct fence_call call)
{
    core_give(f, (struct fence_event){.kind = FENCE_EVENT_CALL, .call = call});
}

void core_client_left(struct core_fixture *f, uint64_t client)
{
    core_give(f, (struct fence_event){.kind = FENCE_EVENT_LEFT, .client = client});
}

struct fence_call core_call_of(enum fence_call_kind kind, uint64_t client)
{
    const bool leases = kind == FENCE_CALL_ACQUIRE || kind == FENCE_CALL_EXTEND;
    const bool names_grant = kind == FENCE_CALL_EXTEND || kind == FENCE_CALL_BREAK;
    const bool is_of_holder = leases || kind == FENCE_CALL_RELEASE;
    return (struct fence_call){
        .kind = kind,
        .client = client,
        .resource = CORE_RESOURCE,
        .lock_id = is_of_holder ? core_lock_id(client) : "",
        .owner = kind == FENCE_CALL_ACQUIRE ? "worker" : "",
        .token = names_grant ? CORE_TOKEN : 0,
        .ttl_ms = leases ? CORE_TTL_MS : 0,
    };
}

void core_acquire(struct core_fixture *f, uint64_t client, uint32_t wait_ms)
{
    struct fence_call call = core_call_of(FENCE_CALL_ACQUIRE, client);
    call.wait_ms = wait_ms;
    core_call(f, call);
}

void core_acquire_ttl(struct core_fixture *f, uint64_t client, uint32_t ttl_ms)
{
    struct fence_call call = core_call_of(FENCE_CALL_ACQUIRE, client);
    call.ttl_ms = ttl_ms;
    core_call(f, call);
}

void core_reply_to(struct core_fixture *f, unsigned i, uint64_t tag, struct fence_reply reply)
{
    reply.tag = tag;
    core_give(f, (struct fence_event){.kind = FENCE_EVENT_REPLY, .master = i, .reply = reply});
}

void core_reply(struct core_fixture *f, unsigned i, struct fence_reply reply)
{
    core_reply_to(f, i, f->tag[i], reply);
}

void core_reply_kind(struct core_fixture *f, unsigned i, enum fence_reply_kind kind)
{
    core_reply(f, i, (struct fence_reply){.kind = kind});
}

void core_number(struct core_fixture *f, unsigned i, int64_t number)
{
    core_reply(f, i, (struct fence_reply){.kind = FENCE_REPLY_NUMBER, .number = number});
}

void core_held(struct core_fixture *f, unsigned i, const char *holder, uint64_t remaining_ms)
{
    core_reply(f, i,
               (struct fence_reply){
                   .kind = FENCE_REPLY_HELD,
                   .number = 7,
                   .holder = holder,
                   .owner = "holder",
                   .remaining_ms = remaining_ms,
               });
}

void core_numbers(struct core_fixture *f, int64_t first, int64_t second)
{
    core_number(f, 0, first);
    core_number(f, 1, second);
}

void core_both_reply(struct core_fixture *f, enum fence_reply_kind kind)
{
    core_reply_kind(f, 0, kind);
    core_reply_kind(f, 1, kind);
}

void core_both_held(struct core_fixture *f, const char *holder, uint64_t remaining_ms)
{
    core_held(f, 0, holder, remaining_ms);
    core_held(f, 1, holder, remaining_ms);
}

void core_grant(struct core_fixture *f, int64_t number)
{
    core_numbers(f, number, number);
    assert_int_equal(core_answer_of(f)->error, 0);
}

void core_meet_holder(struct core_fixture *f, uint64_t remaining_ms)
{
    core_both_held(f, CORE_OTHER_HOLDER, remaining_ms);
}

void core_meet_contenders(struct core_fixture *f)
{
    core_number(f, 0, 7);
    core_held(f, 1, "contender-b", 1000);
    core_held(f, 2, "contender-c", 1000);
}

void core_tell_released(struct core_fixture *f, const char *resource, const char *lock_id)
{
    core_give(f, (struct fence_event){
                     .kind = FENCE_EVENT_RELEASED,
                     .released = {.resource = resource, .lock_id = lock_id},
                 });
}

struct fence_view core_view_after(unsigned i, unsigned admissions)
{
    struct fence_view view = core_facts(0).view;
    view.incarnation[i] += CORE_ADMISSIONS(admissions);
    return view;
}

void core_hear(struct core_fixture *f, unsigned i, const struct fence_view *view)
{
    core_reply_to(f, i, 0, (struct fence_reply){.kind = FENCE_REPLY_STALE, .view = view});
}

void core_shake_hands(struct core_fixture *f, unsigned i, struct fence_facts facts)
{
    core_give(f, (struct fence_event){.kind = FENCE_EVENT_FACTS, .master = i, .facts = facts});
}

void core_down(struct core_fixture *f, unsigned i)
{
    core_give(f, (struct fence_event){
                     .kind = FENCE_EVENT_DOWN,
                     .master = i,
                     .reason = FENCE_REASON_UNREACHABLE,
                 });
}

unsigned core_nth(const struct core_fixture *f, unsigned k)
{
    return (fence_slot(CORE_RESOURCE, strlen(CORE_RESOURCE)) + k) % f->n;
}

uint32_t core_nths(const struct core_fixture *f, unsigned from, unsigned count)
{
    uint32_t set = 0;
    for (unsigned k = from; k < from + count; k++)
        set |= CORE_SET(core_nth(f, k));
    return set;
}

uint32_t core_sent(const struct core_fixture *f, enum fence_request_kind kind)
{
    uint32_t set = 0;
    for (unsigned e = 0; e < f->effects.count; e++) {
        const struct fence_effect *effect = &f->effects.items[e];
        if (effect->kind != FENCE_EFFECT_SEND || effect->request.kind != kind)
            continue;
        assert_int_equal(set & effect->masters, 0); /* no master twice in a step */
        set |= effect->masters;
    }
    return set;
}

const struct fence_request *core_request(const struct core_fixture *f, enum fence_request_kind kind,
                                         unsigned i)
{
    for (unsigned e = 0; e < f->effects.count; e++) {
        const struct fence_effect *effect = &f->effects.items[e];
        if (effect->kind == FENCE_EFFECT_SEND && (effect->masters & CORE_SET(i)) &&
            effect->request.kind == kind)
            return &effect->request;
    }
    fail_msg("master %u was not sent a request of kind %d", i, (int)kind);
    return NULL;
}

uint32_t core_effect(const struct core_fixture *f, enum fence_effect_kind kind)
{
    uint32_t set = 0;
    for (unsigned e = 0; e < f->effects.count; e++)
        if (f->effects.items[e].kind == kind)
            set |= f->effects.items[e].masters;
    return set;
}

unsigned core_answers(const struct core_fixture *f)
{
    unsigned count = 0;
    for (unsigned e = 0; e < f->effects.count; e++)
        count += f->effects.items[e].kind == FENCE_EFFECT_ANSWER;
    return count;
}

const struct fence_answer *core_answer_of(const struct core_fixture *f)
{
    assert_int_equal(core_answers(f), 1);
    unsigned e = 0;
    while (f->effects.items[e].kind != FENCE_EFFECT_ANSWER)
        e++;
    return &f->effects.items[e].answer;
}

void assert_answer(const struct core_fixture *f, uint64_t client, int error)
{
    const struct fence_answer *answer = core_answer_of(f);
    assert_int_equal(answer->client, client);
    assert_int_equal(answer->error, error);
}

void assert_no_effects(const struct core_fixture *f)
{
    assert_int_equal(f->effects.count, 0);
}
