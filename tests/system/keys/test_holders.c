/* The holder of a lock, and the callers that may break it. */
#include "fence/protocol/limits.h"
#include "tests/lib/case.h"
#include "tests/lib/pawl.h"
#include "tests/lib/process.h"
#include "tests/lib/wait.h"
#include "tests/system/fleet.h"
#include "tests/system/keyed.h"
#include "tests/system/keys/service.h"

#include <stdio.h>
#include <string.h>

enum {
    END_MS = 20000,
    BODY_BYTES = 512,
    TTL_MAX_MS = 60000,
};

#define IF_MATCH "If-Match: \"1\"\r\n"
#define BREAK    "/v1/locks/orders/1?force=true"

static void only_an_admin_breaks_a_lock_and_the_holder_is_told_by_whom(void **state)
{
    struct http_response response;
    static const char body[] = "{\"lock_id\": \"" KEYS_LOCK_ID "\"}";
    static const char grant[] = "Lock-Id: " KEYS_LOCK_ID "\r\nFencing-Token: 1\r\n";
    assert_int_equal(keys_status(keys.owner, "POST", "/v1/locks/orders/1", NULL, body), 201);
    assert_int_equal(keys_status(keys.owner, "DELETE", BREAK, IF_MATCH, NULL), 403);
    assert_int_equal(keys_status(keys.slow, "DELETE", BREAK, IF_MATCH, NULL), 403);
    assert_int_equal(keys_status("", "DELETE", BREAK, IF_MATCH, NULL), 401);
    assert_int_equal(keys_status(keys.owner, "PATCH", "/v1/locks/orders/1", grant, NULL), 200);
    assert_int_equal(keys_status(keys.admin, "DELETE", BREAK, IF_MATCH, NULL), 200);
    keys_call(keys.owner, "PATCH", "/v1/locks/orders/1", grant, NULL, &response);
    assert_int_equal(response.status, 409);
    assert_string_equal(json_string_value(json_object_get(response.json, "type")),
                        "urn:pawl:lock-broken");
    assert_string_equal(json_string_value(json_object_get(response.json, "by")), "admin");
    http_response_fini(&response);
}

/* Asks as @key; @wanted NULL: the answer names no key. @member: of which object; NULL: of the
 * whole. */
static void expect_key(const char *key, const char *method, const char *path, const char *wanted)
{
    struct http_response response;
    keys_call(key, method, path, NULL, NULL, &response);
    const json_t *object = response.json;
    if (json_object_get(object, "locks") != NULL)
        object = json_array_get(json_object_get(object, "locks"), 0);
    const char *shown = json_string_value(json_object_get(object, "key"));
    if ((wanted == NULL) != (shown == NULL) || (wanted != NULL && strcmp(shown, wanted) != 0))
        fail_msg("%s %s: %s", method, path, response.body);
    assert_string_equal(json_string_value(json_object_get(object, "owner")), "w-1");
    http_response_fini(&response);
}

static void expect_key_for_two_only(void)
{
    static const char *const reads[] = {"/v1/locks/orders/1", "/v1/locks?prefix=orders/"};
    for (size_t i = 0; i < sizeof(reads) / sizeof(reads[0]); i++) {
        expect_key(keys.admin, "GET", reads[i], "owner");
        expect_key(keys.owner, "GET", reads[i], "owner");
        expect_key(keys.other, "GET", reads[i], NULL);
    }
    expect_key(keys.admin, "POST", "/v1/locks/orders/1", "owner");
    expect_key(keys.owner, "POST", "/v1/locks/orders/1", "owner");
    expect_key(keys.other, "POST", "/v1/locks/orders/1", NULL);
}

static void acquire_as_owner(void)
{
    assert_int_equal(keys_status(keys.owner, "POST", "/v1/locks/orders/1", NULL,
                                 "{\"lock_id\": \"" KEYS_LOCK_ID
                                 "\", \"ttl_ms\": 300000, \"owner\": \"w-1\"}"),
                     201);
}

static void holder_is_shown_to_admins_and_to_its_own_key(void **state)
{
    acquire_as_owner();
    expect_key_for_two_only();
}

static void holder_stays_through_an_extension_by_another_key_and_a_restart(void **state)
{
    acquire_as_owner();
    assert_int_equal(keys_status(keys.other, "PATCH", "/v1/locks/orders/1",
                                 "Lock-Id: " KEYS_LOCK_ID "\r\nFencing-Token: 1\r\n",
                                 "{\"ttl_ms\": 300000}"),
                     200);
    assert_int_equal(process_stop(keys.pawld.process), 0);
    keys_serve();
    expect_key_for_two_only();
}

static bool all_vote(void *arg)
{
    struct http_response response;
    keys_call(arg, "GET", "/v1/fleet", NULL, NULL, &response);
    const bool vote = response.status == 200 && http_integer(&response, "active") == 3;
    http_response_fini(&response);
    return vote;
}

/* The longest label and the longest id, on masters that know the lock by an import alone. */
static void longest_holder_is_kept_by_masters_that_forgot(void **state)
{
    char label[FENCE_LABEL_MAX + 1], body[BODY_BYTES], key[KEYED_KEY_MAX];
    struct http_response response;
    memset(label, 'x', FENCE_LABEL_MAX);
    label[FENCE_LABEL_MAX] = '\0';
    snprintf(body, sizeof(body),
             "{\"lock_id\": \"" KEYS_LOCK_ID "\", \"ttl_ms\": 60000, \"owner\": \"%s\"}", label);
    keyed_new(keys.file, "--role lock --prefix '*' --id sixteen-letters-", key);
    fleet_start(3, REDIS_VOLATILE);
    fleet_init(TTL_MAX_MS);
    keys.pawld = pawld_start(
        fleet, (const char *const[]){"--keys", keys.file, FLEET_PROBE, FLEET_ASK_ALL, NULL});
    assert_true(wait_until(all_vote, key, END_MS));
    assert_int_equal(keys_status(key, "POST", "/v1/locks/orders/1", NULL, body), 201);
    for (unsigned i = 0; i < 3; i++) { /* one after the other, so that a majority remembers */
        redis_fleet_kill(fleet, i);
        redis_fleet_restart(fleet, i, false);
        assert_true(wait_until(all_vote, key, END_MS));
    }
    const int extended =
        keys_status(key, "PATCH", "/v1/locks/orders/1",
                    "Lock-Id: " KEYS_LOCK_ID "\r\nFencing-Token: 1\r\n", "{\"ttl_ms\": 60000}");
    assert_true(extended == 200 || extended == 201);
    keys_call(key, "GET", "/v1/locks/orders/1", NULL, NULL, &response);
    assert_string_equal(http_string(&response, "owner"), label);
    assert_string_equal(http_string(&response, "key"), "sixteen-letters-");
    http_response_fini(&response);
}

static const struct CMUnitTest cases[] = {
    KEYS_SERVED(only_an_admin_breaks_a_lock_and_the_holder_is_told_by_whom),
    KEYS_SERVED(holder_is_shown_to_admins_and_to_its_own_key),
    KEYS_SERVED(holder_stays_through_an_extension_by_another_key_and_a_restart),
    KEYS_ALONE(longest_holder_is_kept_by_masters_that_forgot),
};

CASE_MAIN(cases, NULL, NULL)
