/* Slots found by their hashes. */
#include "fence/base/table.h"
#include "tests/lib/case.h"

enum {
    SLOTS = 8,
};

static struct fence_table table;

static int start(void **state)
{
    return fence_table_init(&table, SLOTS) ? 0 : -1;
}

static int stop(void **state)
{
    fence_table_fini(&table);
    return 0;
}

static bool has(uint64_t hash, uint32_t slot)
{
    uint32_t at = fence_table_first(&table, hash);
    while (at != FENCE_TABLE_NONE && at != slot)
        at = fence_table_next(&table, at);
    return at == slot;
}

static void each_slot_is_in_the_chain_of_its_hash(void **state)
{
    fence_table_add(&table, 3, 0);
    fence_table_add(&table, 3 + SLOTS, 1); /* the same chain */
    fence_table_add(&table, 4, 2);
    assert_true(has(3, 0) && has(3, 1) && !has(3, 2));
    assert_true(has(4, 2) && !has(4, 0));
    assert_int_equal(fence_table_first(&table, 5), FENCE_TABLE_NONE);
}

static void slot_that_was_removed_leaves_the_others(void **state)
{
    for (uint32_t i = 0; i < 3; i++)
        fence_table_add(&table, 7, i);
    fence_table_remove(&table, 7, 1);
    assert_true(has(7, 0) && !has(7, 1) && has(7, 2));
    fence_table_remove(&table, 7, 2);
    fence_table_remove(&table, 7, 0);
    assert_int_equal(fence_table_first(&table, 7), FENCE_TABLE_NONE);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test_setup_teardown(each_slot_is_in_the_chain_of_its_hash, start, stop),
    cmocka_unit_test_setup_teardown(slot_that_was_removed_leaves_the_others, start, stop),
};

CASE_MAIN(cases, NULL, NULL)
