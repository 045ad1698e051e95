/* An imported lock that its holder asks for: what the script on a master writes then. */
#include "fence/protocol/name.h"
#include "tests/integration/storage/redis/master_fixture.h"
#include "tests/lib/case.h"

#include <string.h>

#define ID_A "aaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define ID_B "bbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define NAME "orders/42"
#define KEY  "pawl:lock:" NAME

static struct fence_request request(enum fence_request_kind kind, const char *id, uint64_t attempt)
{
    return (struct fence_request){
        .kind = kind,
        .tag = 1 << 16,
        .resource = NAME,
        .lock_id = id,
        .owner = "",
        .attempt = attempt,
        .ttl_ms = 30000,
        .extensions = 3,
        .idempotent = true,
        .slot = (uint16_t)fence_slot(NAME, strlen(NAME)),
    };
}

static const struct fence_reply *take(void *fixture, const char *id, uint64_t attempt)
{
    struct fence_request asked = request(FENCE_REQUEST_TAKE, id, attempt);
    return master_fixture_ask(fixture, &asked);
}

static enum fence_reply_kind confirm(void *fixture, uint64_t attempt, int64_t token)
{
    struct fence_request asked = request(FENCE_REQUEST_CONFIRM, ID_A, attempt);
    asked.token = token;
    return master_fixture_ask(fixture, &asked)->kind;
}

static enum fence_reply_kind undo(void *fixture, uint64_t attempt)
{
    struct fence_request asked = request(FENCE_REQUEST_UNDO, ID_A, attempt);
    return master_fixture_ask(fixture, &asked)->kind;
}

/* As storage/redis/lua/install.lua writes it, with a lease of 5 s. */
static void import(struct master_fixture *fixture, const char *value)
{
    freeReplyObject(redis_fleet_command(fixture->fleet, 0, "SET " KEY " %s PX 5000", value));
}

static void assert_lock(struct master_fixture *fixture, const char *expected)
{
    redisReply *reply = redis_fleet_command(fixture->fleet, 0, "GET " KEY);
    assert_string_equal(reply->str, expected);
    freeReplyObject(reply);
}

static void imported_lock_of_the_own_attempt_is_counted_anew_and_keeps_its_lease(void **state)
{
    struct master_fixture *fixture = *state;
    struct fence_request asked = request(FENCE_REQUEST_TAKE, ID_A, 1);
    for (int again = 0; again < 2; again++) {
        import(fixture, ID_A ".0000000000000001:7:2:0:me");
        asked.idempotent = again;
        const struct fence_reply *reply = master_fixture_ask(fixture, &asked);
        assert_int_equal(reply->kind, FENCE_REPLY_NUMBER);
        assert_int_equal(reply->number, 1 + again); /* never the number that was read */
        assert_in_range(reply->remaining_ms, 4000, 5000);
        assert_false(reply->found);
        assert_in_range(redis_fleet_integer(fixture->fleet, 0, "PTTL " KEY), 4000, 5000);
    }
    assert_lock(fixture, ID_A ".0000000000000001:2:2::me");           /* it counts from here on */
    assert_int_equal(master_fixture_ask(fixture, &asked)->number, 2); /* once is enough */
}

static void imported_lock_of_another_attempt_is_counted_anew_and_becomes_that_of_any(void **state)
{
    struct master_fixture *fixture = *state;
    import(fixture, ID_A ".0000000000000001:7:2:0:me");
    const struct fence_reply *reply = take(fixture, ID_A, 2);
    assert_int_equal(reply->kind, FENCE_REPLY_NUMBER);
    assert_int_equal(reply->number, 1);
    assert_true(reply->found);
    assert_in_range(reply->remaining_ms, 4000, 5000);
    assert_lock(fixture, ID_A ".*:1:2::me");
    assert_int_equal(take(fixture, ID_A, 3)->number, 1);
    assert_int_equal(undo(fixture, 2), FENCE_REPLY_NO);
}

static void imported_lock_is_confirmed_where_its_number_allows(void **state)
{
    struct master_fixture *fixture = *state;
    import(fixture, ID_A ".0000000000000001:7:2:0:me");
    assert_int_equal(confirm(fixture, 1, 6), FENCE_REPLY_NO);
    assert_int_equal(confirm(fixture, 1, 9), FENCE_REPLY_YES);
    assert_lock(fixture, ID_A ".0000000000000001:9:2:0:me"); /* and is still an imported one */
}

static const struct CMUnitTest cases[] = {
    MASTER_VOLATILE(imported_lock_of_the_own_attempt_is_counted_anew_and_keeps_its_lease),
    MASTER_VOLATILE(imported_lock_of_another_attempt_is_counted_anew_and_becomes_that_of_any),
    MASTER_VOLATILE(imported_lock_is_confirmed_where_its_number_allows),
};

CASE_MAIN(cases, NULL, NULL)
