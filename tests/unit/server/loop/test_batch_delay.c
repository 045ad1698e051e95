/* When what is to be sent waits for more. */
#include "server/loop/batch_delay.h"
#include "tests/lib/case.h"

static struct server_batch_delay batch_delay;

static int setup(void **state)
{
    batch_delay = (struct server_batch_delay){0};
    return 0;
}

static void answered(unsigned count, uint64_t now_us)
{
    for (unsigned i = 0; i < count; i++)
        server_batch_delay_answered(&batch_delay, now_us);
}

/* A turn in which @count calls came, so that there is something to send. */
static bool turn(unsigned count, uint64_t now_us)
{
    for (unsigned i = 0; i < count; i++)
        server_batch_delay_asked(&batch_delay);
    return server_batch_delay_waits(&batch_delay, true, now_us);
}

static void where_nobody_was_answered_it_is_sent_at_once(void **state)
{
    assert_false(turn(1, 1000));
    assert_false(turn(5, 2000));
}

static void client_that_is_alone_is_not_held_up(void **state)
{
    for (uint64_t now_us = 1000; now_us < 10000; now_us += 200) {
        answered(1, now_us);
        assert_false(turn(1, now_us + 100));
    }
}

static void burst_is_waited_for_until_all_have_come_back(void **state)
{
    answered(10, 1000);
    assert_true(turn(1, 1010));
    assert_true(turn(4, 1020));
    assert_true(turn(4, 1030));
    assert_false(turn(1, 1040));
}

static void turns_that_bring_nothing_end_it(void **state)
{
    answered(10, 1000);
    assert_true(turn(1, 1001));
    for (unsigned i = 0; i < SERVER_BATCH_DELAY_FRUITLESS; i++)
        assert_true(turn(0, 1002));
    assert_false(turn(0, 1002));
    assert_false(turn(1, 1003)); /* and those who are late are not waited for any more */
}

static void turns_that_bring_something_keep_it_up(void **state)
{
    answered(10, 1000);
    for (unsigned i = 0; i < 5; i++) {
        for (unsigned j = 0; j < SERVER_BATCH_DELAY_FRUITLESS; j++)
            assert_true(turn(0, 1001));
        assert_true(turn(1, 1001));
    }
}

static void time_ends_it_whatever_comes(void **state)
{
    answered(100, 1000);
    assert_true(turn(1, 1000 + SERVER_BATCH_DELAY_US - 1));
    assert_false(turn(1, 1000 + SERVER_BATCH_DELAY_US));
}

/* Each of them asks again within the turn in which it was answered. */
static void clients_that_are_answered_without_end_do_not_hold_it_up_without_end(void **state)
{
    uint64_t now_us = 1000;
    bool waits = true;
    answered(1, now_us);
    for (; waits; now_us += waits ? SERVER_BATCH_DELAY_US / 10 : 0) {
        assert_in_range(now_us, 1000, 1000 + SERVER_BATCH_DELAY_US);
        server_batch_delay_asked(&batch_delay);
        answered(1, now_us);
        waits = server_batch_delay_waits(&batch_delay, true, now_us);
    }
    assert_int_equal(now_us, 1000 + SERVER_BATCH_DELAY_US);
}

static void while_nothing_could_be_sent_nothing_is_given_up(void **state)
{
    answered(10, 1000);
    for (unsigned i = 0; i < 3 * SERVER_BATCH_DELAY_FRUITLESS; i++)
        assert_false(server_batch_delay_waits(&batch_delay, false, 1001));
    assert_true(turn(1, 1002));
}

#define CASE(name) cmocka_unit_test_setup(name, setup)

static const struct CMUnitTest cases[] = {
    CASE(where_nobody_was_answered_it_is_sent_at_once),
    CASE(client_that_is_alone_is_not_held_up),
    CASE(burst_is_waited_for_until_all_have_come_back),
    CASE(turns_that_bring_nothing_end_it),
    CASE(turns_that_bring_something_keep_it_up),
    CASE(time_ends_it_whatever_comes),
    CASE(clients_that_are_answered_without_end_do_not_hold_it_up_without_end),
    CASE(while_nothing_could_be_sent_nothing_is_given_up),
};

CASE_MAIN(cases, NULL, NULL)
