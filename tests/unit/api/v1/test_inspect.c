/* What an inspection asks the backend for, and which names are refused. */
#include "tests/lib/case.h"
#include "tests/unit/api/loop.h"
#include "tests/unit/api/v1/locks_fixture.h"

static void inspect_needs_the_name_alone(void **state)
{
    assert_int_equal(loop_ask(locks_request("GET", "x", "", "")), 200);
    assert_int_equal(locks.seen.kind, FENCE_CALL_INSPECT);
    assert_said("{\"resource\":\"x\",\"held\":false}");
}

static void bad_names_are_refused(void **state)
{
    locks_assert_refused(locks_request("GET", "", "", ""), "resource");
    locks_assert_refused(locks_request("GET", "a//b", "", ""), "resource");
    locks_assert_refused(locks_request("GET", "%2e%2e/x", "", ""), "resource");
    locks_assert_refused(locks_request("GET", "a%20b", "", ""), "resource");
}

static void seat_is_not_acquired_by_its_name(void **state)
{
    locks_assert_refused(locks_request("POST", "x%231", "", ""), "resource");
    assert_int_equal(loop_ask(locks_request("GET", "x%231", "", "")), 200);
    assert_string_equal(locks.resource, "x#1");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, locks_begin, loop_end)

static const struct CMUnitTest cases[] = {
    CASE(inspect_needs_the_name_alone),
    CASE(bad_names_are_refused),
    CASE(seat_is_not_acquired_by_its_name),
};

CASE_MAIN(cases, NULL, NULL)
