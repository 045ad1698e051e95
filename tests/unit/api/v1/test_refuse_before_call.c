/* Calls that are refused since pawld drains. A call of a batch that would wait:
 * tests/system/http/test_batch.c. */
#include "tests/lib/case.h"
#include "tests/unit/api/loop.h"
#include "tests/unit/api/v1/locks_fixture.h"

static void service_that_drains_grants_nothing_and_serves_holders(void **state)
{
    locks.backend.draining = true;
    assert_answered(locks_request("POST", "x", "", ""), 503, "urn:pawl:stopping");
    assert_said("Retry-After: ");
    assert_int_equal(loop_ask(locks_request_several("{\"resources\":[\"b\",\"a\"]}")), 503);
    assert_int_equal(locks.calls, 0);
    assert_int_equal(loop_ask(locks_request("POST", "x", "", "{\"ttl_ms\":1}")), 400);
    assert_int_equal(loop_ask(locks_request("PATCH", "x", ID_LINE "Fencing-Token: 34\r\n", "")),
                     200);
    assert_int_equal(loop_ask(locks_request("DELETE", "x", ID_LINE, "")), 200);
    assert_int_equal(loop_ask(locks_request("GET", "x", "", "")), 200);
    assert_int_equal(locks.calls, 3);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, locks_begin, loop_end)

static const struct CMUnitTest cases[] = {
    CASE(service_that_drains_grants_nothing_and_serves_holders),
};

CASE_MAIN(cases, NULL, NULL)
