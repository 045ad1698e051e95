/* Requests and their keys, in a server: what is in force, and for how long. */
#include "api/auth/auth.h"
#include "api/mhd/server.h"
#include "tests/lib/case.h"
#include "tests/unit/api/loop.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

static struct api_request *kept; /* the request that POST left unanswered */
static bool sees_key;            /* rights of "deploy", by the last caller of GET */
static char caller[FENCE_KEY_ID_MAX + 1];

static void show(struct api_request *request, void *context)
{
    sees_key = api_auth_sees_key(request, "deploy");
    (void)snprintf(caller, sizeof(caller), "%s", api_request_caller(request));
    loop_answer(request, "{}");
}

static void keep(struct api_request *request, void *context)
{
    if (api_auth_reserve(request, NULL, NULL, 1) == 0)
        kept = request;
}

static void change(struct api_request *request, void *context)
{
    if (api_auth_require(request, API_RIGHT_ADMIN, "a") == 0)
        loop_answer(request, "{}");
}

static const struct api_route items[] = {
    {API_GET, "/show", show, API_TAKES_NOTHING, API_RIGHT_READ, "show", API_CHEAP},
    {API_POST, "/keep", keep, API_TAKES_NOTHING, API_RIGHT_LOCK, "keep", API_CHEAP},
    {API_DELETE, "/change", change, API_TAKES_NOTHING, API_RIGHT_LOCK, "change", API_CHEAP},
};
static const struct api_routes routes = {items, sizeof(items) / sizeof(items[0]), NULL};

static char secret[API_SECRET_LEN + 1];
static char hash[API_DIGEST_TEXT + 1];
static struct api_keyring *ring;
static struct api_auth *auth;
static struct api_http *http;
static int fd, other_fd;
static char response[LOOP_RESPONSE_MAX];

/* A set of one key. */
static struct api_keys *make_keys(const char *id, const char *rest)
{
    char text[512], why[API_KEYS_WHY_MAX];
    struct api_keys *keys = NULL;
    (void)snprintf(text, sizeof(text), "%s hash=%s prefix=* %s\n", id, hash, rest);
    assert_int_equal(api_keys_parse("keys", text, strlen(text), why, &keys), 0);
    return keys;
}

static int setup(void **state)
{
    struct api_digest digest;
    assert_true(sodium_init() >= 0);
    kept = NULL;
    api_secret_make(secret);
    api_digest_make(secret, &digest);
    api_digest_write(&digest, hash);
    assert_int_equal(api_keyring_new(make_keys("deploy", "role=lock held=1"), &ring), 0);
    assert_int_equal(api_auth_new(ring, &auth), 0);
    http = loop_serve_for(&routes, 0, api_auth_access(auth));
    fd = loop_connect(http);
    other_fd = loop_connect(http);
    return 0;
}

static int teardown(void **state)
{
    api_http_free(http);
    api_auth_free(auth);
    api_keyring_free(ring);
    (void)close(fd);
    (void)close(other_fd);
    return 0;
}

static const char *request(const char *line, const char *id)
{
    static char text[512];
    (void)snprintf(text, sizeof(text),
                   "%s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer pawl_%s_%s\r\n\r\n",
                   line, id, secret);
    return text;
}

static int ask_on(int where, const char *line, const char *id)
{
    loop_send(http, where, request(line, id));
    return loop_receive(http, where, response);
}

static int ask(const char *line, const char *id)
{
    return ask_on(fd, line, id);
}

static void caller_is_known_by_its_key(void **state)
{
    assert_int_equal(ask("GET /show", "deploy"), 200);
    assert_string_equal(caller, "deploy");
    assert_true(sees_key);
    assert_int_equal(ask("GET /show", "nobody"), 401);
    assert_non_null(strstr(response, "WWW-Authenticate: Bearer\r\n"));
}

static void new_keys_are_in_force_with_the_next_call(void **state)
{
    assert_int_equal(ask("GET /show", "deploy"), 200);
    api_keyring_swap(ring, make_keys("nightly", "role=read"));
    assert_int_equal(ask("GET /show", "deploy"), 401);
    assert_int_equal(ask("GET /show", "nightly"), 200);
    assert_false(sees_key);
    assert_int_equal(ask("POST /keep", "nightly"), 403);
    api_keyring_swap(ring, make_keys("nightly", "role=admin"));
    assert_int_equal(ask("GET /show", "nightly"), 200);
    assert_true(sees_key);
}

static void parked_request_keeps_the_key_that_it_came_with(void **state)
{
    loop_send(http, fd, request("POST /keep", "deploy"));
    loop_turn_for(http, 10);
    assert_non_null(kept);
    api_keyring_swap(ring, make_keys("nightly", "role=read"));
    assert_int_equal(ask_on(other_fd, "GET /show", "deploy"), 401);
    assert_string_equal(api_request_caller(kept), "deploy");
    assert_true(api_auth_sees_key(kept, "deploy"));
    api_auth_granted(kept, "lock-id", "a", 1000);
    loop_answer(kept, "{}");
    assert_int_equal(loop_receive(http, fd, response), 200);
}

static void place_of_a_request_that_is_over_is_free_again(void **state)
{
    loop_send(http, fd, request("POST /keep", "deploy"));
    loop_turn_for(http, 10);
    assert_int_equal(ask_on(other_fd, "POST /keep", "deploy"), 409);
    /* Loaded again, it has used up the same. */
    api_keyring_swap(ring, make_keys("deploy", "role=lock held=1"));
    assert_int_equal(ask_on(other_fd, "POST /keep", "deploy"), 409);
    loop_answer(kept, "{}");
    assert_int_equal(loop_receive(http, fd, response), 200);
    kept = NULL;
    loop_send(http, other_fd, request("POST /keep", "deploy"));
    loop_turn_for(http, 10);
    assert_non_null(kept);
    loop_answer(kept, "{}");
    assert_int_equal(loop_receive(http, other_fd, response), 200);
}

static void handler_may_ask_for_another_right(void **state)
{
    assert_int_equal(ask("DELETE /change", "deploy"), 403);
    assert_non_null(strstr(response, "\"right\":\"admin\""));
    api_keyring_swap(ring, make_keys("deploy", "role=admin"));
    assert_int_equal(ask("DELETE /change", "deploy"), 200);
}

#define AUTH_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest cases[] = {
    AUTH_TEST(caller_is_known_by_its_key),
    AUTH_TEST(new_keys_are_in_force_with_the_next_call),
    AUTH_TEST(parked_request_keeps_the_key_that_it_came_with),
    AUTH_TEST(place_of_a_request_that_is_over_is_free_again),
    AUTH_TEST(handler_may_ask_for_another_right),
};

CASE_MAIN(cases, NULL, NULL)
