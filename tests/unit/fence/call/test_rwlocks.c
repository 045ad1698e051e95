/* Readers and writers: what each asks for, who waits for whom, and what wakes. */
#include "tests/unit/fence/core_fixture.h"

#define SEAT(k) CORE_RESOURCE "#" k
#define GATE    CORE_RESOURCE "#w"

static void acquire_shared(struct core_fixture *f, uint64_t client, enum fence_mode mode,
                           uint32_t wait_ms)
{
    struct fence_call call = core_call_of(FENCE_CALL_ACQUIRE, client);
    call.mode = mode;
    call.wait_ms = wait_ms;
    core_call(f, call);
}

static struct core_fixture *reading(void **state, uint32_t wait_ms)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    acquire_shared(f, 1, FENCE_MODE_READ, wait_ms);
    return f;
}

/* The gate was granted to a writer, which asks for the seats now. */
static struct core_fixture *writing(void **state, uint32_t wait_ms)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    acquire_shared(f, 1, FENCE_MODE_WRITE, wait_ms);
    assert_string_equal(core_request(f, FENCE_REQUEST_TAKE, 0)->resource, GATE);
    core_numbers(f, 7, 7);
    assert_int_equal(core_answers(f), 0);
    return f;
}

static void gate_is_held(struct core_fixture *f)
{
    const struct fence_reply held = {.kind = FENCE_REPLY_HELD,
                                     .holder = CORE_OTHER_HOLDER,
                                     .owner = "writer",
                                     .blocked = 1,
                                     .remaining_ms = 9000};
    core_reply(f, 0, held);
    core_reply(f, 1, held);
}

static void reader_asks_for_a_seat_behind_its_gate(void **state)
{
    struct core_fixture *f = reading(state, 0);
    const struct fence_request *request = core_request(f, FENCE_REQUEST_TAKE, 0);
    assert_true(request->take.gated);
    assert_int_equal(request->group->count, 2);
    assert_string_equal(request->group->locks[0].resource, SEAT("0"));
    assert_string_equal(request->group->locks[1].resource, GATE);
    core_numbers(f, 3, 3);
    assert_answer(f, 1, 0);
    assert_string_equal(core_answer_of(f)->resource, SEAT("0"));
}

static void reader_that_the_gate_turns_away_asks_for_no_other_seat(void **state)
{
    struct core_fixture *f = reading(state, 0);
    gate_is_held(f);
    assert_answer(f, 1, FENCE_EHELD);
    assert_string_equal(core_answer_of(f)->owner, "writer");
    assert_int_equal(core_answer_of(f)->remaining_ms, 9000);
}

static void reader_that_waits_is_told_of_the_release_of_the_gate(void **state)
{
    struct core_fixture *f = reading(state, 10000);
    gate_is_held(f);
    assert_int_equal(core_answers(f), 0);
    core_tell_released(f, GATE, CORE_OTHER_HOLDER);
    core_tick(f);
    assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), CORE_FIRST(3));
}

static void readers_of_one_server_ask_side_by_side(void **state)
{
    struct core_fixture *f = reading(state, 10000);
    acquire_shared(f, 2, FENCE_MODE_READ, 10000);
    assert_string_equal(core_request(f, FENCE_REQUEST_TAKE, 0)->resource, SEAT("1"));
}

static void writer_asks_for_the_gate_and_then_for_each_seat(void **state)
{
    struct core_fixture *f = writing(state, 0);
    const struct fence_request *request = core_request(f, FENCE_REQUEST_TAKE, 0);
    assert_false(request->take.gated);
    assert_int_equal(request->group->count, FENCE_READERS_DEFAULT);
    assert_string_equal(request->group->locks[0].resource, SEAT("0"));
    assert_string_equal(request->group->locks[FENCE_READERS_DEFAULT - 1].resource, SEAT("31"));
}

static void writer_that_fails_releases_its_gate(void **state)
{
    struct core_fixture *f = writing(state, 0);
    core_both_held(f, CORE_OTHER_HOLDER, 1000);
    assert_answer(f, 1, FENCE_EHELD);
    assert_string_equal(core_answer_of(f)->resource, CORE_RESOURCE);
    assert_string_equal(core_request(f, FENCE_REQUEST_RELEASE, 0)->resource, GATE);
}

static void writer_that_waits_extends_its_gate(void **state)
{
    struct core_fixture *f = writing(state, 60000);
    const uint64_t part_us = core_call_of(FENCE_CALL_ACQUIRE, 1).ttl_ms * UINT64_C(1000) / 4;
    core_both_held(f, CORE_OTHER_HOLDER, 60000);
    core_later_us(f, part_us + 1000);
    core_tick(f);
    const struct fence_request *request = core_request(f, FENCE_REQUEST_EXTEND, 0);
    assert_string_equal(request->resource, GATE);
    assert_int_equal(request->token, 7);
}

/* Of a lease of 100 ms, which is shorter than from one look at the seats to the next. */
static void writer_that_extends_its_gate_asks_for_no_seat(void **state)
{
    struct core_fixture *f = core_fixture_new(state, 3);
    struct fence_call call = core_call_of(FENCE_CALL_ACQUIRE, 1);
    call.mode = FENCE_MODE_WRITE;
    call.wait_ms = 60000;
    call.ttl_ms = FENCE_TTL_MIN_MS;
    core_call(f, call);
    core_numbers(f, 7, 7);
    core_both_held(f, CORE_OTHER_HOLDER, 60000);
    for (unsigned k = 0; k < 4; k++) {
        core_later_us(f, call.ttl_ms * UINT64_C(1000) / 4);
        core_tick(f);
        assert_string_equal(core_request(f, FENCE_REQUEST_EXTEND, 0)->resource, GATE);
        assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), 0);
    }
}

static void writer_asks_for_the_seats_at_once_when_their_holder_releases(void **state)
{
    struct core_fixture *f = writing(state, 60000);
    core_both_held(f, CORE_OTHER_HOLDER, 60000);
    core_tell_released(f, SEAT("0"), CORE_OTHER_HOLDER);
    core_tick(f);
    assert_int_equal(core_sent(f, FENCE_REQUEST_TAKE), CORE_FIRST(3));
}

static void second_writer_waits_for_the_gate(void **state)
{
    struct core_fixture *f = writing(state, 10000);
    acquire_shared(f, 2, FENCE_MODE_WRITE, 0);
    assert_string_equal(core_request(f, FENCE_REQUEST_TAKE, 0)->resource, GATE);
}

static const struct CMUnitTest cases[] = {
    CORE_CASE(reader_asks_for_a_seat_behind_its_gate),
    CORE_CASE(reader_that_the_gate_turns_away_asks_for_no_other_seat),
    CORE_CASE(reader_that_waits_is_told_of_the_release_of_the_gate),
    CORE_CASE(readers_of_one_server_ask_side_by_side),
    CORE_CASE(writer_asks_for_the_gate_and_then_for_each_seat),
    CORE_CASE(writer_that_fails_releases_its_gate),
    CORE_CASE(writer_that_waits_extends_its_gate),
    CORE_CASE(writer_that_extends_its_gate_asks_for_no_seat),
    CORE_CASE(writer_asks_for_the_seats_at_once_when_their_holder_releases),
    CORE_CASE(second_writer_waits_for_the_gate),
};

CASE_MAIN(cases, NULL, NULL)
