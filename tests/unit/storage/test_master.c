#include "storage/master.h"
#include "tests/lib/case.h"

enum {
    CALLS_MAX = 4,
};

/* The submitted requests. */
static unsigned calls;
static uint32_t sets[CALLS_MAX];
static const struct storage_master_ops *kinds[CALLS_MAX];

static void note(struct storage_master *const masters[], uint32_t set)
{
    assert_true(calls < CALLS_MAX);
    sets[calls] = set;
    kinds[calls++] = masters[__builtin_ctz(set)]->ops;
}

static void submit(struct storage_master *const masters[], uint32_t set,
                   const struct fence_request *request, const struct fence_fleet *fleet)
{
    note(masters, set);
}

static const struct storage_master_ops one_kind = {.submit = submit};
static const struct storage_master_ops other_kind = {.submit = submit};
static struct storage_master one = {&one_kind};
static struct storage_master other = {&other_kind};
static struct storage_master *const fleet_of_both[] = {&one, &other, &one, &other, &one};

static int reset(void **state)
{
    calls = 0;
    return 0;
}

static void submit_calls_each_kind_once_with_its_masters(void **state)
{
    storage_masters_submit(fleet_of_both, 0x1e, NULL, NULL);
    assert_int_equal(calls, 2);
    assert_ptr_equal(kinds[0], &other_kind);
    assert_int_equal(sets[0], 0x0a);
    assert_ptr_equal(kinds[1], &one_kind);
    assert_int_equal(sets[1], 0x14);
}

static void submit_to_nobody_calls_nobody(void **state)
{
    storage_masters_submit(fleet_of_both, 0, NULL, NULL);
    assert_int_equal(calls, 0);
}

static void free_of_none_is_fine(void **state)
{
    storage_master_free(NULL);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test_setup(submit_calls_each_kind_once_with_its_masters, reset),
    cmocka_unit_test_setup(submit_to_nobody_calls_nobody, reset),
    cmocka_unit_test(free_of_none_is_fine),
};

CASE_MAIN(cases, NULL, NULL)
