/* The ledger: accounts that are read, claimed and written under fencing tokens, and what it refuses
 * to a holder that came too late. */
#include "tests/lib/case.h"
#include "tests/lib/pawl.h"
#include "tests/lib/process.h"
#include "tests/system/calls.h"
#include "tests/system/workdir.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define TOKEN_MAX    "9007199254740991"

static char db[WORKDIR_PATH_BYTES];
static struct pawl_service ledger;

static int start_with(void **state, const char *const options[])
{
    (void)workdir_setup(state);
    workdir_join(workdir.path, "ledger.db", db);
    ledger = pawl_ledger_start(db, options);
    return 0;
}

static int start(void **state)
{
    return start_with(state, NULL);
}

static int start_unguarded(void **state)
{
    return start_with(state, (const char *const[]){"--unguarded", NULL});
}

/* The header lines that a call brings: a token (NULL: none) and a version (NULL: none). */
static const char *lines(const char *token, const char *version)
{
    static char text[256];
    size_t len = 0;
    text[0] = '\0';
    if (token)
        len = (size_t)snprintf(text, sizeof(text), "Fencing-Token: %s\r\n", token);
    if (version)
        snprintf(text + len, sizeof(text) - len, "If-Match: %s\r\n", version);
    return text;
}

static const struct http_response *get(const char *id)
{
    char path[CALL_PATH_MAX];
    snprintf(path, sizeof(path), "/v1/accounts/%s", id);
    return call(ledger.port, "GET", path, NULL, NULL);
}

static const struct http_response *claim(const char *id, const char *token)
{
    char path[CALL_PATH_MAX];
    snprintf(path, sizeof(path), "/v1/accounts/%s/claim", id);
    return call(ledger.port, "POST", path, lines(token, NULL), NULL);
}

static const struct http_response *put(const char *id, const char *token, const char *version,
                                       const char *body)
{
    char path[CALL_PATH_MAX];
    snprintf(path, sizeof(path), "/v1/accounts/%s", id);
    return call(ledger.port, "PUT", path, lines(token, version), body);
}

static const struct http_response *put_balance(const char *id, const char *token, int balance)
{
    char body[64];
    snprintf(body, sizeof(body), "{\"balance\": %d}", balance);
    return put(id, token, NULL, body);
}

static void expect_account(const struct http_response *response, int status, const char *id,
                           int64_t balance, int64_t version)
{
    EXPECT_JSON(response, status, 5);
    assert_string_equal(http_string(response, "id"), id);
    assert_int_equal(http_integer(response, "balance"), balance);
    assert_int_equal(http_integer(response, "version"), version);
}

static void expect_stale(const struct http_response *response, int64_t token, int64_t highest)
{
    EXPECT_PROBLEM(response, 412, "stale-token", 2);
    assert_int_equal(http_integer(response, "token"), token);
    assert_int_equal(http_integer(response, "highest_token"), highest);
}

static void expect_untouched(const char *id, int64_t balance, int64_t version)
{
    expect_account(get(id), 200, id, balance, version);
}

static void account_that_never_was_is_not_found(void **state)
{
    EXPECT_PROBLEM(get("nobody"), 404, "not-found", 0);
}

static void first_write_creates_the_account_and_the_next_changes_it(void **state)
{
    const struct http_response *response =
        put("alice", "7", NULL, "{\"balance\": 100, \"memo\": \"née \\\"A\\\"\"}");
    expect_account(response, 201, "alice", 100, 1);
    assert_string_equal(http_string(response, "memo"), "née \"A\"");
    assert_int_equal(http_integer(response, "token"), 7);

    response = put("alice", "9", NULL, "{\"balance\": -5}");
    expect_account(response, 200, "alice", -5, 2);
    assert_string_equal(http_string(response, "memo"), "");
    assert_int_equal(http_integer(response, "token"), 9);

    response = get("alice");
    expect_account(response, 200, "alice", -5, 2);
    assert_int_equal(http_integer(response, "token"), 9);
    EXPECT_HEADER(response, "ETag", "\"2\"");
}

static void account_survives_a_crash_of_the_ledger(void **state)
{
    expect_account(put_balance("durable", "5", 42), 201, "durable", 42, 1);
    EXPECT_PROBLEM(claim("claimed", "8"), 404, "not-found", 0);
    process_kill(ledger.process);
    ledger = pawl_ledger_start(db, NULL);
    expect_untouched("durable", 42, 1);
    expect_stale(put_balance("durable", "4", 0), 4, 5);
    expect_stale(put_balance("claimed", "7", 0), 7, 8);
}

static void bounds_of_a_write_are_inclusive(void **state)
{
    char id[65], body[400];
    memset(id, 'i', 64);
    id[64] = '\0';
    expect_account(put(id, TOKEN_MAX, NULL, "{\"balance\": " TOKEN_MAX "}"), 201, id,
                   FENCE_TOKEN_MAX, 1);
    expect_account(put(id, TOKEN_MAX, NULL, "{\"balance\": -" TOKEN_MAX "}"), 200, id,
                   -FENCE_TOKEN_MAX, 2);
    snprintf(body, sizeof(body), "{\"balance\": 0, \"memo\": \"%0256d\"}", 0);
    expect_account(put("memo", "1", NULL, body), 201, "memo", 0, 1);
}

static void write_with_an_older_token_is_refused(void **state)
{
    put_balance("guarded", "34", 100);
    expect_stale(put_balance("guarded", "33", 0), 33, 34);
    expect_untouched("guarded", 100, 1);
}

static void same_token_writes_many_times(void **state)
{
    expect_account(put_balance("same", "3", 1), 201, "same", 1, 1);
    expect_account(claim("same", "3"), 200, "same", 1, 1);
    expect_account(put_balance("same", "3", 2), 200, "same", 2, 2);
}

static void claim_answers_with_the_account_and_shuts_older_tokens_out(void **state)
{
    put_balance("claimed", "10", 100);
    const struct http_response *response = claim("claimed", "12");
    expect_account(response, 200, "claimed", 100, 1);
    assert_int_equal(http_integer(response, "token"), 10); /* token of the last write */
    expect_stale(put_balance("claimed", "11", 0), 11, 12);
    expect_stale(claim("claimed", "11"), 11, 12);
    expect_untouched("claimed", 100, 1);
    expect_account(put_balance("claimed", "12", 50), 200, "claimed", 50, 2);
}

static void claim_of_an_account_that_is_not_there_stands(void **state)
{
    EXPECT_PROBLEM(claim("future", "20"), 404, "not-found", 0);
    expect_stale(put_balance("future", "19", 0), 19, 20);
    expect_account(put_balance("future", "20", 1), 201, "future", 1, 1);
}

static void plain_read_claims_nothing(void **state)
{
    put_balance("plain", "5", 1);
    get("plain");
    expect_account(put_balance("plain", "5", 2), 200, "plain", 2, 2);
}

static void accounts_are_guarded_each_by_itself(void **state)
{
    put_balance("one", "100", 1);
    expect_account(put_balance("two", "1", 1), 201, "two", 1, 1);
}

static void call_without_a_token_is_told_to_bring_one(void **state)
{
    put_balance("bare", "1", 1);
    EXPECT_PROBLEM(put_balance("bare", NULL, 0), 428, "token-required", 0);
    EXPECT_PROBLEM(claim("bare", NULL), 428, "token-required", 0);
    expect_untouched("bare", 1, 1);
}

static void write_goes_through_if_the_version_matches(void **state)
{
    put_balance("etag", "1", 1);
    expect_account(put("etag", "1", "\"1\"", "{\"balance\": 2}"), 200, "etag", 2, 2);
    const struct http_response *response = put("etag", "1", "\"1\"", "{\"balance\": 3}");
    EXPECT_PROBLEM(response, 412, "version-mismatch", 1);
    assert_int_equal(http_integer(response, "version"), 2);
    expect_untouched("etag", 2, 2);
}

static void no_version_matches_an_account_that_is_not_there(void **state)
{
    const struct http_response *response = put("absent", "5", "\"1\"", "{\"balance\": 1}");
    EXPECT_PROBLEM(response, 412, "version-mismatch", 1);
    assert_true(json_is_null(json_object_get(response->json, "version")));
    EXPECT_PROBLEM(get("absent"), 404, "not-found", 0);
}

static void stale_token_is_refused_whatever_the_version(void **state)
{
    put_balance("both", "9", 1);
    expect_stale(put("both", "8", "\"1\"", "{\"balance\": 2}"), 8, 9);
    expect_stale(put("both", "8", "\"7\"", "{\"balance\": 2}"), 8, 9);
}

static void rejections_are_listed_newest_first(void **state)
{
    const struct http_response *response = call(ledger.port, "GET", "/v1/rejections", NULL, NULL);
    EXPECT_JSON(response, 200, 1);
    assert_int_equal(json_array_size(json_object_get(response->json, "rejections")), 0);

    const int64_t now_ms = (int64_t)time(NULL) * 1000;
    put_balance("late", "30", 1);
    put_balance("late", "29", 0);
    claim("late", "28");
    put("late", "30", "\"9\"", "{\"balance\": 1}"); /* a version is no token */
    response = call(ledger.port, "GET", "/v1/rejections", NULL, NULL);
    EXPECT_JSON(response, 200, 1);
    json_t *list = json_object_get(response->json, "rejections");
    assert_int_equal(json_array_size(list), 2);
    static const struct {
        const char *kind;
        int token;
    } wanted[] = {{"claim", 28}, {"write", 29}};
    for (size_t i = 0; i < COUNT(wanted); i++) {
        const char *resource, *kind;
        int token, highest;
        json_int_t at_ms;
        json_t *row = json_array_get(list, i);
        assert_int_equal(json_unpack(row, "{s:s, s:s, s:i, s:i, s:I !}", "resource", &resource,
                                     "kind", &kind, "token", &token, "highest_token", &highest,
                                     "at_ms", &at_ms),
                         0);
        assert_string_equal(resource, "accounts/late");
        assert_string_equal(kind, wanted[i].kind);
        assert_int_equal(token, wanted[i].token);
        assert_int_equal(highest, 30);
        assert_in_range(at_ms, now_ms - 1000, now_ms + 10000);
    }
}

static void rejections_shown_are_a_hundred_at_most(void **state)
{
    put_balance("flood", "1000", 1);
    for (int i = 1; i <= 103; i++) {
        char token[16];
        snprintf(token, sizeof(token), "%d", i);
        assert_int_equal(claim("flood", token)->status, 412);
    }
    const struct http_response *response = call(ledger.port, "GET", "/v1/rejections", NULL, NULL);
    const json_t *list = json_object_get(response->json, "rejections");
    assert_int_equal(json_array_size(list), 100);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(list, 0), "token")), 103);
}

static void input_out_of_its_bounds_changes_nothing(void **state)
{
    put("safe", "5", NULL, "{\"balance\": 1, \"memo\": \"m\"}");
    static const char *const tokens[] = {"0", "-1", "05", "5.0", "x", "", "9007199254740992"};
    for (size_t i = 0; i < COUNT(tokens); i++) {
        EXPECT_PROBLEM(put_balance("safe", tokens[i], 0), 400, "invalid", 0);
        EXPECT_PROBLEM(claim("safe", tokens[i]), 400, "invalid", 0);
    }
    static const char *const versions[] = {
        "1",   "\"0\"", "\"01\"", "\"-1\"", "W/\"1\"", "*", "\"1\", \"2\"", "\"9007199254740992\"",
        "\"\""};
    for (size_t i = 0; i < COUNT(versions); i++)
        EXPECT_PROBLEM(put("safe", "5", versions[i], "{\"balance\": 0}"), 400, "invalid", 0);
    static const char *const bodies[] = {
        NULL,
        "{}",
        "{\"memo\": \"\"}",
        "{\"balance\": \"1\"}",
        "{\"balance\": 1.0}",
        "{\"balance\": 9007199254740992}",
        "{\"balance\": -9007199254740992}",
        "{\"balance\": 1, \"balance\": 2}",
        "{\"balance\": 1, \"token\": 6}",
        "{\"balance\": 1, \"memo\": \"a\\nb\"}",
        "{\"balance\": 1, \"memo\": null}",
    };
    for (size_t i = 0; i < COUNT(bodies); i++)
        EXPECT_PROBLEM(put("safe", "5", NULL, bodies[i]), 400, "invalid", 0);
    char body[400];
    snprintf(body, sizeof(body), "{\"balance\": 0, \"memo\": \"%0257d\"}", 0);
    EXPECT_PROBLEM(put("safe", "5", NULL, body), 400, "invalid", 0);
    expect_untouched("safe", 1, 1);
}

static void id_that_is_none_is_refused(void **state)
{
    char long_id[66];
    memset(long_id, 'i', 65);
    long_id[65] = '\0';
    const char *const ids[] = {".", "..", "a:b", "a@b", "a%20b", "a%2500", "%c3%b6", long_id};
    for (size_t i = 0; i < COUNT(ids); i++) {
        EXPECT_PROBLEM(get(ids[i]), 400, "invalid", 0);
        EXPECT_PROBLEM(claim(ids[i], "1"), 400, "invalid", 0);
        EXPECT_PROBLEM(put_balance(ids[i], "1", 0), 400, "invalid", 0);
    }
    EXPECT_PROBLEM(get("a%2Fb"), 404, "not-found", 0);
}

static void method_that_is_not_served_is_told_which_are(void **state)
{
    const struct http_response *response =
        call(ledger.port, "DELETE", "/v1/accounts/alice", NULL, NULL);
    EXPECT_PROBLEM(response, 405, "method-not-allowed", 0);
    EXPECT_HEADER(response, "Allow", "GET, HEAD, PUT");
    response = call(ledger.port, "GET", "/v1/accounts/alice/claim", NULL, NULL);
    EXPECT_PROBLEM(response, 405, "method-not-allowed", 0);
    EXPECT_HEADER(response, "Allow", "POST");
    EXPECT_PROBLEM(call(ledger.port, "GET", "/v1/accounts/", NULL, NULL), 404, "not-found", 0);
}

static void unguarded_ledger_says_so_loudly(void **state)
{
    assert_true(process_wrote(ledger.process, "UNGUARDED.*NOT checked"));
}

static void guarded_ledger_does_not(void **state)
{
    assert_false(process_wrote(ledger.process, "UNGUARDED"));
}

static void unguarded_ledger_loses_the_update_of_the_newer_holder(void **state)
{
    put_balance("lost", "10", 100);
    expect_account(claim("lost", "11"), 200, "lost", 100, 1);
    expect_account(put_balance("lost", "11", 150), 200, "lost", 150, 2);
    expect_account(put_balance("lost", "10", 120), 200, "lost", 120, 3);
    const struct http_response *response = put_balance("lost", NULL, 7);
    expect_account(response, 200, "lost", 7, 4);
    assert_true(json_is_null(json_object_get(response->json, "token")));
    response = call(ledger.port, "GET", "/v1/rejections", NULL, NULL);
    assert_int_equal(json_array_size(json_object_get(response->json, "rejections")), 0);
}

#define GUARDED(name)   cmocka_unit_test_setup_teardown(name, start, workdir_teardown)
#define UNGUARDED(name) cmocka_unit_test_setup_teardown(name, start_unguarded, workdir_teardown)

static const struct CMUnitTest cases[] = {
    GUARDED(account_that_never_was_is_not_found),
    GUARDED(first_write_creates_the_account_and_the_next_changes_it),
    GUARDED(account_survives_a_crash_of_the_ledger),
    GUARDED(bounds_of_a_write_are_inclusive),
    GUARDED(write_with_an_older_token_is_refused),
    GUARDED(same_token_writes_many_times),
    GUARDED(claim_answers_with_the_account_and_shuts_older_tokens_out),
    GUARDED(claim_of_an_account_that_is_not_there_stands),
    GUARDED(plain_read_claims_nothing),
    GUARDED(accounts_are_guarded_each_by_itself),
    GUARDED(call_without_a_token_is_told_to_bring_one),
    GUARDED(write_goes_through_if_the_version_matches),
    GUARDED(no_version_matches_an_account_that_is_not_there),
    GUARDED(stale_token_is_refused_whatever_the_version),
    GUARDED(rejections_are_listed_newest_first),
    GUARDED(rejections_shown_are_a_hundred_at_most),
    GUARDED(input_out_of_its_bounds_changes_nothing),
    GUARDED(id_that_is_none_is_refused),
    GUARDED(method_that_is_not_served_is_told_which_are),
    UNGUARDED(unguarded_ledger_says_so_loudly),
    GUARDED(guarded_ledger_does_not),
    UNGUARDED(unguarded_ledger_loses_the_update_of_the_newer_holder),
};

CASE_MAIN(cases, NULL, NULL)
