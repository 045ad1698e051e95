/* Which leases are known, and when they end. */
#include "server/loop/leases.h"
#include "tests/lib/case.h"

#include <stdio.h>
#include <string.h>

#define LOCK_ID  "AAAAAAAAAAAAAAAAAAAAAAAAAAA"
#define OTHER_ID "BBBBBBBBBBBBBBBBBBBBBBBBBBB"

static struct server_leases leases;
static char ended[256];

static int setup(void **state)
{
    memset(&leases, 0, sizeof(leases));
    ended[0] = '\0';
    return 0;
}

static void put(const char *lock_id, const char *owner, uint64_t ends_us)
{
    const struct server_lease_terms terms = {.token = 7, .owner = owner, .ends_us = ends_us};
    server_leases_put(&leases, lock_id, "orders/42", &terms);
}

static void note_ended(void *context, const struct server_lease *lease)
{
    const size_t len = strlen(ended);
    const int more = snprintf(ended + len, sizeof(ended) - len, "%.64s %d %.64s;", lease->resource,
                              (int)lease->token, lease->owner);
    assert_in_range(more, 1, sizeof(ended) - len - 1);
}

static const char *end_by(uint64_t now_us)
{
    ended[0] = '\0';
    server_leases_end(&leases, now_us, note_ended, NULL);
    return ended;
}

static void lease_that_nobody_ends_ends_once(void **state)
{
    put(LOCK_ID, "me", 5000000);
    assert_string_equal(end_by(4999999), "");
    assert_string_equal(end_by(5100000), "orders/42 7 me;");
    assert_string_equal(end_by(6000000), "");
}

static void extension_moves_the_end_and_keeps_the_owner(void **state)
{
    put(LOCK_ID, "me", 5000000);
    put(LOCK_ID, "", 9000000);
    assert_string_equal(end_by(5100000), "");
    assert_string_equal(end_by(9100000), "orders/42 7 me;");
}

static void lease_that_is_released_does_not_end(void **state)
{
    put(LOCK_ID, "me", 5000000);
    assert_null(server_leases_take(&leases, OTHER_ID, "orders/42"));
    assert_null(server_leases_take(&leases, LOCK_ID, "orders/43"));
    const struct server_lease *lease = server_leases_take(&leases, LOCK_ID, "orders/42");
    assert_string_equal(lease->owner, "me");
    assert_null(server_leases_take(&leases, LOCK_ID, "orders/42"));
    assert_string_equal(end_by(5100000), "");
}

/* As many as there are places, and more: the later ones are known. */
static void leases_are_bounded(void **state)
{
    char lock_id[FENCE_LOCK_ID_MAX + 1];
    unsigned known = 0;
    for (unsigned i = 0; i < 2 * SERVER_LEASES; i++) {
        (void)snprintf(lock_id, sizeof(lock_id), "%08u%016u", i, i * 7919);
        put(lock_id, "me", 1000 + i);
        assert_non_null(server_leases_find(&leases, lock_id, "orders/42"));
    }
    for (unsigned i = 0; i < 2 * SERVER_LEASES; i++) {
        (void)snprintf(lock_id, sizeof(lock_id), "%08u%016u", i, i * 7919);
        known += server_leases_find(&leases, lock_id, "orders/42") != NULL;
    }
    assert_in_range(known, SERVER_LEASES / 2, SERVER_LEASES);
}

#define CASE(name) cmocka_unit_test_setup(name, setup)

static const struct CMUnitTest cases[] = {
    CASE(lease_that_nobody_ends_ends_once),
    CASE(extension_moves_the_end_and_keeps_the_owner),
    CASE(lease_that_is_released_does_not_end),
    CASE(leases_are_bounded),
};

CASE_MAIN(cases, NULL, NULL)
