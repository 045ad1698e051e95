/* The rate of a key, and its cap on locks. */
#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/lib/wait.h"
#include "tests/system/fleet.h"
#include "tests/system/keyed.h"
#include "tests/system/keys/service.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

#include <jansson.h>

enum {
    END_MS = 20000,
    RATE_TRIES = 50,
    TRIES = 100,
    TTL_MAX_MS = 300000,
    ROUNDS = 12, /* each on its own connection: all on one of three workers once in 10^5 */
};

#define LONG_LEASE "{\"ttl_ms\": 300000}"

static void key_is_refused_beyond_its_rate(void **state)
{
    char after[32];
    struct http_response response = {.status = 200};
    for (int i = 0; i < RATE_TRIES && response.status == 200; i++) {
        if (i > 0)
            http_response_fini(&response);
        keys_call(keys.slow, "GET", "/v1/fleet", NULL, NULL, &response);
    }
    assert_int_equal(response.status, 429);
    assert_string_equal(http_string(&response, "type"), "urn:pawl:rate-limited");
    assert_string_equal(http_string(&response, "key"), "slow");
    assert_true(http_integer(&response, "retry_after_ms") <= 1000);
    assert_true(http_header(&response, "Retry-After", after, sizeof(after)));
    assert_string_equal(after, "1");
    http_response_fini(&response);
    assert_int_equal(keys_status(keys.admin, "GET", "/v1/locks", NULL, NULL), 200);
    assert_int_equal(keys_status(keys.slow, "GET", "/livez", NULL, NULL), 200);
}

static void page_of_a_listing_counts_as_ten_calls(void **state)
{
    struct http_response response = {.status = 0};
    assert_int_equal(keys_status(keys.slow, "GET", "/v1/locks", NULL, NULL), 200);
    keys_call(keys.slow, "GET", "/v1/fleet", NULL, NULL, &response);
    assert_int_equal(response.status, 429);
    assert_in_range(http_integer(&response, "retry_after_ms"), 7000, 10000);
    http_response_fini(&response);
}

/* Sends a batch of @requests with @key: each answer has the status in @expected. */
static void expect_in_batch(const char *key, const char *requests, const int *expected,
                            size_t count)
{
    struct http_response response = {.status = 0};
    keyed_call(keys.pawld.port, key, "POST", "/v1/batch", NULL, requests, &response);
    const json_t *answers = json_object_get(response.json, "responses");
    assert_int_equal(json_array_size(answers), count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(json_integer_value(json_object_get(json_array_get(answers, i), "status")),
                         expected[i]);
    http_response_fini(&response);
}

/* The batch is a call itself. */
static void each_call_of_a_batch_counts_and_needs_its_right(void **state)
{
    expect_in_batch(keys.slow,
                    "{\"requests\":[{\"method\":\"POST\",\"path\":\"/v1/locks/a\"},"
                    "{\"method\":\"GET\",\"path\":\"/v1/locks/a\"}]}",
                    (const int[]){403, 429}, 2);
    expect_in_batch(keys.owner,
                    "{\"requests\":[{\"method\":\"POST\",\"path\":\"/v1/locks/a\"},"
                    "{\"method\":\"POST\",\"path\":\"/v1/locks/orders/a\"}]}",
                    (const int[]){403, 201}, 2);
    assert_int_equal(keyed_status(keys.pawld.port, "", "POST", "/v1/batch", NULL, NULL), 401);
}

/* Repeated where no majority answers, as on a busy machine. */
static int acquire_few(const char *path, const char *body)
{
    int status = 503;
    for (int i = 0; i < TRIES && status == 503; i++)
        status = keys_status(keys.few, "POST", path, NULL, body);
    return status;
}

static int take_as_admin(const char *path, const char *body)
{
    return keys_status(keys.admin, "POST", path, NULL, body);
}

static bool admin_takes(void *path)
{
    return take_as_admin(path, NULL) == 201;
}

static void key_is_refused_beyond_its_cap_on_locks(void **state)
{
    char path[] = "/v1/locks/x";
    struct http_response response;
    assert_int_equal(acquire_few("/v1/locks/a", "{\"lock_id\": \"" KEYS_LOCK_ID "\"}"), 201);
    assert_int_equal(acquire_few("/v1/locks", "{\"resources\": [\"b\", \"c\"]}"), 409);
    assert_int_equal(acquire_few("/v1/locks/b", NULL), 201);
    /* A retry gets what it has, and makes it no shorter. */
    assert_int_equal(
        acquire_few("/v1/locks/a", "{\"lock_id\": \"" KEYS_LOCK_ID "\", \"ttl_ms\": 100}"), 200);
    assert_int_equal(take_as_admin(path, "{\"ttl_ms\": 100}"), 201);
    assert_true(wait_until(admin_takes, path, END_MS)); /* so 100 ms are over */
    keys_call(keys.few, "POST", "/v1/locks/c", NULL, NULL, &response);
    assert_int_equal(response.status, 409);
    assert_string_equal(http_string(&response, "type"), "urn:pawl:too-many-held");
    assert_int_equal(http_integer(&response, "held"), 2);
    assert_int_equal(http_integer(&response, "held_max"), 2);
    http_response_fini(&response);
    assert_int_equal(
        keys_status(keys.few, "DELETE", "/v1/locks/a", "Lock-Id: " KEYS_LOCK_ID "\r\n", NULL), 200);
    assert_int_equal(acquire_few("/v1/locks/c", NULL), 201);
}

static void lock_that_was_not_granted_does_not_count(void **state)
{
    assert_int_equal(keys_status(keys.admin, "POST", "/v1/locks/a", NULL, NULL), 201);
    for (int i = 0; i < 5; i++)
        assert_int_equal(acquire_few("/v1/locks/a", NULL), 409);
    assert_int_equal(acquire_few("/v1/locks/b", "{\"ttl_ms\": 100}"), 201);
    assert_int_equal(acquire_few("/v1/locks/c", NULL), 201);
    assert_int_equal(acquire_few("/v1/locks/d", "{\"ttl_ms\": 0}"), 400);
}

static bool takes_another(void *arg)
{
    return acquire_few(arg, NULL) == 201;
}

static void lock_counts_until_its_lease_is_over(void **state)
{
    char path[] = "/v1/locks/c";
    assert_int_equal(acquire_few("/v1/locks/a", "{\"ttl_ms\": 300000}"), 201);
    assert_int_equal(acquire_few("/v1/locks/b", "{\"ttl_ms\": 100}"), 201);
    assert_true(wait_until(takes_another, path, END_MS));
    assert_int_equal(acquire_few("/v1/locks/d", NULL), 409);
}

/* Breaks the grant of @path under @token at the service at @port. */
static void break_at(uint16_t port, const char *path, int64_t token)
{
    char force[64];
    char if_match[64];
    (void)snprintf(force, sizeof(force), "%s?force=true", path);
    (void)snprintf(if_match, sizeof(if_match), "If-Match: \"%" PRId64 "\"\r\n", token);
    int status = 503; /* if no majority answered; then it is safe to repeat */
    for (int i = 0; i < TRIES && status == 503; i++)
        status = keyed_status(port, keys.admin, "DELETE", force, if_match, NULL);
    assert_int_equal(status, 200);
}

static int64_t token_of(const char *path)
{
    struct http_response response;
    keys_call(keys.admin, "GET", path, NULL, NULL, &response);
    assert_int_equal(response.status, 200);
    const int64_t token = http_integer(&response, "token");
    http_response_fini(&response);
    return token;
}

#define RELEASE "Lock-Id: " KEYS_LOCK_ID "\r\n"

static int acquire_seat(unsigned permits, const char *more)
{
    char body[128];
    (void)snprintf(body, sizeof(body), "{\"permits\": %u%s}", permits, more);
    return acquire_few("/v1/semaphores/s", body);
}

#define OWN_ID ", \"lock_id\": \"" KEYS_LOCK_ID "\""

static void each_seat_of_a_lock_id_counts(void **state)
{
    assert_int_equal(take_as_admin("/v1/semaphores/s", "{\"permits\": 1}"), 201);
    assert_int_equal(acquire_seat(2, OWN_ID), 201); /* s#1 */
    break_at(keys.pawld.port, "/v1/locks/s%230", token_of("/v1/locks/s%230"));
    assert_int_equal(acquire_seat(1, OWN_ID), 201); /* knows s#0 alone, and has not that one */
    assert_int_equal(acquire_few("/v1/locks/c", NULL), 409);
    assert_int_equal(acquire_seat(2, OWN_ID), 200);
    assert_int_equal(acquire_seat(2, ""), 409);
    assert_int_equal(keys_status(keys.few, "DELETE", "/v1/locks/s%230", RELEASE, NULL), 200);
    assert_int_equal(acquire_few("/v1/locks/c", NULL), 201);
    assert_int_equal(acquire_few("/v1/locks/d", NULL), 409);
}

/* The key may fill its cap again at once, and no further. */
static void expect_one_place(void)
{
    assert_int_equal(acquire_few("/v1/locks/c", LONG_LEASE), 201);
    assert_int_equal(acquire_few("/v1/locks/d", LONG_LEASE), 409);
}

static void broken_lock_counts_no_more(void **state)
{
    assert_int_equal(acquire_few("/v1/locks/a", LONG_LEASE), 201);
    assert_int_equal(acquire_few("/v1/locks/b", LONG_LEASE), 201);
    assert_int_equal(acquire_few("/v1/locks/c", LONG_LEASE), 409);
    break_at(keys.pawld.port, "/v1/locks/a", token_of("/v1/locks/a"));
    expect_one_place();
}

#define OF_GRANT "Lock-Id: " KEYS_LOCK_ID "\r\n"

static void name_that_is_kept_closed_counts(void **state)
{
    assert_int_equal(
        acquire_few("/v1/locks/a", "{\"lock_id\": \"" KEYS_LOCK_ID "\", \"ttl_ms\": 300000}"), 201);
    assert_int_equal(keys_status(keys.few, "DELETE", "/v1/locks/a?keep_ms=200000", OF_GRANT, NULL),
                     200);
    expect_one_place();
}

/* It holds the other seats. */
static void writer_that_was_to_release_one_seat_counts(void **state)
{
    assert_int_equal(acquire_few("/v1/rwlocks/a",
                                 "{\"mode\": \"write\", \"lock_id\": \"" KEYS_LOCK_ID
                                 "\", \"ttl_ms\": 300000}"),
                     201);
    assert_int_equal(keys_status(keys.few, "DELETE", "/v1/locks/a%230", OF_GRANT, NULL), 409);
    assert_int_equal(acquire_few("/v1/locks/b", LONG_LEASE), 201);
    assert_int_equal(acquire_few("/v1/locks/c", LONG_LEASE), 409);
    assert_int_equal(keys_status(keys.few, "DELETE", "/v1/rwlocks/a", OF_GRANT, NULL), 200);
    expect_one_place();
}

static bool is_let_in(void *key)
{
    return keys_status(key, "GET", "/v1/locks/known", NULL, NULL) == 200;
}

/* One of several that were acquired together, before the key file was read again. */
static void broken_lock_of_a_group_counts_no_more(void **state)
{
    char next[KEYED_KEY_MAX];
    assert_int_equal(
        acquire_few("/v1/locks", "{\"resources\": [\"a\", \"b\"], \"ttl_ms\": 300000}"), 201);
    keyed_new(keys.file, "--role lock --prefix '*' --id next", next);
    process_signal(keys.pawld.process, SIGHUP);
    assert_true(wait_until(is_let_in, next, END_MS));
    break_at(keys.pawld.port, "/v1/locks/b", token_of("/v1/locks/b"));
    expect_one_place();
}

/* Of a writer, a call is one call, whatever it is made of. */
static void call_of_a_writer_counts_as_one_call(void **state)
{
    char key[KEYED_KEY_MAX], grant[256];
    struct http_response response;
    keyed_new(keys.file, "--role lock --prefix '*' --rate 1 --burst 5 --id writer", key);
    process_signal(keys.pawld.process, SIGHUP);
    assert_true(wait_until(is_let_in, key, END_MS));
    keys_call(key, "POST", "/v1/rwlocks/w", NULL, "{\"mode\": \"write\", \"ttl_ms\": 60000}",
              &response);
    assert_int_equal(response.status, 201);
    (void)snprintf(grant, sizeof(grant), "Lock-Id: %s\r\nFencing-Token: %lld\r\n",
                   http_string(&response, "lock_id"), (long long)http_integer(&response, "token"));
    http_response_fini(&response);
    assert_int_equal(keys_status(key, "PATCH", "/v1/rwlocks/w", grant, NULL), 200);
    assert_int_equal(keys_status(key, "DELETE", "/v1/rwlocks/w", grant, NULL), 200);
}

static const char *const three_workers[] = {
    "--keys", keys.file, "--workers", "3", "--master-deadline-ms", "1000", NULL};

/* A fleet of masters, with a service of three workers. */
static int serve_fleet(void **state)
{
    (void)keys_setup_alone(state);
    keyed_new(keys.file, "--role admin --prefix '*' --id admin", keys.admin);
    keyed_new(keys.file, "--role lock --prefix '*' --id few-locks --held 2", keys.few);
    fleet_start(3, REDIS_VOLATILE);
    fleet_init(TTL_MAX_MS);
    keys.pawld = pawld_start(fleet, three_workers);
    fleet_wait_workers(keys.pawld, 3);
    return 0;
}

static void lock_broken_through_any_worker_counts_no_more(void **state)
{
    assert_int_equal(acquire_few("/v1/locks/b", LONG_LEASE), 201);
    for (int i = 0; i < ROUNDS; i++) {
        assert_int_equal(acquire_few("/v1/locks/a", LONG_LEASE), 201);
        assert_int_equal(acquire_few("/v1/locks/c", LONG_LEASE), 409);
        break_at(keys.pawld.port, "/v1/locks/a", token_of("/v1/locks/a"));
    }
    expect_one_place();
}

/* The server that granted the lock hears of it when the holder extends; without that the lock
 * counts there until its lease is over (api/auth/KEYS.md). */
static void lock_broken_through_another_server_counts_until_its_holder_is_told(void **state)
{
    char headers[128];
    const struct pawl_service other = pawld_start(fleet, three_workers);
    fleet_wait_workers(other, 3);
    assert_int_equal(acquire_few("/v1/locks/a", "{\"lock_id\": \"" KEYS_LOCK_ID "\", "
                                                "\"ttl_ms\": 300000}"),
                     201);
    assert_int_equal(acquire_few("/v1/locks/b", LONG_LEASE), 201);
    const int64_t token = token_of("/v1/locks/a");
    break_at(other.port, "/v1/locks/a", token);
    assert_int_equal(acquire_few("/v1/locks/c", LONG_LEASE), 409);
    (void)snprintf(headers, sizeof(headers),
                   "Lock-Id: " KEYS_LOCK_ID "\r\nFencing-Token: %" PRId64 "\r\n", token);
    assert_int_equal(keys_status(keys.few, "PATCH", "/v1/locks/a", headers, NULL), 409);
    expect_one_place();
}

/* FNV-1a, which stood for a lock before, had one hash for these two: they counted as one. */
static void locks_that_were_made_to_collide_count_each(void **state)
{
    assert_int_equal(acquire_few("/v1/locks/a1", "{\"lock_id\": \"xxxxxxxxxxxxr2pG8XUjDa\"}"), 201);
    assert_int_equal(acquire_few("/v1/locks/B1", "{\"lock_id\": \"xxxxxxxxxxxx1T9E9GIDia\"}"), 201);
    assert_int_equal(acquire_few("/v1/locks/c", NULL), 409);
}

static const struct CMUnitTest cases[] = {
    KEYS_SERVED(key_is_refused_beyond_its_rate),
    KEYS_SERVED(each_call_of_a_batch_counts_and_needs_its_right),
    KEYS_SERVED(page_of_a_listing_counts_as_ten_calls),
    KEYS_SERVED(key_is_refused_beyond_its_cap_on_locks),
    KEYS_SERVED(each_seat_of_a_lock_id_counts),
    KEYS_SERVED(broken_lock_counts_no_more),
    KEYS_SERVED(name_that_is_kept_closed_counts),
    KEYS_SERVED(writer_that_was_to_release_one_seat_counts),
    KEYS_SERVED(call_of_a_writer_counts_as_one_call),
    KEYS_SERVED(broken_lock_of_a_group_counts_no_more),
    cmocka_unit_test_setup_teardown(lock_broken_through_any_worker_counts_no_more, serve_fleet,
                                    workdir_teardown),
    cmocka_unit_test_setup_teardown(
        lock_broken_through_another_server_counts_until_its_holder_is_told, serve_fleet,
        workdir_teardown),
    KEYS_SERVED(locks_that_were_made_to_collide_count_each),
    KEYS_SERVED(lock_that_was_not_granted_does_not_count),
    KEYS_SERVED(lock_counts_until_its_lease_is_over),
};

CASE_MAIN(cases, NULL, NULL)
