/* When leases end: many of them, and what is left behind. */
#include "storage/redis/module/api.h"
#include "storage/redis/module/leases.h"
#include "tests/lib/case.h"

#include <malloc.h>
#include <stdio.h>
#include <time.h>

enum {
    MILLION = 1000000,
    FEW = 5000,
    LONGEST_US = 15000, /* time of CPU, for one lease; all at once takes some 100 ms */
    SLACK_BYTES = 4096,
};

struct redis_api redis; /* functions of the server; none is called */

static int setup(void **state)
{
    (void)state;
    return storage_module_leases_init() ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    storage_module_leases_fini();
    return 0;
}

static int64_t cpu_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * INT64_C(1000000) + now.tv_nsec / 1000;
}

static size_t key_of(unsigned k, char key[static STORAGE_MODULE_KEY_MAX])
{
    return (size_t)snprintf(key, STORAGE_MODULE_KEY_MAX, STORAGE_LOCK_KEY "orders/%u", k);
}

static void note(unsigned k, uint64_t end_ms)
{
    char key[STORAGE_MODULE_KEY_MAX];
    const size_t len = key_of(k, key);
    assert_true(storage_module_lease_set(key, len, end_ms));
}

static void no_call_waits_while_the_table_grows(void **state)
{
    int64_t longest_us = 0;
    for (unsigned k = 0; k < MILLION; k++) {
        const int64_t began_us = cpu_us();
        note(k, k);
        const int64_t took_us = cpu_us() - began_us;
        longest_us = took_us > longest_us ? took_us : longest_us;
    }
    print_message("longest call: %lld us\n", (long long)longest_us);
    assert_in_range(longest_us, 0, LONGEST_US);
}

static void leases_end_in_their_order(void **state)
{
    char key[STORAGE_MODULE_KEY_MAX];
    char expected[STORAGE_MODULE_KEY_MAX];
    size_t len = 0;
    for (unsigned k = 0; k < FEW; k++)
        note(k * 7919 % FEW, 1000 + k * 7919 % FEW);
    storage_module_lease_forget(expected, key_of(3, expected));
    note(2, 1001 + FEW);
    assert_false(storage_module_leases_due(999));
    for (unsigned k = 0; k < FEW; k++) {
        if (k == 2 || k == 3)
            continue;
        assert_true(storage_module_leases_pop(1000 + k, key, &len));
        assert_int_equal(len, key_of(k, expected));
        assert_memory_equal(key, expected, len);
        assert_false(storage_module_leases_due(1000 + k));
    }
    assert_int_equal(storage_module_lease_end(expected, key_of(2, expected), 0, 1), 1001 + FEW);
}

/* Returns the bytes in use while the table has its leases; then the table is freed. */
static size_t fill_and_free(void)
{
    assert_true(storage_module_leases_init());
    for (unsigned k = 0; k < FEW; k++)
        note(k, 1000);
    const size_t used = mallinfo2().uordblks;
    storage_module_leases_fini();
    return used;
}

/* The first time leaves a few pieces of memory in the cache of the thread. */
static void table_that_is_freed_leaves_nothing(void **state)
{
    storage_module_leases_fini();
    if (fill_and_free() == 0)
        case_skip("this allocator counts no bytes: a sanitizer's, which finds leaks by itself");
    const size_t before = mallinfo2().uordblks;
    assert_true(fill_and_free() > before + (size_t)FEW * 32);
    assert_in_range(mallinfo2().uordblks, 0, before + SLACK_BYTES);
    assert_true(storage_module_leases_init());
}

#define LEASES_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest cases[] = {
    LEASES_TEST(leases_end_in_their_order),
    LEASES_TEST(table_that_is_freed_leaves_nothing),
    LEASES_TEST(no_call_waits_while_the_table_grows),
};

CASE_MAIN(cases, NULL, NULL)
