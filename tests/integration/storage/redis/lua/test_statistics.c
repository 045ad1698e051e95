/* CONFIG RESETSTAT sets the number of evicted keys back. Every script notices it, on a real Redis.
 */
#include "tests/integration/storage/redis/lua/acting.h"
#include "tests/integration/storage/redis/lua/script_fixture.h"

#include <stdio.h>
#include <stdlib.h>

/* More bytes than all that comes after it in a case. */
static void receive_much(void)
{
    enum {
        MUCH = 8 * 1024 * 1024,
    };
    char *much = calloc(1, MUCH);
    assert_non_null(much);
    freeReplyObject(script_reply("SET padding %b", much, (size_t)MUCH));
    free(much);
    script_redis("DEL padding");
}

static void nothing_acts_once_the_statistics_were_reset(void **state)
{
    receive_much();
    script_mark_active("1", "no");
    script_redis("CONFIG RESETSTAT");
    script_assert_error(acting_ask("I"), "PAWLFORGOT Its statistics were reset");
    acting_expect_none();
    assert_int_equal(acting_settle(), 0);
}

/* The mark notes how many bytes were received since the reset. */
static void all_act_where_the_statistics_were_reset_before_the_mark(void **state)
{
    receive_much();
    script_redis("CONFIG RESETSTAT");
    script_mark_active("1", "no");
    acting_expect_all();
}

/* Redis counts an error once its answer was given. */
static void first_answer_of_settle_is_counted_and_the_second_notes_it(void **state)
{
    script_mark_active("1", "no");
    script_assert_error(acting_settle_once(), "PAWLSTATS ");
    script_assert_field("answers", "");
    for (int again = 0; again < 2; again++) {
        assert_int_equal(acting_settle(), 1);
        script_assert_field("answers", acting_answers(1));
    }
    acting_expect_all();
}

static void nothing_acts_after_a_reset_though_much_was_received_since(void **state)
{
    script_mark_active("1", "no");
    assert_int_equal(acting_settle(), 1);
    script_redis("CONFIG RESETSTAT");
    receive_much();
    script_assert_error(acting_ask("I"), "PAWLFORGOT Its statistics were reset");
    acting_expect_none();
    assert_int_equal(acting_settle(), 0);
}

/* Another fleet's server, or a person, got that answer again. */
static void nothing_acts_where_fewer_answers_were_counted_than_noted(void **state)
{
    script_mark_active("1", "no");
    assert_int_equal(acting_settle(), 1);
    script_redis("HSET pawl:fleet answers 2@%s", script_lineage());
    script_assert_error(acting_ask("I"), "PAWLFORGOT Its statistics were reset");
    acting_expect_none();
}

/* An older pawld marked it after a restart, and left them. */
static void answers_of_another_lineage_say_nothing(void **state)
{
    script_mark_active("1", "no");
    script_redis("HSET pawl:fleet answers 7@0123456789abcdef0123456789abcdef01234567:0");
    acting_expect_all();
}

/* Some servers forget all counts then, and some count no new kind. */
static void provoke_many_kinds_of_errors(void)
{
    enum {
        KINDS = 200,
    };
    for (int i = 0; i < KINDS; i++) {
        char script[64];
        snprintf(script, sizeof(script), "return redis.error_reply('KIND%d x')", i);
        freeReplyObject(script_eval((const char *const[]){script}, 1, "0"));
    }
}

static void expect_reset_to_be_noticed(void)
{
    acting_expect_all();
    script_redis("CONFIG RESETSTAT");
    receive_much();
    script_assert_error(acting_ask("I"), "PAWLFORGOT Its statistics were reset");
    acting_expect_none();
}

static void many_kinds_of_errors_hide_no_reset(void **state)
{
    script_mark_active("1", "no");
    assert_int_equal(acting_settle(), 1);
    provoke_many_kinds_of_errors();
    acting_expect_all();
    assert_int_equal(acting_settle(), 1);
    script_assert_field("answers", acting_answers(1));
    expect_reset_to_be_noticed();
}

static void many_kinds_of_errors_before_the_mark_hide_no_reset(void **state)
{
    provoke_many_kinds_of_errors();
    script_mark_active("1", "no");
    assert_int_equal(acting_settle(), 1);
    script_assert_field("answers", acting_answers(1));
    expect_reset_to_be_noticed();
}

static void answers_are_noted_though_memory_is_out(void **state)
{
    script_mark_active("1", "no");
    acting_use_up_memory();
    assert_int_equal(acting_settle(), 1);
    script_assert_field("answers", acting_answers(1));
}

static const struct CMUnitTest cases[] = {
    SCRIPT_CASE(nothing_acts_once_the_statistics_were_reset),
    SCRIPT_CASE(all_act_where_the_statistics_were_reset_before_the_mark),
    SCRIPT_CASE(first_answer_of_settle_is_counted_and_the_second_notes_it),
    SCRIPT_CASE(nothing_acts_after_a_reset_though_much_was_received_since),
    SCRIPT_CASE(nothing_acts_where_fewer_answers_were_counted_than_noted),
    SCRIPT_CASE(answers_of_another_lineage_say_nothing),
    SCRIPT_CASE(many_kinds_of_errors_hide_no_reset),
    SCRIPT_CASE(many_kinds_of_errors_before_the_mark_hide_no_reset),
    SCRIPT_CASE(answers_are_noted_though_memory_is_out),
};

CASE_MAIN(cases, NULL, NULL)
