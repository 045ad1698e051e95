/* Slots that are taken and given back. */
#include "fence/base/pool.h"
#include "tests/lib/case.h"

enum {
    SLOTS = 3,
};

static struct fence_pool pool;

static int start(void **state)
{
    return fence_pool_init(&pool, SLOTS) ? 0 : -1;
}

static int stop(void **state)
{
    fence_pool_fini(&pool);
    return 0;
}

static void slots_are_taken_in_order_until_none_is_free(void **state)
{
    for (uint32_t i = 0; i < SLOTS; i++) {
        assert_false(fence_pool_full(&pool));
        assert_int_equal(fence_pool_take(&pool), i);
        assert_int_equal(pool.used, i + 1);
    }
    assert_true(fence_pool_full(&pool));
    assert_int_equal(fence_pool_take(&pool), FENCE_POOL_NONE);
    assert_int_equal(pool.used, SLOTS);
}

static void slot_given_back_last_is_taken_first(void **state)
{
    for (uint32_t i = 0; i < SLOTS; i++)
        (void)fence_pool_take(&pool);
    fence_pool_give(&pool, 0);
    fence_pool_give(&pool, 2);
    assert_false(fence_pool_is_taken(&pool, 2));
    assert_true(fence_pool_is_taken(&pool, 1));
    assert_int_equal(fence_pool_behind(&pool, 2), 0);
    assert_int_equal(fence_pool_take(&pool), 2);
    assert_int_equal(fence_pool_take(&pool), 0);
    assert_int_equal(fence_pool_take(&pool), FENCE_POOL_NONE);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test_setup_teardown(slots_are_taken_in_order_until_none_is_free, start, stop),
    cmocka_unit_test_setup_teardown(slot_given_back_last_is_taken_first, start, stop),
};

CASE_MAIN(cases, NULL, NULL)
