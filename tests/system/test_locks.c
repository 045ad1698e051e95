/* The calls on one lock, over five masters: what each does, and every member of what it answers. */
#include "tests/lib/case.h"
#include "tests/lib/wait.h"
#include "tests/system/calls.h"
#include "tests/system/fleet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MASTERS = 5,
    TTL_MAX_MS = 300000,
    MAJORITY = 3,
    BRIEF_MS = 500, /* a shorter lease would give masters less than their usual deadline */
};

#define BRIEFLY "{\"ttl_ms\": 500}"

static uint16_t port;

static int start(void **state)
{
    fleet_start(MASTERS, REDIS_VOLATILE);
    port = fleet_init_and_serve(TTL_MAX_MS).port;
    return 0;
}

/* A grant with one character of its secret changed. */
static struct grant stolen(struct grant grant)
{
    grant.lock_id[0] = grant.lock_id[0] == 'A' ? 'B' : 'A';
    return grant;
}

static int64_t remaining_ms(const char *resource)
{
    return http_integer(call_inspect(port, resource), "remaining_ms");
}

static void acquire_answers_with_a_whole_grant(void **state)
{
    static const char base64url[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const struct http_response *response = call_acquire(port, "whole/grant", NULL);
    EXPECT_JSON(response, 201, 8);
    assert_string_equal(http_string(response, "resource"), "whole/grant");
    assert_int_equal(strlen(http_string(response, "lock_id")), FENCE_LOCK_ID_LEN);
    assert_int_equal(strspn(http_string(response, "lock_id"), base64url), FENCE_LOCK_ID_LEN);
    assert_int_equal(http_integer(response, "ttl_ms"), 30000);
    assert_in_range(http_integer(response, "validity_ms"), 29000, 30000 - 302);
    assert_in_range(http_integer(response, "served_ms"), 0, 1000);
    expect_masters(response, MAJORITY, MASTERS);

    char token[24];
    snprintf(token, sizeof(token), "%lld", (long long)http_integer(response, "token"));
    assert_in_range(http_integer(response, "token"), 1, FENCE_TOKEN_MAX);
    EXPECT_HEADER(response, "Fencing-Token", token);
}

static void acquire_takes_the_ttl_it_is_given(void **state)
{
    const struct http_response *response = call_acquire(port, "ttl", "{\"ttl_ms\": 5000}");
    EXPECT_JSON(response, 201, 8);
    assert_int_equal(http_integer(response, "ttl_ms"), 5000);
    assert_in_range(http_integer(response, "validity_ms"), 4000, 5000 - 52);
    assert_in_range(remaining_ms("ttl"), 4000, 5000);
    EXPECT_JSON(call_acquire(port, "ttl/least", "{\"ttl_ms\": 100}"), 201, 8);
    EXPECT_JSON(call_acquire(port, "ttl/most", "{\"ttl_ms\": 300000}"), 201, 8);
}

static void every_member_of_the_body_may_be_left_out(void **state)
{
    EXPECT_JSON(call_acquire(port, "body/none", NULL), 201, 8);
    EXPECT_JSON(call_acquire(port, "body/empty", ""), 201, 8);
    EXPECT_JSON(call_acquire(port, "body/object", " {} "), 201, 8);
    EXPECT_JSON(call(port, "POST", "/v1/locks/body/charset",
                     "Content-Type: application/json; charset=utf-8\r\n", "{}"),
                201, 8);
}

static void tokens_of_one_name_grow(void **state)
{
    int64_t before = 0;
    for (int i = 0; i < 20; i++) {
        struct grant grant = call_grant(port, "growing", NULL);
        assert_true(grant.token > before);
        before = grant.token;
        call_give_back(port, "growing", &grant);
    }
}

static void every_grant_has_a_lock_id_of_its_own(void **state)
{
    struct grant first = call_grant(port, "ids", NULL);
    call_give_back(port, "ids", &first);
    struct grant second = call_grant(port, "ids", NULL);
    assert_string_not_equal(first.lock_id, second.lock_id);
}

static void held_lock_is_refused_to_others(void **state)
{
    call_grant(port, "held", "{\"ttl_ms\": 8000, \"owner\": \"wörker \\\"7\\\"\"}");
    const struct http_response *response = call_acquire(port, "held", "{\"owner\": \"other\"}");
    EXPECT_PROBLEM(response, 409, "held", 3);
    assert_string_equal(http_string(response, "resource"), "held");
    assert_string_equal(http_string(response, "owner"), "wörker \"7\"");
    assert_in_range(http_integer(response, "retry_after_ms"), 7001, 8000);
    EXPECT_HEADER(response, "Retry-After", "8");
}

static void lock_of_a_holder_that_died_is_free_after_its_ttl(void **state)
{
    struct grant dead = call_grant(port, "dead", BRIEFLY);
    EXPECT_PROBLEM(call_acquire(port, "dead", NULL), 409, "held", 3);
    wait_ms(BRIEF_MS + 20);
    struct grant next = call_grant(port, "dead", NULL);
    assert_true(next.token > dead.token);
}

static void encoded_slash_is_a_slash(void **state)
{
    call_grant(port, "slash/a%2fb", NULL);
    const struct http_response *response = call_acquire(port, "slash%2Fa/b", NULL);
    EXPECT_PROBLEM(response, 409, "held", 3);
    assert_string_equal(http_string(response, "resource"), "slash/a/b");
}

static void extend_prolongs_the_lease(void **state)
{
    struct grant grant = call_grant(port, "extend", "{\"ttl_ms\": 1000}");
    const struct http_response *response =
        call_extend(port, "extend", &grant, "{\"ttl_ms\": 20000}");
    EXPECT_JSON(response, 200, 6);
    assert_string_equal(http_string(response, "resource"), "extend");
    assert_int_equal(http_integer(response, "ttl_ms"), 20000);
    assert_in_range(http_integer(response, "validity_ms"), 19000, 20000 - 202);
    assert_in_range(http_integer(response, "served_ms"), 0, 1000);
    expect_masters(response, MAJORITY, MASTERS);
    assert_in_range(remaining_ms("extend"), 19000, 20000);

    response = call_extend(port, "extend", &grant, NULL);
    EXPECT_JSON(response, 200, 6);
    assert_int_equal(http_integer(response, "ttl_ms"), 30000);
    assert_int_equal(http_integer(call_inspect(port, "extend"), "token"), grant.token);
}

static void extend_never_shortens_the_lease(void **state)
{
    struct grant grant = call_grant(port, "shorten", NULL);
    EXPECT_JSON(call_extend(port, "shorten", &grant, BRIEFLY), 200, 6);
    assert_in_range(remaining_ms("shorten"), 29000, 30000);
}

static void extend_of_a_lock_that_ran_out_says_lost_and_takes_nothing(void **state)
{
    struct grant grant = call_grant(port, "late", BRIEFLY);
    wait_ms(BRIEF_MS + 20);
    const struct http_response *response = call_extend(port, "late", &grant, NULL);
    EXPECT_PROBLEM(response, 409, "lock-lost", 1);
    assert_string_equal(http_string(response, "resource"), "late");
    assert_false(http_boolean(call_inspect(port, "late"), "held"));
}

static void extend_of_a_lost_lock_leaves_the_next_holder_alone(void **state)
{
    struct grant lost = call_grant(port, "successor", BRIEFLY);
    wait_ms(BRIEF_MS + 20);
    struct grant next = call_grant(port, "successor", "{\"ttl_ms\": 10000}");
    EXPECT_PROBLEM(call_extend(port, "successor", &lost, NULL), 409, "lock-lost", 1);
    assert_in_range(remaining_ms("successor"), 1, 10000);
    EXPECT_JSON(call_extend(port, "successor", &next, NULL), 200, 6);
}

static void extend_wants_the_lock_id_of_the_grant(void **state)
{
    struct grant grant = call_grant(port, "wrong", "{\"ttl_ms\": 10000}");
    struct grant thief = stolen(grant);
    EXPECT_PROBLEM(call_extend(port, "wrong", &thief, NULL), 409, "lock-lost", 1);
    assert_in_range(remaining_ms("wrong"), 1, 10000);
    call_give_back(port, "wrong", &grant);
}

/* The lock is the caller's, but under another token: that is told as a grant again, as nothing
 * proves that no other caller held it after the older one. */
static void extend_with_an_older_token_is_told_the_one_that_counts(void **state)
{
    struct grant first = call_grant(port, "older", NULL);
    call_give_back(port, "older", &first);
    struct grant grant = call_grant(port, "older", "{\"ttl_ms\": 10000}");
    struct grant older = grant;
    older.token = first.token;
    const struct http_response *response = call_extend(port, "older", &older, NULL);
    EXPECT_JSON(response, 201, 8);
    assert_string_equal(http_string(response, "resource"), "older");
    assert_string_equal(http_string(response, "lock_id"), grant.lock_id);
    assert_true(http_integer(response, "token") >= grant.token);
    assert_in_range(http_integer(response, "validity_ms"), 29000, 30000);
    expect_masters(response, MAJORITY, MASTERS);
    char token[24];
    snprintf(token, sizeof(token), "%lld", (long long)http_integer(response, "token"));
    EXPECT_HEADER(response, "Fencing-Token", token);
    call_give_back(port, "older", &grant);
}

static void grant_says_how_often_it_may_be_extended(void **state)
{
    const struct http_response *response = call_acquire(port, "months", NULL);
    assert_int_equal(http_integer(response, "extensions_left"), FENCE_EXTENSIONS_DEFAULT);
    struct grant grant = grant_of(response);
    response = call_extend(port, "months", &grant, NULL);
    assert_int_equal(http_integer(response, "extensions_left"), FENCE_EXTENSIONS_DEFAULT - 1);
    call_give_back(port, "months", &grant);
}

static bool gone_from_all_masters(void *resource)
{
    long long left = 0;
    for (unsigned i = 0; i < MASTERS; i++)
        left += redis_fleet_integer(fleet, i, "EXISTS pawl:lock:%s", resource);
    return left == 0;
}

static void release_frees_the_lock_on_every_master(void **state)
{
    struct grant grant = call_grant(port, "release", NULL);
    const struct http_response *response = call_release(port, "release", &grant);
    EXPECT_JSON(response, 200, 2);
    assert_string_equal(http_string(response, "resource"), "release");
    assert_true(http_boolean(response, "released"));
    assert_true(wait_until(gone_from_all_masters, "release", 1000));
    call_grant(port, "release", NULL);
}

static void second_release_says_that_there_was_nothing_to_release(void **state)
{
    struct grant grant = call_grant(port, "twice", NULL);
    call_give_back(port, "twice", &grant);
    const struct http_response *response = call_release(port, "twice", &grant);
    EXPECT_JSON(response, 200, 2);
    assert_false(http_boolean(response, "released"));
}

static void release_by_another_lock_id_changes_nothing(void **state)
{
    struct grant grant = call_grant(port, "thief", NULL);
    struct grant thief = stolen(grant);
    assert_false(http_boolean(call_release(port, "thief", &thief), "released"));
    assert_true(http_boolean(call_inspect(port, "thief"), "held"));
    call_give_back(port, "thief", &grant);
}

static void inspect_shows_all_but_the_lock_id(void **state)
{
    struct grant grant = call_grant(port, "inspect", "{\"ttl_ms\": 9000, \"owner\": \"me\"}");
    const struct http_response *response = call_inspect(port, "inspect");
    EXPECT_JSON(response, 200, 6);
    assert_string_equal(http_string(response, "resource"), "inspect");
    assert_true(http_boolean(response, "held"));
    assert_int_equal(http_integer(response, "token"), grant.token);
    assert_string_equal(http_string(response, "owner"), "me");
    assert_in_range(http_integer(response, "remaining_ms"), 8000, 9000);
    assert_int_equal(http_integer(response, "waiters"), 0);
    assert_null(strstr(response->body, grant.lock_id));
    assert_null(strstr(response->head, grant.lock_id));
}

static void owner_that_was_not_named_is_empty(void **state)
{
    call_grant(port, "nobody", NULL);
    assert_string_equal(http_string(call_inspect(port, "nobody"), "owner"), "");
}

static void inspect_of_a_free_lock_says_so(void **state)
{
    const struct http_response *response = call_inspect(port, "never/seen");
    EXPECT_JSON(response, 200, 2);
    assert_string_equal(http_string(response, "resource"), "never/seen");
    assert_false(http_boolean(response, "held"));
}

static void head_is_get_without_the_body(void **state)
{
    static const char *const paths[] = {"/v1/locks/head", "/livez", "/readyz"};
    struct http *http = http_connect(port);
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        struct http_response head, get;
        char length[24];
        http_request(http, "HEAD", paths[i], NULL, NULL, &head);
        http_request(http, "GET", paths[i], NULL, NULL, &get); /* would choke on a body before it */
        assert_int_equal(head.status, 200);
        assert_int_equal(get.status, 200);
        assert_int_equal(head.body_len, 0);
        assert_true(http_header(&head, "Content-Length", length, sizeof(length)));
        assert_int_equal(strtoull(length, NULL, 10), get.body_len);
        EXPECT_HEADER(&head, "Content-Type", "application/json");
        EXPECT_HEADER(&head, "Cache-Control", "no-store");
        http_response_fini(&head);
        http_response_fini(&get);
    }
    http_close(http);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(acquire_answers_with_a_whole_grant),
    cmocka_unit_test(acquire_takes_the_ttl_it_is_given),
    cmocka_unit_test(every_member_of_the_body_may_be_left_out),
    cmocka_unit_test(tokens_of_one_name_grow),
    cmocka_unit_test(every_grant_has_a_lock_id_of_its_own),
    cmocka_unit_test(held_lock_is_refused_to_others),
    cmocka_unit_test(lock_of_a_holder_that_died_is_free_after_its_ttl),
    cmocka_unit_test(encoded_slash_is_a_slash),
    cmocka_unit_test(extend_prolongs_the_lease),
    cmocka_unit_test(extend_never_shortens_the_lease),
    cmocka_unit_test(extend_of_a_lock_that_ran_out_says_lost_and_takes_nothing),
    cmocka_unit_test(extend_of_a_lost_lock_leaves_the_next_holder_alone),
    cmocka_unit_test(extend_wants_the_lock_id_of_the_grant),
    cmocka_unit_test(extend_with_an_older_token_is_told_the_one_that_counts),
    cmocka_unit_test(grant_says_how_often_it_may_be_extended),
    cmocka_unit_test(release_frees_the_lock_on_every_master),
    cmocka_unit_test(second_release_says_that_there_was_nothing_to_release),
    cmocka_unit_test(release_by_another_lock_id_changes_nothing),
    cmocka_unit_test(inspect_shows_all_but_the_lock_id),
    cmocka_unit_test(owner_that_was_not_named_is_empty),
    cmocka_unit_test(inspect_of_a_free_lock_says_so),
    cmocka_unit_test(head_is_get_without_the_body),
};

CASE_MAIN(cases, start, fleet_teardown)
