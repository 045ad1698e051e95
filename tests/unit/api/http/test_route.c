#include "api/http/route.h"
#include "tests/lib/case.h"

#include <stdio.h>
#include <string.h>

static void serve(struct api_request *request, void *context)
{
}

static int locks_context;
static int other_context;

static const struct api_route locks[] = {
    {API_POST, "/v1/locks/{resource...}", serve, API_TAKES_BODY, API_RIGHT_LOCK, "serve",
     API_CHEAP},
    {API_GET, "/v1/locks/{resource...}", serve, API_TAKES_NOTHING, API_RIGHT_READ, "serve",
     API_CHEAP},
};

static const struct api_route others[] = {
    {API_GET, "/livez", serve, API_TAKES_NOTHING, API_RIGHT_NONE, "serve", API_CHEAP},
    {API_GET, "/v1/accounts/{id}", serve, API_TAKES_NOTHING, API_RIGHT_READ, "serve", API_CHEAP},
    {API_PUT, "/v1/accounts/{id}", serve, API_TAKES_BODY, API_RIGHT_LOCK, "serve", API_CHEAP},
    {API_POST, "/v1/accounts/{id}/claim", serve, API_TAKES_NOTHING, API_RIGHT_LOCK, "serve",
     API_CHEAP},
    {API_GET, "/v1/pairs/{first}/{second...}", serve, API_TAKES_NOTHING, API_RIGHT_READ, "serve",
     API_CHEAP},
};

static const struct api_routes tables[] = {
    {locks, sizeof(locks) / sizeof(locks[0]), &locks_context},
    {others, sizeof(others) / sizeof(others[0]), &other_context},
};

/* The result of the last find(). */
static struct api_match match;
static char allowed[API_ALLOW_MAX];
static char path[256];

static enum api_found find(enum api_method method, const char *target)
{
    match = (struct api_match){0};
    allowed[0] = '\0';
    (void)snprintf(path, sizeof(path), "%s", target);
    return api_route_find(tables, 2, method, path, &match, allowed);
}

static void rest_of_the_path_keeps_its_slashes(void **state)
{
    assert_int_equal(find(API_POST, "/v1/locks/orders/42/x"), API_FOUND);
    assert_ptr_equal(match.route, &locks[0]);
    assert_string_equal(match.params[0], "orders/42/x");
}

static void rest_of_the_path_may_be_empty(void **state)
{
    assert_int_equal(find(API_POST, "/v1/locks/"), API_FOUND);
    assert_string_equal(match.params[0], "");
    assert_int_equal(find(API_POST, "/v1/locks"), API_FOUND_NOTHING);
}

static void a_segment_is_cut_out_of_the_path(void **state)
{
    assert_int_equal(find(API_POST, "/v1/accounts/alice/claim"), API_FOUND);
    assert_ptr_equal(match.route, &others[3]);
    assert_string_equal(match.params[0], "alice");
    assert_null(match.params[1]);
}

static void a_segment_is_not_empty_and_has_no_slash(void **state)
{
    assert_int_equal(find(API_GET, "/v1/accounts/"), API_FOUND_NOTHING);
    assert_int_equal(find(API_GET, "/v1/accounts/a/b"), API_FOUND_NOTHING);
    assert_int_equal(find(API_POST, "/v1/accounts//claim"), API_FOUND_NOTHING);
}

static void two_parameters_come_in_order(void **state)
{
    assert_int_equal(find(API_GET, "/v1/pairs/a/b/c"), API_FOUND);
    assert_string_equal(match.params[0], "a");
    assert_string_equal(match.params[1], "b/c");
}

static void each_table_brings_its_own_context(void **state)
{
    assert_int_equal(find(API_GET, "/v1/locks/x"), API_FOUND);
    assert_ptr_equal(match.context, &locks_context);
    assert_int_equal(find(API_GET, "/livez"), API_FOUND);
    assert_ptr_equal(match.context, &other_context);
}

static void path_matches_to_its_end_and_in_its_case(void **state)
{
    assert_int_equal(find(API_GET, "/livezz"), API_FOUND_NOTHING);
    assert_int_equal(find(API_GET, "/live"), API_FOUND_NOTHING);
    assert_int_equal(find(API_GET, "/livez/"), API_FOUND_NOTHING);
    assert_int_equal(find(API_GET, "/LIVEZ"), API_FOUND_NOTHING);
    assert_int_equal(find(API_GET, "//livez"), API_FOUND_NOTHING);
}

static void head_goes_where_get_is(void **state)
{
    assert_int_equal(find(API_HEAD, "/livez"), API_FOUND);
    assert_ptr_equal(match.route, &others[0]);
    assert_int_equal(find(API_HEAD, "/v1/accounts/alice/claim"), API_FOUND_OTHER_METHOD);
}

static void another_method_is_told_which_would_do(void **state)
{
    assert_int_equal(find(API_DELETE, "/v1/accounts/alice"), API_FOUND_OTHER_METHOD);
    assert_string_equal(allowed, "GET, HEAD, PUT");
    assert_int_equal(find(API_METHOD_OTHER, "/v1/accounts/alice/claim"), API_FOUND_OTHER_METHOD);
    assert_string_equal(allowed, "POST");
}

static void path_stays_whole_where_no_route_serves_it(void **state)
{
    assert_int_equal(find(API_GET, "/v1/accounts/alice/claim"), API_FOUND_OTHER_METHOD);
    assert_string_equal(path, "/v1/accounts/alice/claim");
}

static void methods_are_read_in_their_case(void **state)
{
    for (int method = 0; method < API_METHOD_OTHER; method++)
        assert_int_equal(api_method_parse(api_method_name((enum api_method)method)), method);
    assert_int_equal(api_method_parse("get"), API_METHOD_OTHER);
    assert_int_equal(api_method_parse("OPTIONS"), API_METHOD_OTHER);
    assert_int_equal(api_method_parse(""), API_METHOD_OTHER);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(rest_of_the_path_keeps_its_slashes),
    cmocka_unit_test(rest_of_the_path_may_be_empty),
    cmocka_unit_test(a_segment_is_cut_out_of_the_path),
    cmocka_unit_test(a_segment_is_not_empty_and_has_no_slash),
    cmocka_unit_test(two_parameters_come_in_order),
    cmocka_unit_test(each_table_brings_its_own_context),
    cmocka_unit_test(path_matches_to_its_end_and_in_its_case),
    cmocka_unit_test(head_goes_where_get_is),
    cmocka_unit_test(another_method_is_told_which_would_do),
    cmocka_unit_test(path_stays_whole_where_no_route_serves_it),
    cmocka_unit_test(methods_are_read_in_their_case),
};

CASE_MAIN(cases, NULL, NULL)
