/* The allowed acts on a lock that was imported, and with a tombstone, on a real Redis: the server
 * is the second of three masters. */
#include "tests/integration/storage/redis/lua/script_fixture.h"

#include <stdio.h>
#include <string.h>

#define A   "aaaaaaaaaaaaaaaaaaaaaa"
#define B   "bbbbbbbbbbbbbbbbbbbbbb"
#define KEY "pawl:lock:name"

enum {
    NO = 0,
    YES = 1,
    ADOPTED = 2,
    UNCOUNTED = -3,
};

static redisReply *ask(const char *request)
{
    char arguments[256];
    snprintf(arguments, sizeof(arguments), "2 pawl:fleet " KEY " 10,20,30 " SCRIPT_FLEET " 2 %s",
             request);
    redisReply *reply = script_eval_requests(arguments);
    assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
    assert_int_equal(reply->elements, 1 + 1); /* and the position */
    return reply;
}

static long long answer(const char *request)
{
    redisReply *reply = ask(request);
    assert_int_equal(reply->element[0]->type, REDIS_REPLY_INTEGER);
    long long integer = reply->element[0]->integer;
    freeReplyObject(reply);
    return integer;
}

/* It is extended, for the third time. */
static void expect_extended(const char *request)
{
    redisReply *reply = ask(request);
    const redisReply *extended = reply->element[0];
    assert_int_equal(extended->type, REDIS_REPLY_ARRAY);
    assert_int_equal(extended->elements, 2);
    assert_int_equal(extended->element[0]->integer, 3);
    assert_string_equal(extended->element[1]->str, "me");
    freeReplyObject(reply);
}

static void put(const char *value)
{
    script_redis("SET " KEY " %s PX 5000", value);
}

static void assert_lock(const char *expected)
{
    redisReply *reply = script_reply("GET " KEY);
    assert_string_equal(reply->type == REDIS_REPLY_STRING ? reply->str : "", expected);
    freeReplyObject(reply);
    assert_in_range(redis_fleet_integer(script_fleet, 0, "PTTL " KEY), 4000, 5000);
}

static int start(void **state)
{
    int error = script_start(state);
    if (!error)
        script_mark_active("2", "no");
    return error;
}

static void tombstone_is_not_extended_released_confirmed_or_taken_back(void **state)
{
    put("~:0:0:0:");
    assert_int_equal(answer("E " A " 30000 1000 9 7"), UNCOUNTED);
    assert_int_equal(answer("R " A), UNCOUNTED);
    assert_int_equal(answer("C " A ".1 7 9 a"), NO);
    assert_int_equal(answer("C " A ".1 7 9 x"), NO);
    assert_int_equal(answer("U " A ".1"), NO);
    assert_int_equal(answer("V 1 " A ".1"), NO);
    assert_int_equal(answer("H 1 a " A ".1 7 9"), NO);
    assert_lock("~:0:0:0:");
    script_assert_field("7", NULL);
}

/* No lock id begins so, but a request is what its sender makes it. */
static void tombstone_does_not_obey_who_calls_itself_one(void **state)
{
    put("~:0:0:0:");
    assert_int_equal(answer("R ~"), UNCOUNTED);
    assert_int_equal(answer("E ~ 30000 1000 9 7"), UNCOUNTED);
    assert_lock("~:0:0:0:");
}

static void imported_lock_is_extended_where_a_majority_had_it(void **state)
{
    static const struct {
        unsigned from;
        bool counts;
    } rows[] = {{0, false}, {1, false}, {2, false}, {4, false},
                {3, true},  {5, true},  {6, true},  {7, true}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char value[64];
        snprintf(value, sizeof(value), A ".1:7:2:%u:me", rows[i].from);
        put(value);
        if (rows[i].counts) {
            expect_extended("E " A " 5000 1000 7 7");
            snprintf(value, sizeof(value), A ".*:7:3:%u:me", rows[i].from);
        } else {
            assert_int_equal(answer("E " A " 5000 1000 7 7"), UNCOUNTED);
        }
        assert_lock(value);
    }
}

/* As install.lua leaves it: without an expiry. */
static void import(long long expiry_ms, const char *lock)
{
    script_redis("SET " KEY " @%013lld@%s", expiry_ms, lock);
}

static void expect_expiry_of(const char *request, const char *lock)
{
    long long expiry_ms = script_now_ms() + 60000;
    import(expiry_ms, "005@" A ".1:7:2::me");
    freeReplyObject(ask(request));
    redisReply *reply = script_reply("GET " KEY);
    assert_string_equal(reply->type == REDIS_REPLY_STRING ? reply->str : "", lock);
    freeReplyObject(reply);
    /* The script's clock may be a millisecond before that by which Redis sets the expiry. */
    assert_in_range(redis_fleet_integer(script_fleet, 0, "PEXPIRETIME " KEY), expiry_ms,
                    expiry_ms + 1);
}

static void imported_lock_gets_its_expiry_when_somebody_takes_it(void **state)
{
    expect_expiry_of("T " B ".1 7 30000 me", A ".1:7:2:5:me");
    expect_expiry_of("F " B ".1 7 30000 me a 0", A ".1:7:2:5:me");
    expect_expiry_of("G 1 a " B ".1 30000 me 7 0", A ".1:7:2:5:me");
    expect_expiry_of("T " A ".1 7 30000 me", A ".1:1:2::me"); /* its own, counted again */
}

static void imported_lock_gets_its_expiry_when_it_is_confirmed(void **state)
{
    expect_expiry_of("C " A ".1 7 9 x", A ".1:9:2:5:me");
    expect_expiry_of("C " B ".1 7 9 x", A ".1:7:2:5:me");
    expect_expiry_of("H 1 a " A ".1 7 9", A ".1:9:2:5:me");
}

static void imported_lock_gets_its_expiry_when_it_is_extended(void **state)
{
    expect_expiry_of("E " A " 10 1000 7 7", A ".*:7:3:5:me"); /* for less than it has */
    expect_expiry_of("E " B " 10 1000 7 7", A ".1:7:2:5:me");
    expect_expiry_of("J " A ".2 10 1000 7 7 1 me", A ".*:7:3:5:me");
    expect_expiry_of("J " B ".2 10 1000 7 7 1 me", A ".1:7:2:5:me");
}

static void imported_lock_gets_its_expiry_when_it_is_released_by_another(void **state)
{
    expect_expiry_of("R " B, A ".1:7:2:5:me");
}

static void imported_lock_gets_its_expiry_when_another_attempt_is_taken_back(void **state)
{
    expect_expiry_of("U " A ".2", A ".1:7:2:5:me");
    expect_expiry_of("V 1 " A ".2", A ".1:7:2:5:me");
}

static void imported_lock_gets_its_expiry_when_it_is_shown(void **state)
{
    expect_expiry_of("I", A ".1:7:2:5:me");
}

/* An extension counts from its lease, as with any lock. */
static void imported_lock_without_an_expiry_is_extended(void **state)
{
    import(script_now_ms() + 1000, "005@" A ".1:7:2::me");
    expect_extended("E " A " 5000 1000 7 7");
    assert_lock(A ".*:7:3:5:me");
    import(script_now_ms() + 1000, "005@" A ".1:7:2::me");
    expect_extended("J " A ".2 5000 1000 7 7 1 me");
    assert_lock(A ".*:7:3:5:me");
}

static void imported_lock_without_an_expiry_is_released_and_taken_back(void **state)
{
    static const struct {
        const char *request;
        long long expected;
    } rows[] = {{"R " A, ADOPTED}, {"U " A ".1", YES}, {"V 1 " A ".1", YES}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        import(script_now_ms() + 60000, "000@" A ".1:7:2::me");
        assert_int_equal(answer(rows[i].request), rows[i].expected);
        assert_int_equal(redis_fleet_integer(script_fleet, 0, "EXISTS " KEY), 0);
    }
}

static void imported_lock_is_released_where_memory_is_out(void **state)
{
    import(script_now_ms() + 60000, "000@" A ".1:7:2::me");
    script_redis("CONFIG SET maxmemory 1");
    assert_int_equal(answer("R " A), ADOPTED);
    assert_int_equal(redis_fleet_integer(script_fleet, 0, "EXISTS " KEY), 0);
}

static void imported_lock_whose_time_is_over_is_free(void **state)
{
    static const char *const locks[] = {"005@" A ".1:7:2::me", "005@~:0:0::"};
    static const char *const requests[] = {
        "C " A ".1 7 9 x",
        "H 1 a " A ".1 7 9",
        "E " A " 30000 1000 7 7",
        "R " A,
        "U " A ".1",
        "V 1 " A ".1",
        "I",
    };
    for (size_t k = 0; k < 2; k++) {
        for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
            import(script_now_ms() - 1, locks[k]);
            assert_int_equal(answer(requests[i]), NO);
            assert_int_equal(redis_fleet_integer(script_fleet, 0, "EXISTS " KEY), 0);
        }
        import(script_now_ms() - 1, locks[k]);
        assert_int_equal(answer("T " B ".1 7 5000 me"), k + 1);
        char value[64];
        snprintf(value, sizeof(value), B ".1:%zu:0::me", k + 1);
        assert_lock(value);
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, start, script_stop)

static const struct CMUnitTest cases[] = {
    CASE(tombstone_is_not_extended_released_confirmed_or_taken_back),
    CASE(tombstone_does_not_obey_who_calls_itself_one),
    CASE(imported_lock_is_extended_where_a_majority_had_it),
    CASE(imported_lock_gets_its_expiry_when_somebody_takes_it),
    CASE(imported_lock_gets_its_expiry_when_it_is_confirmed),
    CASE(imported_lock_gets_its_expiry_when_it_is_extended),
    CASE(imported_lock_gets_its_expiry_when_it_is_released_by_another),
    CASE(imported_lock_gets_its_expiry_when_another_attempt_is_taken_back),
    CASE(imported_lock_gets_its_expiry_when_it_is_shown),
    CASE(imported_lock_without_an_expiry_is_extended),
    CASE(imported_lock_without_an_expiry_is_released_and_taken_back),
    CASE(imported_lock_is_released_where_memory_is_out),
    CASE(imported_lock_whose_time_is_over_is_free),
};

CASE_MAIN(cases, NULL, NULL)
