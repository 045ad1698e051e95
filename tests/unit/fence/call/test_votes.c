/* Extend, release and inspect. */
#include "tests/unit/fence/core_fixture.h"
#include "tests/unit/fence/round/quorum_fixture.h"

enum {
    CLIENT = 1,
};

static struct core_fixture *asked(void **state, unsigned n, enum fence_call_kind kind)
{
    struct core_fixture *f = core_fixture_new(state, n);
    core_call(f, core_call_of(kind, CLIENT));
    return f;
}

/* Masters 0 .. @count - 1 all reply so; nothing is answered before the last of them. */
static void reply_all(struct core_fixture *f, unsigned count, enum fence_reply_kind kind)
{
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(core_answers(f), 0);
        core_reply_kind(f, i, kind);
    }
}

enum {
    FLEETS = 3, /* fleets with one, three and five masters */
};

struct verdict {
    const char *what;
    enum fence_call_kind kind;
    const char *replies[FLEETS]; /* letters of quorum_reply_of() */
    int error;
    bool is_there; /* the lock was released, or is held */
    bool is_late;  /* it is answered at the deadline */
};

static const struct verdict verdicts[] = {
    {"extended", FENCE_CALL_EXTEND, {"y", "yy.", "yyy.."}, 0, false, false},
    {"past it", FENCE_CALL_EXTEND, {"p", "pp.", "ppp.."}, FENCE_ELOCKLOST, false, false},
    {"not there", FENCE_CALL_EXTEND, {"n", "ttt", "nnnnn"}, FENCE_ELOCKLOST, false, false},
    {"exhausted", FENCE_CALL_EXTEND, {"x", "xx.", "xx..."}, FENCE_EEXHAUSTED, false, false},
    /* An imported lock proves nothing: neither that the lock stands nor that it is lost. A majority
     * of them is acquired again (test_reacquire.c). */
    {"uncounted", FENCE_CALL_EXTEND, {"l", "ull", "uulll"}, FENCE_ENOQUORUM, false, false},
    {"lost replies", FENCE_CALL_EXTEND, {"l", "nll", "nnnll"}, FENCE_ENOQUORUM, false, false},
    {"silence", FENCE_CALL_EXTEND, {".", "y..", "yy..."}, FENCE_ENOQUORUM, false, true},

    {"released", FENCE_CALL_RELEASE, {"y", "yy.", "yyy.."}, 0, true, false},
    {"lost before", FENCE_CALL_RELEASE, {"n", "nn.", "nnn.."}, 0, false, false},
    {"uncounted", FENCE_CALL_RELEASE, {"u", "uu.", "uuu.."}, FENCE_ENOQUORUM, false, false},
    {"silence", FENCE_CALL_RELEASE, {".", "y..", "yy..."}, FENCE_ENOQUORUM, false, true},

    {"held", FENCE_CALL_INSPECT, {"a", "aa.", "aaa.."}, 0, true, false},
    {"free", FENCE_CALL_INSPECT, {"n", "nn.", "nnn.."}, 0, false, false},
    {"split", FENCE_CALL_INSPECT, {"n", "abn", "aabbn"}, 0, false, false},
    {"silence", FENCE_CALL_INSPECT, {".", "n..", "nn..."}, FENCE_ENOQUORUM, false, true},
};

/* How many answers there are after these replies, of which only the last may bring one. */
static unsigned answers_after(struct core_fixture *f, const char *replies)
{
    for (unsigned i = 0; i < f->n && replies[i] != '.'; i++) {
        assert_int_equal(core_answers(f), 0);
        core_reply(f, i, quorum_reply_of(replies[i]));
    }
    return core_answers(f);
}

/* Nothing else is sent with the answer: another round may be extending it, over another server. */
static bool finds_it(const struct fence_answer *answer)
{
    if (answer->kind == FENCE_CALL_RELEASE)
        return answer->release.released;
    return answer->kind == FENCE_CALL_INSPECT && answer->inspect.held;
}

static bool is_answered_so(void **state, const struct verdict *verdict, unsigned size)
{
    struct core_fixture *f = asked(state, 2 * size + 1, verdict->kind);
    const uint64_t asked_us = f->now_us;
    const bool is_late = answers_after(f, verdict->replies[size]) == 0;
    while (core_answers(f) == 0)
        core_tick(f);
    const struct fence_answer *answer = core_answer_of(f);
    const bool is_in_time = is_late ? f->now_us - asked_us == FENCE_MASTER_DEADLINE_US &&
                                          answer->parts[f->n - 1] == FENCE_PART_TIMEOUT
                                    : f->effects.count == 1;
    return is_late == verdict->is_late && is_in_time && answer->error == verdict->error &&
           finds_it(answer) == verdict->is_there &&
           (answer->lease.validity_ms > 0) ==
               (verdict->kind == FENCE_CALL_EXTEND && !answer->error) &&
           fence_core_calls(f->core) == 0;
}

static void call_is_answered_as_soon_as_the_replies_decide_it(void **state)
{
    for (size_t k = 0; k < sizeof(verdicts) / sizeof(verdicts[0]); k++)
        for (unsigned size = 0; size < FLEETS; size++)
            if (!is_answered_so(state, &verdicts[k], size))
                fail_msg("call %d, %s: \"%s\" is answered otherwise", (int)verdicts[k].kind,
                         verdicts[k].what, verdicts[k].replies[size]);
}

static void extend_names_id_token_and_ttl_to_all_active_masters(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 5);
    core_down(f, 2);
    core_call(f, core_call_of(FENCE_CALL_EXTEND, CLIENT));
    assert_int_equal(core_sent(f, FENCE_REQUEST_EXTEND), CORE_FIRST(5) & ~CORE_SET(2));
    const struct fence_request *extend = core_request(f, FENCE_REQUEST_EXTEND, 4);
    assert_string_equal(extend->resource, CORE_RESOURCE);
    assert_string_equal(extend->lock_id, core_lock_id(CLIENT));
    assert_int_equal(extend->token, CORE_TOKEN);
    assert_int_equal(extend->ttl_ms, CORE_TTL_MS);
}

static void extended_as_soon_as_a_majority_agreed(void **state)
{
    struct core_fixture *f = asked(state, 5, FENCE_CALL_EXTEND);
    core_later_us(f, 3000);
    reply_all(f, 3, FENCE_REPLY_YES);
    assert_answer(f, CLIENT, 0);
    assert_int_equal(core_answer_of(f)->lease.granted, 3);
    assert_int_equal(core_answer_of(f)->lease.ttl_ms, CORE_TTL_MS);
    assert_int_equal(core_answer_of(f)->lease.validity_ms, 30000 - 3 - 302);
    assert_int_equal(core_answer_of(f)->served_us / 1000, 3);
}

/* It stands under a number that the client was not told: that is not lost (test_reacquire.c). */
static void extend_acquires_again_where_a_majority_has_a_higher_number(void **state)
{
    struct core_fixture *f = asked(state, 5, FENCE_CALL_EXTEND);
    reply_all(f, 3, FENCE_REPLY_SUPERSEDED);
    assert_int_equal(core_answers(f), 0);
    assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), CORE_FIRST(5));
    assert_true(core_request(f, FENCE_REQUEST_TAKE, 0)->idempotent);
}

static void patience_of_extend_is_a_tenth_of_a_short_ttl(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    struct fence_call call = core_call_of(FENCE_CALL_EXTEND, CLIENT);
    call.ttl_ms = 100;
    core_call(f, call);
    uint64_t asked_us = f->now_us;
    core_tick(f); /* now those that do not answer are late */
    assert_no_effects(f);
    assert_int_equal(fence_core_deadline(f->core), asked_us + 10000);
    core_tick(f);
    assert_answer(f, CLIENT, FENCE_ENOQUORUM);
}

static void extend_that_took_longer_than_its_ttl_is_too_slow(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    struct fence_call call = core_call_of(FENCE_CALL_EXTEND, CLIENT);
    call.ttl_ms = 100;
    core_call(f, call);
    core_later_us(f, 97000);
    core_both_reply(f, FENCE_REPLY_YES);
    assert_answer(f, CLIENT, FENCE_ETOOSLOW);
    assert_int_equal(core_sent(f, FENCE_REQUEST_RELEASE), 0);
}

static void release_matches_the_lock_id_alone(void **state)
{
    struct core_fixture *f = asked(state, 3, FENCE_CALL_RELEASE);
    assert_int_equal(core_sent(f, FENCE_REQUEST_RELEASE), CORE_FIRST(3));
    const struct fence_request *release = core_request(f, FENCE_REQUEST_RELEASE, 2);
    assert_string_equal(release->lock_id, core_lock_id(CLIENT));
    assert_int_equal(release->token, 0);
}

static void unknown_release_does_not_wake_waiters(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    core_acquire(f, 2, 5000);
    core_both_held(f, core_lock_id(CLIENT), 20000);
    core_call(f, core_call_of(FENCE_CALL_RELEASE, CLIENT));
    core_both_reply(f, FENCE_REPLY_LOST);
    assert_answer(f, CLIENT, FENCE_ENOQUORUM);
    assert_false(core_is_due(f));
}

static void release_is_tried_even_where_a_majority_is_down(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    core_down(f, 0);
    core_down(f, 1);
    core_call(f, core_call_of(FENCE_CALL_RELEASE, CLIENT));
    assert_int_equal(core_sent(f, FENCE_REQUEST_RELEASE), CORE_SET(2));
    assert_answer(f, CLIENT, FENCE_ENOQUORUM);
    assert_int_equal(core_answer_of(f)->parts[0], FENCE_PART_DOWN);
    assert_int_equal(fence_core_calls(f->core), 0);
}

static void inspected(struct core_fixture *f, unsigned i, const char *holder, int64_t number,
                      uint64_t remaining_ms)
{
    core_reply(f, i,
               (struct fence_reply){
                   .kind = FENCE_REPLY_HELD,
                   .number = number,
                   .holder = holder,
                   .owner = holder,
                   .remaining_ms = remaining_ms,
               });
}

static void held_needs_a_majority_that_names_one_id(void **state)
{
    struct core_fixture *f = asked(state, 5, FENCE_CALL_INSPECT);
    assert_int_equal(core_sent(f, FENCE_REQUEST_INSPECT), CORE_FIRST(5));
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(core_answers(f), 0);
        inspected(f, i, "a", CORE_TOKEN, 500 + i);
    }
    assert_answer(f, CLIENT, 0);
    assert_true(core_answer_of(f)->inspect.held);
    assert_int_equal(core_answer_of(f)->token, CORE_TOKEN);
    assert_int_equal(core_answer_of(f)->remaining_ms, 500);
    assert_string_equal(core_answer_of(f)->owner, "a");
}

static void token_is_not_given_where_the_masters_differ(void **state)
{
    struct core_fixture *f = asked(state, 3, FENCE_CALL_INSPECT);
    inspected(f, 0, "a", 7, 500);
    inspected(f, 2, "a", 8, 600);
    assert_no_effects(f);
    inspected(f, 1, "a", 9, 400);
    assert_true(core_answer_of(f)->inspect.held);
    assert_int_equal(core_answer_of(f)->token, 0);
    assert_int_equal(core_answer_of(f)->remaining_ms, 500);
}

static void tombstone_is_held_without_a_token(void **state)
{
    struct core_fixture *f = asked(state, 3, FENCE_CALL_INSPECT);
    inspected(f, 0, FENCE_TOMBSTONE, 0, 500);
    inspected(f, 1, FENCE_TOMBSTONE, 0, 600);
    inspected(f, 2, FENCE_TOMBSTONE, 0, 400);
    assert_answer(f, CLIENT, 0);
    assert_true(core_answer_of(f)->inspect.held);
    assert_int_equal(core_answer_of(f)->token, 0);
    assert_int_equal(core_answer_of(f)->remaining_ms, 500);
}

static void answer_to_a_listing_says_so(void **state)
{
    struct fence_call call = core_call_of(FENCE_CALL_INSPECT, CLIENT);
    call.origin = FENCE_ORIGIN_LISTING;
    struct core_fixture *f = core_fixture_new_down(state, 3);
    core_call(f, call);
    assert_answer(f, CLIENT, FENCE_ENOTREADY);
    assert_int_equal(core_answer_of(f)->origin, FENCE_ORIGIN_LISTING);
    f = core_fixture_new(state, 3);
    core_call(f, call);
    reply_all(f, 2, FENCE_REPLY_NO);
    assert_answer(f, CLIENT, 0);
    assert_int_equal(core_answer_of(f)->origin, FENCE_ORIGIN_LISTING);
}

static void inspect_counts_those_that_wait(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    core_acquire(f, 2, 5000);
    core_acquire(f, 3, 5000);
    core_call(f, core_call_of(FENCE_CALL_INSPECT, CLIENT));
    core_both_reply(f, FENCE_REPLY_NO);
    assert_answer(f, CLIENT, 0);
    assert_int_equal(core_answer_of(f)->inspect.waiters, 2);
}

static void reply_after_the_answer_is_dropped(void **state)
{
    struct core_fixture *f = asked(state, 3, FENCE_CALL_RELEASE);
    uint64_t slow = f->tag[2];
    reply_all(f, 2, FENCE_REPLY_YES);
    assert_answer(f, CLIENT, 0);
    core_reply_kind(f, 2, FENCE_REPLY_YES);
    assert_no_effects(f);
    core_call(f, core_call_of(FENCE_CALL_EXTEND, CLIENT)); /* the same slot again */
    core_reply_kind(f, 0, FENCE_REPLY_YES);
    core_reply_to(f, 2, slow, (struct fence_reply){.kind = FENCE_REPLY_YES});
    assert_no_effects(f);
}

static void votes_do_not_stand_in_the_line_for_acquires(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    core_acquire(f, 2, 5000);
    static const enum fence_call_kind kinds[] = {
        FENCE_CALL_EXTEND,
        FENCE_CALL_RELEASE,
        FENCE_CALL_INSPECT,
    };
    for (unsigned k = 0; k < 3; k++) {
        core_call(f, core_call_of(kinds[k], CLIENT));
        assert_int_equal(f->effects.count, 1);
        assert_int_equal(core_effect(f, FENCE_EFFECT_SEND), CORE_FIRST(3));
    }
}

static const struct CMUnitTest cases[] = {
    CORE_CASE(call_is_answered_as_soon_as_the_replies_decide_it),
    CORE_CASE(extend_names_id_token_and_ttl_to_all_active_masters),
    CORE_CASE(extended_as_soon_as_a_majority_agreed),
    CORE_CASE(extend_acquires_again_where_a_majority_has_a_higher_number),
    CORE_CASE(patience_of_extend_is_a_tenth_of_a_short_ttl),
    CORE_CASE(extend_that_took_longer_than_its_ttl_is_too_slow),
    CORE_CASE(release_matches_the_lock_id_alone),
    CORE_CASE(unknown_release_does_not_wake_waiters),
    CORE_CASE(release_is_tried_even_where_a_majority_is_down),
    CORE_CASE(held_needs_a_majority_that_names_one_id),
    CORE_CASE(token_is_not_given_where_the_masters_differ),
    CORE_CASE(tombstone_is_held_without_a_token),
    CORE_CASE(answer_to_a_listing_says_so),
    CORE_CASE(inspect_counts_those_that_wait),
    CORE_CASE(reply_after_the_answer_is_dropped),
    CORE_CASE(votes_do_not_stand_in_the_line_for_acquires),
};

CASE_MAIN(cases, NULL, NULL)
