#include "api/http/problem.h"
#include "tests/lib/case.h"

#include <string.h>

static void assert_leads_to(int error, unsigned status, const char *name)
{
    enum api_problem problem = api_problem_of(error);
    assert_int_equal(api_problem_status(problem), status);
    assert_string_equal(api_problem_name(problem), name);
}

static void state_of_a_lock_or_counter_is_a_conflict(void **state)
{
    assert_leads_to(FENCE_EHELD, 409, "held");
    assert_leads_to(FENCE_EWAITTIMEOUT, 409, "wait-timeout");
    assert_leads_to(FENCE_ECONTENDED, 409, "contended");
    assert_leads_to(FENCE_ELOCKLOST, 409, "lock-lost");
    assert_leads_to(FENCE_EBROKEN, 409, "lock-broken");
    assert_leads_to(FENCE_EMISMATCH, 412, "token-mismatch");
    assert_leads_to(FENCE_EEXHAUSTED, 409, "extensions-exhausted");
    assert_leads_to(FENCE_ECOUNTERS, 409, "too-many-counters");
}

static void masters_that_fail_make_the_service_unavailable(void **state)
{
    assert_leads_to(FENCE_ENOQUORUM, 503, "no-quorum");
    assert_leads_to(FENCE_ETOOSLOW, 503, "too-slow");
    assert_leads_to(FENCE_ENOTREADY, 503, "not-ready");
}

static void preconditions_that_fail_are_412(void **state)
{
    assert_leads_to(FENCE_ESTALE, 412, "stale-token");
    assert_leads_to(FENCE_ECONFLICT, 412, "version-mismatch");
}

static void the_clients_own_mistakes_are_400(void **state)
{
    assert_leads_to(FENCE_EINVAL, 400, "invalid");
    assert_leads_to(FENCE_ETTL, 400, "invalid");
}

static void too_many_calls_are_429(void **state)
{
    assert_leads_to(FENCE_EBUSY, 429, "busy");
    assert_leads_to(FENCE_EWAITERS, 429, "too-many-waiters");
    assert_leads_to(FENCE_ELEFT, 503, "client-left");
}

static void every_error_of_the_list_has_its_own_row(void **state)
{
#define FENCE_ERROR_CODE(name, code, text) code,
    static const int errors[] = {FENCE_ERRORS(FENCE_ERROR_CODE)};
#undef FENCE_ERROR_CODE
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
        if (errors[i] != FENCE_EIO && api_problem_of(errors[i]) == API_PROBLEM_INTERNAL)
            fail_msg("error %d has no problem", errors[i]);
}

static void unknown_errors_are_internal(void **state)
{
    assert_leads_to(-9999, 500, "internal");
    assert_leads_to(0, 500, "internal");
}

static void a_problem_has_the_members_of_rfc_9457(void **state)
{
    char body[API_PROBLEM_BODY_MAX];
    struct api_writer writer;
    api_problem_begin(&writer, body, API_PROBLEM_STALE_TOKEN, "Acquire anew.");
    api_write_integer(&writer, "highest_token", 34);
    api_write_end(&writer);
    static const char want[] = "{\"type\":\"urn:pawl:stale-token\","
                               "\"title\":\"The fencing token is stale\",\"status\":412,"
                               "\"detail\":\"Acquire anew.\",\"highest_token\":34}";
    assert_int_equal(writer.len, sizeof(want) - 1);
    assert_memory_equal(body, want, writer.len);
}

static void a_detail_made_of_escapes_fits(void **state)
{
    char detail[API_DETAIL_MAX];
    memset(detail, '\x01', sizeof(detail) - 1);
    detail[sizeof(detail) - 1] = '\0';
    char body[API_PROBLEM_BODY_MAX];
    struct api_writer writer;
    api_problem_begin(&writer, body, API_PROBLEM_EXHAUSTED, detail);
    api_write_end(&writer);
    assert_true(writer.len > 6 * (sizeof(detail) - 1));
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(state_of_a_lock_or_counter_is_a_conflict),
    cmocka_unit_test(masters_that_fail_make_the_service_unavailable),
    cmocka_unit_test(preconditions_that_fail_are_412),
    cmocka_unit_test(the_clients_own_mistakes_are_400),
    cmocka_unit_test(too_many_calls_are_429),
    cmocka_unit_test(every_error_of_the_list_has_its_own_row),
    cmocka_unit_test(unknown_errors_are_internal),
    cmocka_unit_test(a_problem_has_the_members_of_rfc_9457),
    cmocka_unit_test(a_detail_made_of_escapes_fits),
};

CASE_MAIN(cases, NULL, NULL)
