#include "tests/unit/fence/rejoin/rejoin_fixture.h"

#include <string.h>

const struct fence_master *rejoin_member(const struct core_fixture *f)
{
    return &fence_core_fleet(f->core)->master[MEMBER];
}

int64_t rejoin_before(void)
{
    return core_facts(0).view.incarnation[MEMBER];
}

int64_t rejoin_meant(const struct core_fixture *f)
{
    return rejoin_member(f)->meant;
}

struct fence_facts rejoin_restarted(void)
{
    struct fence_facts facts = core_facts(MEMBER);
    memset(facts.server_id, 'e', FENCE_ID_HEX_LEN);
    facts.intact = true;
    return facts;
}

struct fence_facts rejoin_blank(void)
{
    struct fence_facts facts = rejoin_restarted();
    facts.intact = false;
    facts.marked = false;
    return facts;
}

struct fence_facts rejoin_marked(int64_t next)
{
    struct fence_facts facts = rejoin_restarted();
    facts.marked_active = false;
    facts.next = next;
    return facts;
}

static uint64_t pop(struct core_owed *owed)
{
    assert_true(owed->count > 0);
    uint64_t tag = owed->steps[0].tag;
    owed->count--;
    memmove(owed->steps, owed->steps + 1, owed->count * sizeof(owed->steps[0]));
    return tag;
}

void rejoin_reply(struct core_fixture *f, unsigned i, struct fence_rejoin_reply reply)
{
    reply.tag = pop(&f->owed[i]);
    core_give(f, (struct fence_event){.kind = FENCE_EVENT_REJOIN, .master = i, .rejoin = reply});
}

void rejoin_done_until(struct core_fixture *f, unsigned i, uint64_t cursor)
{
    rejoin_reply(f, i, (struct fence_rejoin_reply){.outcome = FENCE_REJOIN_DONE, .cursor = cursor});
}

void rejoin_done(struct core_fixture *f, unsigned i)
{
    rejoin_done_until(f, i, 0);
}

void rejoin_page(struct core_fixture *f, unsigned i, const char *bytes, uint64_t cursor)
{
    rejoin_reply(f, i,
                 (struct fence_rejoin_reply){
                     .outcome = FENCE_REJOIN_DONE,
                     .page = {.bytes = bytes, .len = strlen(bytes)},
                     .cursor = cursor,
                 });
}

void rejoin_changed(struct core_fixture *f, unsigned i, const struct fence_view *view)
{
    rejoin_reply(f, i, (struct fence_rejoin_reply){.outcome = FENCE_REJOIN_CHANGED, .view = view});
}

void rejoin_cut_off(struct core_fixture *f, unsigned i)
{
    unsigned owed = f->owed[i].count;
    core_down(f, i);
    for (; owed > 0; owed--)
        rejoin_reply(f, i, (struct fence_rejoin_reply){.outcome = FENCE_REJOIN_LOST});
}

void rejoin_drop_late(struct core_fixture *f)
{
    for (unsigned i = 0; i < MEMBER; i++) {
        struct core_owed *owed = &f->owed[i];
        if (owed->count > 1)
            owed->steps[0] = owed->steps[owed->count - 1];
        owed->count = owed->count > 0;
    }
}

void rejoin_majority_answers(struct core_fixture *f)
{
    for (unsigned i = 0; i < SOURCES; i++)
        rejoin_done(f, i);
}

uint32_t rejoin_sent(const struct core_fixture *f, enum fence_rejoin_step step)
{
    uint32_t set = 0;
    for (unsigned e = 0; e < f->effects.count; e++) {
        const struct fence_effect *effect = &f->effects.items[e];
        if (effect->kind != FENCE_EFFECT_REJOIN || effect->rejoin.step != step)
            continue;
        assert_int_equal(set & effect->masters, 0); /* no master twice in a step */
        set |= effect->masters;
    }
    return set;
}

const struct fence_rejoin_request *rejoin_request(const struct core_fixture *f,
                                                  enum fence_rejoin_step step, unsigned i)
{
    for (unsigned e = 0; e < f->effects.count; e++) {
        const struct fence_effect *effect = &f->effects.items[e];
        if (effect->kind == FENCE_EFFECT_REJOIN && effect->rejoin.step == step &&
            (effect->masters & CORE_SET(i)))
            return &effect->rejoin;
    }
    fail_msg("master %u was not sent step %d", i, (int)step);
    return NULL;
}

const struct fence_rejoin_request *assert_step(const struct core_fixture *f,
                                               enum fence_rejoin_step step, uint32_t masters)
{
    const struct fence_rejoin_request *request = NULL;
    for (unsigned e = 0; e < f->effects.count; e++) {
        if (f->effects.items[e].kind != FENCE_EFFECT_REJOIN)
            continue;
        request = &f->effects.items[e].rejoin;
        assert_int_equal(request->step, step);
        assert_int_equal(request->member, MEMBER);
    }
    assert_int_equal(rejoin_sent(f, step), masters);
    return request;
}

void assert_no_step(const struct core_fixture *f)
{
    assert_int_equal(core_effect(f, FENCE_EFFECT_REJOIN), 0);
}

void assert_broken_off(const struct core_fixture *f, enum fence_reason reason)
{
    assert_no_step(f);
    assert_true(core_effect(f, FENCE_EFFECT_RESET) & CORE_SET(MEMBER));
    assert_string_equal(fence_reason_words(rejoin_member(f)->reason, NULL)->name,
                        fence_reason_words(reason, NULL)->name);
    assert_true(fence_core_deadline(f->core) == FENCE_NEVER);
}

void assert_shaken(const struct core_fixture *f)
{
    assert_no_step(f);
    assert_int_equal(core_effect(f, FENCE_EFFECT_HANDSHAKE), CORE_SET(MEMBER));
    assert_true(fence_core_deadline(f->core) == FENCE_NEVER);
}

void rejoin_begins(struct core_fixture *f, struct fence_facts facts)
{
    f->owed[MEMBER].count = 0;
    core_down(f, MEMBER);
    core_shake_hands(f, MEMBER, facts);
    assert_int_equal(rejoin_member(f)->state, FENCE_MASTER_REJOIN);
    assert_no_effects(f);
}

void rejoin_goes_well(struct core_fixture *f)
{
    for (unsigned i = 0; i < MEMBER; i++)
        f->owed[i].count = 0;
    core_tick(f); /* after a short delay */
    rejoin_majority_answers(f);
    rejoin_done(f, MEMBER);
    rejoin_done(f, MEMBER);
    f->owed[3].count = 0;
    rejoin_majority_answers(f);
    f->owed[3].count = 0;
    assert_step(f, FENCE_REJOIN_READ, CORE_FIRST(SOURCES));
}

struct core_fixture *rejoin_delayed(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 5);
    rejoin_begins(f, rejoin_blank());
    return f;
}

struct core_fixture *rejoin_asking(void **state)
{
    struct core_fixture *f = rejoin_delayed(state);
    core_tick(f);
    assert_step(f, FENCE_REJOIN_RECORD, CORE_FIRST(4));
    return f;
}

struct core_fixture *rejoin_marking(void **state)
{
    struct core_fixture *f = rejoin_asking(state);
    rejoin_majority_answers(f);
    f->owed[3].count = 0; /* it takes its time, and does so without a word */
    assert_step(f, FENCE_REJOIN_MARK, CORE_SET(MEMBER));
    return f;
}

struct core_fixture *rejoin_clearing(void **state)
{
    struct core_fixture *f = rejoin_marking(state);
    rejoin_done(f, MEMBER);
    assert_step(f, FENCE_REJOIN_CLEAR, CORE_SET(MEMBER));
    return f;
}

struct core_fixture *rejoin_recording(void **state)
{
    struct core_fixture *f = rejoin_clearing(state);
    rejoin_done(f, MEMBER);
    assert_step(f, FENCE_REJOIN_RECORD, CORE_FIRST(4));
    return f;
}

struct core_fixture *rejoin_importing(void **state)
{
    struct core_fixture *f = rejoin_recording(state);
    rejoin_majority_answers(f);
    f->owed[3].count = 0;
    assert_step(f, FENCE_REJOIN_READ, CORE_FIRST(SOURCES));
    return f;
}

void rejoin_counters_come(struct core_fixture *f)
{
    for (unsigned i = 0; i < SOURCES; i++)
        rejoin_page(f, i, "", 0);
}

void rejoin_locks_come(struct core_fixture *f)
{
    for (unsigned i = 0; i < SOURCES; i++)
        rejoin_page(f, i, "", 0);
}

struct core_fixture *rejoin_admitting(void **state)
{
    struct core_fixture *f = rejoin_importing(state);
    rejoin_counters_come(f);
    rejoin_locks_come(f);
    assert_step(f, FENCE_REJOIN_ADMIT, CORE_SET(MEMBER));
    return f;
}
