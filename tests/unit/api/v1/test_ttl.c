/* The TTL that an acquire asks for: the default, and the bounds of one that the body names. */
#include "tests/lib/case.h"
#include "tests/unit/api/loop.h"
#include "tests/unit/api/v1/locks_fixture.h"

static void default_ttl_is_no_longer_than_the_fleet_allows(void **state)
{
    locks.fleet.ttl_max_ms = 2000;
    assert_int_equal(loop_ask(locks_request("POST", "orders/42", "", "")), 201);
    assert_int_equal(locks.seen.ttl_ms, 2000);
    locks.fleet.ttl_max_ms = 300000;
    assert_int_equal(loop_ask(locks_request("POST", "orders/42", "", "")), 201);
    assert_int_equal(locks.seen.ttl_ms, 30000);
}

static void ttl_keeps_to_its_bounds(void **state)
{
    locks_assert_refused(locks_request("POST", "x", "", "{\"ttl_ms\":99}"), "ttl_ms is 99");
    locks.fleet.ttl_max_ms = 5000;
    locks_assert_refused(locks_request("POST", "x", "", "{\"ttl_ms\":86400001}"),
                         "from 100 to 5000");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, locks_begin, loop_end)

static const struct CMUnitTest cases[] = {
    CASE(default_ttl_is_no_longer_than_the_fleet_allows),
    CASE(ttl_keeps_to_its_bounds),
};

CASE_MAIN(cases, NULL, NULL)
