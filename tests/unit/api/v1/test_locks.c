/* What a holder asks the backend for, and which of its requests are refused. */
#include "tests/lib/case.h"
#include "tests/unit/api/loop.h"
#include "tests/unit/api/v1/locks_fixture.h"

#include <stdio.h>

static void extend_passes_on_id_token_and_ttl(void **state)
{
    assert_int_equal(
        loop_ask(locks_request("PATCH", "x", ID_LINE "Fencing-Token: 9007199254740991\r\n",
                               "{\"ttl_ms\":5000}")),
        200);
    assert_int_equal(locks.seen.kind, FENCE_CALL_EXTEND);
    assert_string_equal(locks.lock_id, LOCK_ID);
    assert_true(locks.seen.token == FENCE_TOKEN_MAX);
    assert_int_equal(locks.seen.ttl_ms, 5000);
}

static void release_passes_on_the_id(void **state)
{
    locks.next.release.released = true;
    assert_int_equal(loop_ask(locks_request("DELETE", "x", ID_LINE, "")), 200);
    assert_int_equal(locks.seen.kind, FENCE_CALL_RELEASE);
    assert_string_equal(locks.lock_id, LOCK_ID);
    assert_said("{\"resource\":\"x\",\"released\":true}");
}

static void release_passes_on_how_long_it_keeps_the_name_closed(void **state)
{
    locks.next.release.released = true;
    assert_int_equal(loop_ask(locks_request("DELETE", "x?keep_ms=50000", ID_LINE, "")), 200);
    assert_int_equal(locks.seen.kind, FENCE_CALL_RELEASE);
    assert_int_equal(locks.seen.keep_ms, 50000);
    assert_int_equal(loop_ask(locks_request("DELETE", "x", ID_LINE, "")), 200);
    assert_int_equal(locks.seen.keep_ms, 0);
    assert_int_equal(loop_ask(locks_request("DELETE", "x?keep_ms=86400001", ID_LINE, "")), 400);
    assert_int_equal(loop_ask(locks_request("DELETE", "x?keep_ms=1&force=true", ID_LINE, "")), 400);
    assert_said("A break opens the name immediately");
}

static void lock_id_of_kept_locks_is_nobodys(void **state)
{
    assert_int_equal(
        loop_ask(locks_request("POST", "x", "", "{\"lock_id\":\"" FENCE_KEPT_ID "\"}")), 400);
    assert_int_equal(loop_ask(locks_request("DELETE", "x", "Lock-Id: " FENCE_KEPT_ID "\r\n", "")),
                     400);
}

/* No reader is to believe that the token was looked at. */
static void release_with_if_match_is_refused(void **state)
{
    assert_int_equal(loop_ask(locks_request("DELETE", "x", ID_LINE "If-Match: \"34\"\r\n", "")),
                     400);
    assert_said("If-Match is only for a break (?force=true)");
    assert_int_equal(loop_ask(locks_request("DELETE", "x", "If-Match: *\r\n", "")), 400);
    assert_said("If-Match is only for a break (?force=true)");
    assert_int_equal(locks.calls, 0);
}

static void token_of_a_release_is_well_formed(void **state)
{
    assert_int_equal(loop_ask(locks_request("DELETE", "x", ID_LINE "Fencing-Token: 34\r\n", "")),
                     200);
    assert_int_equal(locks.seen.kind, FENCE_CALL_RELEASE);
    assert_int_equal(locks.calls, 1);
    assert_int_equal(
        loop_ask(locks_request("DELETE", "x", ID_LINE "Fencing-Token: \"34\"\r\n", "")), 400);
    assert_said("The Fencing-Token header must be a whole number");
    assert_int_equal(locks.calls, 1);
}

static void break_passes_on_the_token(void **state)
{
    locks.next.breaks.released = true;
    assert_int_equal(loop_ask(locks_request("DELETE", "x?force=true", "If-Match: \"34\"\r\n", "")),
                     200);
    assert_int_equal(locks.seen.kind, FENCE_CALL_BREAK);
    assert_int_equal(locks.seen.token, 34);
    assert_said("{\"resource\":\"x\",\"released\":true,\"token\":34}");
}

static void break_needs_the_token_in_if_match(void **state)
{
    static const char *const bad[] = {"34", "\"\"", "\"0\"", "\"034\"", "W/\"34\"", "*", "\""};
    char line[64];
    assert_answered(locks_request("DELETE", "x?force=true", ID_LINE, ""), 428,
                    "urn:pawl:token-required");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        (void)snprintf(line, sizeof(line), "If-Match: %s\r\n", bad[i]);
        assert_int_equal(loop_ask(locks_request("DELETE", "x?force=true", line, "")), 400);
    }
    assert_answered(locks_request("DELETE", "x?force=1234", ID_LINE, ""), 400,
                    "'force' must be 'true'");
    assert_answered(locks_request("DELETE", "x?force=false", ID_LINE, ""), 400,
                    "'force' must be 'true'");
    assert_int_equal(loop_ask(locks_request("DELETE", "x?other=true", ID_LINE, "")), 400);
    assert_int_equal(locks.calls, 0);
}

static void extend_and_release_need_a_lock_id(void **state)
{
    locks_assert_refused(locks_request("DELETE", "x", "", ""), "Lock-Id");
    locks_assert_refused(locks_request("DELETE", "x", "Lock-Id: short\r\n", ""), "Lock-Id");
    locks_assert_refused(locks_request("PATCH", "x", "Fencing-Token: 34\r\n", ""), "Lock-Id");
}

static void extend_needs_a_token_in_plain_digits(void **state)
{
    locks_assert_refused(locks_request("PATCH", "x", ID_LINE, ""), "Fencing-Token");
    static const char *const malformed[] = {"0",
                                            "-1",
                                            "+1",
                                            "01",
                                            "1.0",
                                            "0x1",
                                            "1,2",
                                            "9007199254740992",
                                            "",
                                            "1e3",
                                            "99999999999999999999"};
    for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++) {
        char lines[128];
        (void)snprintf(lines, sizeof(lines), ID_LINE "Fencing-Token: %s\r\n", malformed[i]);
        locks_assert_refused(locks_request("PATCH", "x", lines, ""), "9007199254740991");
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, locks_begin, loop_end)

static const struct CMUnitTest cases[] = {
    CASE(extend_passes_on_id_token_and_ttl),
    CASE(release_passes_on_the_id),
    CASE(release_passes_on_how_long_it_keeps_the_name_closed),
    CASE(lock_id_of_kept_locks_is_nobodys),
    CASE(release_with_if_match_is_refused),
    CASE(token_of_a_release_is_well_formed),
    CASE(break_passes_on_the_token),
    CASE(break_needs_the_token_in_if_match),
    CASE(extend_and_release_need_a_lock_id),
    CASE(extend_needs_a_token_in_plain_digits),
};

CASE_MAIN(cases, NULL, NULL)
