/* Several resources at once, all or none. */
#include "tests/lib/case.h"
#include "tests/lib/wait.h"
#include "tests/system/calls.h"
#include "tests/system/fleet.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

enum {
    MASTERS = 5,
    TTL_MAX_MS = 300000,
    BODY_MAX = 4096,
    TRIES = 20,
};

static uint16_t port;

static int start(void **state)
{
    fleet_start(MASTERS, REDIS_VOLATILE);
    port = fleet_init_and_serve(TTL_MAX_MS).port;
    return 0;
}

static const struct http_response *acquire(const char *body)
{
    const struct http_response *response = NULL;
    for (int tries = 0; tries < 5; tries++) {
        response = call(port, "POST", "/v1/locks", NULL, body);
        if (response->status != 503)
            break;
    }
    return response;
}

/* The grant in @response for @resource: its token, and the lock id that all share. */
static struct grant granted(const struct http_response *response, const char *resource)
{
    struct grant grant = {.token = 0};
    size_t i = 0;
    json_t *item = NULL;
    json_array_foreach(json_object_get(response->json, "grants"), i, item)
    {
        if (strcmp(json_string_value(json_object_get(item, "resource")), resource) == 0)
            grant.token = json_integer_value(json_object_get(item, "token"));
    }
    snprintf(grant.lock_id, sizeof(grant.lock_id), "%s",
             json_string_value(json_object_get(response->json, "lock_id")));
    assert_true(grant.token > 0);
    return grant;
}

static bool is_held(const char *resource)
{
    return http_boolean(call_inspect(port, resource), "held");
}

static bool is_answered(const struct http *http)
{
    struct pollfd answer = {.fd = http_fd(http), .events = POLLIN};
    return poll(&answer, 1, 0) == 1;
}

static void each_has_a_token_and_is_held_for_itself(void **state)
{
    const struct http_response *response =
        acquire("{\"resources\": [\"a\", \"b/1\"], \"ttl_ms\": 5000, \"owner\": \"both\"}");
    EXPECT_JSON(response, 201, 7);
    assert_in_range(http_integer(response, "validity_ms"), 4000, 5000 - 52);
    struct grant a = granted(response, "a");
    struct grant b = granted(response, "b/1");
    assert_string_equal(http_string(call_inspect(port, "b/1"), "owner"), "both");
    EXPECT_JSON(call_extend(port, "a", &a, NULL), 200, 6);
    call_give_back(port, "a", &a);
    assert_true(is_held("b/1"));
    call_give_back(port, "b/1", &b);
    struct grant next = call_grant(port, "a", NULL);
    assert_true(next.token > a.token);
    call_give_back(port, "a", &next);
}

static void one_that_is_held_is_named_and_the_others_stay_free(void **state)
{
    struct grant holder = call_grant(port, "mid", "{\"ttl_ms\": 20000, \"owner\": \"first\"}");
    const struct http_response *response =
        acquire("{\"resources\": [\"left\", \"mid\", \"right\"]}");
    EXPECT_PROBLEM(response, 409, "held", 3);
    assert_string_equal(http_string(response, "resource"), "mid");
    assert_string_equal(http_string(response, "owner"), "first");
    assert_false(is_held("left"));
    assert_false(is_held("right"));
    call_give_back(port, "mid", &holder);
}

static long long script_calls(unsigned i)
{
    redisReply *reply = redis_fleet_command(fleet, i, "INFO commandstats");
    const char *stat = strstr(reply->str, "cmdstat_evalsha:calls=");
    long long count = stat ? strtoll(stat + strlen("cmdstat_evalsha:calls="), NULL, 10) : 0;
    freeReplyObject(reply);
    return count;
}

/* Acquires as many as there may be. True if it took one script call at each of a majority, and none
 * at the others. */
static bool take_one_call(unsigned try)
{
    char body[BODY_MAX];
    snprintf(body, sizeof(body), "{\"resources\": [\"many/%u/0\"", try);
    for (unsigned i = 1; i < FENCE_GROUP_MAX; i++) {
        size_t len = strlen(body);
        snprintf(body + len, sizeof(body) - len, ", \"many/%u/%u\"", try, i);
    }
    snprintf(body + strlen(body), sizeof(body) - strlen(body), "]}");
    long long before[MASTERS];
    for (unsigned i = 0; i < MASTERS; i++)
        before[i] = script_calls(i);
    const struct http_response *response = call(port, "POST", "/v1/locks", NULL, body);
    EXPECT_JSON(response, 201, 7);
    unsigned asked = 0;
    bool more = false;
    for (unsigned i = 0; i < MASTERS; i++) {
        const long long calls = script_calls(i) - before[i];
        asked += calls > 0;
        more = more || calls > 1;
    }
    return asked == MASTERS / 2 + 1 && !more;
}

/* A probe calls a script too, and may come between. */
static void sixty_four_are_one_script_call_a_master(void **state)
{
    bool one = false;
    for (unsigned try = 0; try < TRIES && !one; try++)
        one = take_one_call(try);
    assert_true(one);
}

static void waiter_gets_all_when_the_last_is_released(void **state)
{
    struct grant one = call_grant(port, "w1", NULL);
    struct grant two = call_grant(port, "w2", NULL);
    struct http *waiter = call_begin(port, "POST", "/v1/locks",
                                     "{\"resources\": [\"w1\", \"w2\"], \"wait_ms\": 20000}");
    wait_ms(100);
    call_give_back(port, "w1", &one);
    wait_ms(100);
    const uint64_t released_ms = wait_now_ms();
    call_give_back(port, "w2", &two);
    const struct http_response *response = call_end(waiter);
    EXPECT_JSON(response, 201, 7);
    assert_in_range(wait_now_ms() - released_ms, 0, 400); /* told, not at its next look */
    assert_true(granted(response, "w1").token > one.token);
}

static void waiter_in_vain_is_told_and_leaves_nothing(void **state)
{
    struct grant holder = call_grant(port, "v2", NULL);
    const struct http_response *response =
        acquire("{\"resources\": [\"v1\", \"v2\"], \"wait_ms\": 200}");
    EXPECT_PROBLEM(response, 409, "wait-timeout", 3);
    assert_string_equal(http_string(response, "resource"), "v2");
    assert_false(is_held("v1"));
    call_give_back(port, "v2", &holder);
}

static void grant_of_who_left_is_taken_back(void **state)
{
    struct grant holder = call_grant(port, "l2", NULL);
    struct http *waiter = call_begin(port, "POST", "/v1/locks",
                                     "{\"resources\": [\"l1\", \"l2\"], \"wait_ms\": 20000}");
    wait_ms(100);
    http_close(waiter);
    wait_ms(100);
    call_give_back(port, "l2", &holder);
    wait_ms(200);
    assert_false(is_held("l1"));
    assert_false(is_held("l2"));
}

/* Philosophers: each wants two of three, in an order that would deadlock if they were taken one
 * after the other. Each is served as often as it asks. */
static void overlapping_ones_never_deadlock(void **state)
{
    enum {
        ROUNDS = 30,
    };
    static const char *const bodies[] = {
        "{\"resources\": [\"p0\", \"p1\"], \"wait_ms\": 20000}",
        "{\"resources\": [\"p1\", \"p2\"], \"wait_ms\": 20000}",
        "{\"resources\": [\"p2\", \"p0\"], \"wait_ms\": 20000}",
    };
    static const char *const names[][2] = {{"p0", "p1"}, {"p1", "p2"}, {"p2", "p0"}};
    for (int round = 0; round < ROUNDS; round++) {
        struct http *asked[3];
        for (int i = 0; i < 3; i++)
            asked[i] = call_begin(port, "POST", "/v1/locks", bodies[i]);
        bool done[3] = {false, false, false};
        for (int left = 3; left > 0; left--) {
            int who = 0;
            while (done[who] || !is_answered(asked[who]))
                if (++who == 3) {
                    who = 0;
                    wait_ms(1);
                }
            done[who] = true;
            const struct http_response *response = call_end(asked[who]);
            EXPECT_JSON(response, 201, 7);
            struct grant first = granted(response, names[who][0]);
            struct grant second = granted(response, names[who][1]);
            call_give_back(port, names[who][0], &first);
            call_give_back(port, names[who][1], &second);
        }
    }
}

static void asking_again_with_the_own_lock_id_finds_all(void **state)
{
    static const char body[] =
        "{\"resources\": [\"i1\", \"i2\"], \"lock_id\": \"own-id-of-the-client-000001\"}";
    const struct http_response *response = acquire(body);
    EXPECT_JSON(response, 201, 7);
    struct grant first = granted(response, "i2");
    response = acquire(body); /* 201: a master that was late the first time has no part of it yet */
    EXPECT_JSON(response, response->status == 200 ? 200 : 201, 7);
    assert_true(granted(response, "i2").token >= first.token);
    assert_string_equal(granted(response, "i2").lock_id, first.lock_id);
    call_give_back(port, "i1", &first);
    call_give_back(port, "i2", &first);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(each_has_a_token_and_is_held_for_itself),
    cmocka_unit_test(one_that_is_held_is_named_and_the_others_stay_free),
    cmocka_unit_test(sixty_four_are_one_script_call_a_master),
    cmocka_unit_test(waiter_gets_all_when_the_last_is_released),
    cmocka_unit_test(waiter_in_vain_is_told_and_leaves_nothing),
    cmocka_unit_test(grant_of_who_left_is_taken_back),
    cmocka_unit_test(overlapping_ones_never_deadlock),
    cmocka_unit_test(asking_again_with_the_own_lock_id_finds_all),
};

CASE_MAIN(cases, start, fleet_teardown)
