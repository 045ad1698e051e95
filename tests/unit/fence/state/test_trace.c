/* Ten walks of fence/ARCHITECTURE.md as the trace tells them. Three masters; a call asks the first
 * two, and the third is spare. */
#include "fence/state/trace.h"
#include "tests/unit/fence/core_fixture.h"

#include <stdio.h>
#include <string.h>

enum {
    TOLD_MAX = 4096,
};

static char told[TOLD_MAX];

static void tell(void *context, const struct fence_trace *trace)
{
    char text[FENCE_TRACE_TEXT_MAX];
    const size_t len = strlen(told);
    fence_trace_text(trace, text);
    assert_in_range(snprintf(told + len, sizeof(told) - len, "%s\n", text), 1,
                    sizeof(told) - len - 1);
}

static struct core_fixture *traced(void **state)
{
    struct core_fixture *f = core_fixture_new_majority(state, 3);
    told[0] = '\0';
    fence_core_trace(f->core, (struct fence_tracer){.line = tell});
    return f;
}

static void call(struct core_fixture *f, enum fence_call_kind kind, uint32_t count)
{
    struct fence_call call = core_call_of(kind, 1);
    call.count = count;
    core_call(f, call);
}

static void held_under_token(struct core_fixture *f, unsigned i)
{
    core_reply(f, i,
               (struct fence_reply){.kind = FENCE_REPLY_HELD,
                                    .holder = core_lock_id(2),
                                    .owner = "",
                                    .number = CORE_TOKEN,
                                    .remaining_ms = 20000});
}

static void acquire_with_equal_numbers(void **state)
{
    struct core_fixture *f = traced(state);
    core_acquire(f, 1, 0);
    core_numbers(f, CORE_TOKEN, CORE_TOKEN);
    assert_string_equal(told, "orders/42: acquire is called\n"
                              "orders/42: take is sent to 1 2\n"
                              "orders/42: master 1 replies number 7\n"
                              "orders/42: master 2 replies number 7\n"
                              "orders/42: 1 2 are frozen, token 7, attempt 7958955049054603978\n"
                              "orders/42: acquire is answered: success, token 7\n");
}

static void acquire_with_other_numbers_is_confirmed(void **state)
{
    struct core_fixture *f = traced(state);
    core_acquire(f, 1, 0);
    core_numbers(f, CORE_TOKEN - 1, CORE_TOKEN);
    core_both_reply(f, FENCE_REPLY_YES);
    assert_string_equal(told, "orders/42: acquire is called\n"
                              "orders/42: take is sent to 1 2\n"
                              "orders/42: master 1 replies number 6\n"
                              "orders/42: master 2 replies number 7\n"
                              "orders/42: 1 2 are frozen, token 7, attempt 7958955049054603978\n"
                              "orders/42: confirm is sent to 1 2\n"
                              "orders/42: master 1 replies yes\n"
                              "orders/42: master 2 replies yes\n"
                              "orders/42: acquire is answered: success, token 7\n");
}

static void acquire_asks_another_master_where_one_is_late(void **state)
{
    struct core_fixture *f = traced(state);
    core_acquire(f, 1, 0);
    core_number(f, 0, CORE_TOKEN);
    core_tick(f);
    core_number(f, 2, CORE_TOKEN);
    assert_string_equal(told, "orders/42: acquire is called\n"
                              "orders/42: take is sent to 1 2\n"
                              "orders/42: master 1 replies number 7\n"
                              "orders/42: others are late, a hedge asks 3\n"
                              "orders/42: take is sent to 3\n"
                              "orders/42: master 3 replies number 7\n"
                              "orders/42: 1 3 are frozen, token 7, attempt 7958955049054603978\n"
                              "orders/42: undo is sent to 2\n"
                              "orders/42: acquire is answered: success, token 7\n");
}

static void acquire_of_a_lock_that_is_held(void **state)
{
    struct core_fixture *f = traced(state);
    core_acquire(f, 1, 0);
    core_meet_holder(f, 20000);
    assert_string_equal(told, "orders/42: acquire is called\n"
                              "orders/42: take is sent to 1 2\n"
                              "orders/42: master 1 replies held 7\n"
                              "orders/42: master 2 replies held 7\n"
                              "orders/42: undo is sent to 1 2\n"
                              "orders/42: acquire is answered: another holder has the lock\n");
}

static void acquire_waits_for_the_release(void **state)
{
    struct core_fixture *f = traced(state);
    core_acquire(f, 1, 60000);
    core_meet_holder(f, 20000);
    core_tell_released(f, CORE_RESOURCE, CORE_OTHER_HOLDER);
    core_tick(f);
    core_numbers(f, CORE_TOKEN, CORE_TOKEN);
    assert_string_equal(told, "orders/42: acquire is called\n"
                              "orders/42: take is sent to 1 2\n"
                              "orders/42: master 1 replies held 7\n"
                              "orders/42: master 2 replies held 7\n"
                              "orders/42: undo is sent to 1 2\n"
                              "orders/42: acquire waits\n"
                              "orders/42: acquire pauses for 610592 us\n"
                              "orders/42: word came of a release\n"
                              "orders/42: take is sent to 1 2\n"
                              "orders/42: master 1 replies number 7\n"
                              "orders/42: master 2 replies number 7\n"
                              "orders/42: 1 2 are frozen, token 7, attempt 11409396526365357622\n"
                              "orders/42: acquire is answered: success, token 7\n");
}

static void acquire_whose_client_leaves(void **state)
{
    struct core_fixture *f = traced(state);
    core_acquire(f, 1, 0);
    core_number(f, 0, CORE_TOKEN);
    core_client_left(f, 1);
    assert_string_equal(told,
                        "orders/42: acquire is called\n"
                        "orders/42: take is sent to 1 2\n"
                        "orders/42: master 1 replies number 7\n"
                        "orders/42: undo is sent to 1 2\n"
                        "orders/42: acquire is answered: the client left before its answer\n");
}

static void extend_joins_where_the_lock_is_not(void **state)
{
    struct core_fixture *f = traced(state);
    call(f, FENCE_CALL_EXTEND, 0);
    core_reply(f, 0, (struct fence_reply){.kind = FENCE_REPLY_YES, .number = 1, .owner = ""});
    core_reply_kind(f, 1, FENCE_REPLY_NO);
    core_reply_kind(f, 2, FENCE_REPLY_NO);
    core_reply(f, 1, (struct fence_reply){.kind = FENCE_REPLY_YES, .number = 1, .owner = ""});
    assert_string_equal(told, "orders/42: extend is called\n"
                              "orders/42: extend is sent to 1 2\n"
                              "orders/42: master 1 replies yes\n"
                              "orders/42: master 2 replies no\n"
                              "orders/42: extend is sent to 3\n"
                              "orders/42: master 3 replies no\n"
                              "orders/42: join is sent to 2 3\n"
                              "orders/42: master 2 replies yes\n"
                              "orders/42: undo is sent to 3\n"
                              "orders/42: extend is answered: success, token 7\n");
}

static void release_through_a_view_that_ended(void **state)
{
    struct core_fixture *f = traced(state);
    const struct fence_view view = core_view_after(2, 1);
    call(f, FENCE_CALL_RELEASE, 0);
    core_reply_kind(f, 0, FENCE_REPLY_YES);
    core_reply(f, 1, (struct fence_reply){.kind = FENCE_REPLY_STALE, .view = &view});
    core_reply_kind(f, 1, FENCE_REPLY_YES);
    assert_string_equal(told, "orders/42: release is called\n"
                              "orders/42: release is sent to 1 2\n"
                              "orders/42: master 1 replies yes\n"
                              "orders/42: master 2 replies stale view\n"
                              "orders/42: release is sent to 2\n"
                              "orders/42: master 2 replies yes\n"
                              "orders/42: release is answered: success\n");
}

static void count_until_masters_agree(void **state)
{
    struct core_fixture *f = traced(state);
    call(f, FENCE_CALL_COUNT, 1);
    core_number(f, 0, 12);
    core_number(f, 1, 14);
    core_number(f, 2, 14);
    assert_string_equal(told, "orders/42: count is called\n"
                              "orders/42: count is sent to 1 2\n"
                              "orders/42: master 1 replies number 12\n"
                              "orders/42: master 2 replies number 14\n"
                              "orders/42: count is sent to 3\n"
                              "orders/42: master 3 replies number 14\n"
                              "orders/42: count is answered: success, value 14\n");
}

static void break_finds_the_grant_and_ends_it(void **state)
{
    struct core_fixture *f = traced(state);
    call(f, FENCE_CALL_BREAK, 0);
    held_under_token(f, 0);
    held_under_token(f, 1);
    core_both_reply(f, FENCE_REPLY_YES);
    assert_string_equal(told, "orders/42: break is called\n"
                              "orders/42: inspect is sent to 1 2 3\n"
                              "orders/42: master 1 replies held 7\n"
                              "orders/42: master 2 replies held 7\n"
                              "orders/42: break is sent to 1 2 3\n"
                              "orders/42: master 1 replies yes\n"
                              "orders/42: master 2 replies yes\n"
                              "orders/42: break is answered: success, token 7\n");
}

static const struct CMUnitTest cases[] = {
    CORE_CASE(acquire_with_equal_numbers),
    CORE_CASE(acquire_with_other_numbers_is_confirmed),
    CORE_CASE(acquire_asks_another_master_where_one_is_late),
    CORE_CASE(acquire_of_a_lock_that_is_held),
    CORE_CASE(acquire_waits_for_the_release),
    CORE_CASE(acquire_whose_client_leaves),
    CORE_CASE(extend_joins_where_the_lock_is_not),
    CORE_CASE(release_through_a_view_that_ended),
    CORE_CASE(count_until_masters_agree),
    CORE_CASE(break_finds_the_grant_and_ends_it),
};

CASE_MAIN(cases, NULL, NULL)
