#include "fence/protocol/limits.h"
#include "fence/state/clients.h"
#include "tests/lib/case.h"

enum {
    CAPACITY = 8,
};

static struct core_clients clients;

static int init(void **state)
{
    return core_clients_init(&clients, CAPACITY);
}

static int fini(void **state)
{
    core_clients_fini(&clients);
    return 0;
}

static uint64_t client_of(uint32_t index)
{
    return UINT64_C(0x7f0000001000) + index * UINT64_C(512); /* as addresses are */
}

static void each_client_is_found_by_its_call(void **state)
{
    for (uint32_t i = 0; i < CAPACITY; i++)
        core_clients_add(&clients, i, client_of(i));
    for (uint32_t i = 0; i < CAPACITY; i++)
        assert_int_equal(core_clients_find(&clients, client_of(i)), i);
    assert_int_equal(core_clients_find(&clients, client_of(CAPACITY)), FENCE_NOBODY);
}

static void one_that_was_removed_is_not_found_and_the_others_are(void **state)
{
    for (uint32_t out = 0; out < CAPACITY; out++) {
        for (uint32_t i = 0; i < CAPACITY; i++)
            core_clients_add(&clients, i, client_of(i));
        core_clients_remove(&clients, out);
        for (uint32_t i = 0; i < CAPACITY; i++)
            assert_int_equal(core_clients_find(&clients, client_of(i)),
                             i == out ? FENCE_NOBODY : i);
        for (uint32_t i = 0; i < CAPACITY; i++)
            if (i != out)
                core_clients_remove(&clients, i);
    }
}

static void call_number_may_be_another_clients_next(void **state)
{
    core_clients_add(&clients, 3, client_of(1));
    core_clients_remove(&clients, 3);
    core_clients_add(&clients, 3, client_of(2));
    assert_int_equal(core_clients_find(&clients, client_of(1)), FENCE_NOBODY);
    assert_int_equal(core_clients_find(&clients, client_of(2)), 3);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test_setup_teardown(each_client_is_found_by_its_call, init, fini),
    cmocka_unit_test_setup_teardown(one_that_was_removed_is_not_found_and_the_others_are, init,
                                    fini),
    cmocka_unit_test_setup_teardown(call_number_may_be_another_clients_next, init, fini),
};

CASE_MAIN(cases, NULL, NULL)
