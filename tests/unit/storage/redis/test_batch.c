/* A script call of several extensions; and the meaning of a reply, on replies as they come over the
 * wire. */
#include "storage/redis/batch.h"
#include "tests/lib/case.h"
#include "tests/unit/storage/redis/wire.h"

#include <stdio.h>
#include <string.h>

#define A "aaaaaaaaaaaaaaaaaaaaaa"

static struct storage_reply_text text;

/* ---- the call -------------------------------------------------------------------------------- */

static void add_extension(struct storage_batch_writer *writer, struct storage_batch *batch,
                          const char *id, uint32_t ttl_ms, int64_t token)
{
    static struct storage_request encoded;
    const struct fence_request request = {.kind = FENCE_REQUEST_EXTEND,
                                          .resource = "r",
                                          .lock_id = id,
                                          .owner = "",
                                          .token = token,
                                          .ttl_ms = ttl_ms,
                                          .extend.extensions_max = 9,
                                          .slot = 7};
    storage_request_encode(&request, &encoded);
    storage_batch_add(writer, batch, &encoded);
}

static void extension_that_follows_one_with_its_terms_leaves_them_out(void **state)
{
#define TERM(len, text) "$" #len "\r\n" text "\r\n"
#define ALL(id, ttl)    TERM(1, "E") TERM(22, id) TERM(5, ttl) TERM(1, "9")
#define OTHER           "bbbbbbbbbbbbbbbbbbbbbb"
    static const char arguments[] = ALL(A, "30000") TERM(1, "1") TERM(1, "7") TERM(1, "A")
        TERM(1, "2") TERM(1, "7") TERM(1, "A") TERM(1, "3") TERM(1, "7") ALL(OTHER, "30000")
            TERM(1, "4") TERM(1, "7") ALL(OTHER, "20000") TERM(1, "5") TERM(1, "7");
    static struct storage_batch batch;
    struct storage_batch_writer writer;
    const struct storage_batch_terms terms = {
        .sha = A, .view = "10", .fleet_id = "fleet", .member = 1};
    size_t len = 0;
    assert_int_equal(storage_batch_writer_init(&writer), 0);
    add_extension(&writer, &batch, A, 30000, 1);
    add_extension(&writer, &batch, A, 30000, 2);
    add_extension(&writer, &batch, A, 30000, 3);
    add_extension(&writer, &batch, OTHER, 30000, 4);
    add_extension(&writer, &batch, OTHER, 20000, 5);
    const char *command = storage_batch_command(&writer, &batch, &terms, &len);
    assert_true(len > sizeof(arguments));
    assert_memory_equal(command + len - (sizeof(arguments) - 1), arguments, sizeof(arguments) - 1);
    assert_memory_equal(command, "*36\r\n",
                        5); /* 3 of the command, 6 keys, 3 terms, 24 arguments */
    add_extension(&writer, &batch, OTHER, 20000, 6); /* the first of another call */
    command = storage_batch_command(&writer, &batch, &terms, &len);
    assert_non_null(strstr(command, ALL(OTHER, "20000")));
    storage_batch_writer_fini(&writer);
}

/* ---- the reply ------------------------------------------------------------------------------- */

/* The answer @wire to the only request of a call. */
static struct fence_reply read_one(enum fence_request_kind kind, const char *answer)
{
    const struct storage_batch batch = {
        .count = 1, .locks = 1, .expected = {{.tag = 7, .kind = kind, .locks = 1}}};
    char wire[1024];
    snprintf(wire, sizeof(wire), "*2\r\n%s:42\r\n", answer);
    redisReply *reply = wire_reply(wire);
    struct fence_reply read = storage_batch_reply(&batch, 0, reply, &text);
    freeReplyObject(reply);
    assert_int_equal(read.tag, 7);
    assert_int_equal(read.writes, 42);
    return read;
}

/* A lock that is held, with 5,000 ms to go. */
static struct fence_reply read_held(const char *value)
{
    char answer[512];
    snprintf(answer, sizeof(answer), "*2\r\n:5000\r\n$%zu\r\n%s\r\n", strlen(value), value);
    return read_one(FENCE_REQUEST_INSPECT, answer);
}

static void reply_that_is_taken_has_all_that_was_in_it(void **state)
{
    redisReply *reply = wire_reply("*2\r\n:5\r\n*2\r\n$3\r\nabc\r\n-ERR no\r\n");
    redisReply *taken = storage_reply_take(reply);
    freeReplyObject(reply); /* as hiredis does once the callback returned */
    assert_int_equal(taken->type, REDIS_REPLY_ARRAY);
    assert_int_equal(taken->elements, 2);
    assert_int_equal(taken->element[0]->integer, 5);
    assert_string_equal(taken->element[1]->element[0]->str, "abc");
    assert_string_equal(taken->element[1]->element[1]->str, "ERR no");
    freeReplyObject(taken);
}

static void error_that_is_taken_keeps_its_text(void **state)
{
    redisReply *reply = wire_reply("-PAWLFORGOT It is a replica.\r\n");
    redisReply *taken = storage_reply_take(reply);
    assert_int_equal(reply->type, REDIS_REPLY_NIL);
    freeReplyObject(reply);
    assert_int_equal(taken->type, REDIS_REPLY_ERROR);
    assert_string_equal(taken->str, "PAWLFORGOT It is a replica.");
    freeReplyObject(taken);
}

static void lock_is_its_id_its_number_and_its_owner(void **state)
{
    struct fence_reply reply = read_held(A ".1:17:3::worker: 7");
    assert_int_equal(reply.kind, FENCE_REPLY_HELD);
    assert_string_equal(reply.holder, A);
    assert_string_equal(reply.owner, "worker: 7");
    assert_int_equal(reply.number, 17);
    assert_int_equal(reply.remaining_ms, 5000);
}

static void imported_lock_is_read_as_any_other(void **state)
{
    struct fence_reply reply = read_held(A ".*:17:3:511:me");
    assert_int_equal(reply.kind, FENCE_REPLY_HELD);
    assert_string_equal(reply.holder, A);
    assert_string_equal(reply.owner, "me");
}

static void tombstone_is_held_by_its_sign(void **state)
{
    struct fence_reply reply = read_held("~:0:0:0:");
    assert_int_equal(reply.kind, FENCE_REPLY_HELD);
    assert_string_equal(reply.holder, FENCE_TOMBSTONE);
    assert_string_equal(reply.owner, "");
}

static void lock_that_pawl_did_not_write_is_refused(void **state)
{
    static const char *const values[] = {
        "",
        "x",
        "~",
        "~~:0:0:0:",
        "~",
        A ".1:1:0:",
        A ".1:1:0",
        A ".1:1:0:x:",
        A ".1:-1:0::",
        A ".1:9007199254740992:0::",
        "short.1:1:0::",
    };
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        assert_int_equal(read_held(values[i]).kind, FENCE_REPLY_FOREIGN);
}

/* To each of the requests that extend. */
static void expect_extension(const char *answer, enum fence_reply_kind kind, int64_t number,
                             const char *owner)
{
    static const enum fence_request_kind kinds[] = {FENCE_REQUEST_EXTEND, FENCE_REQUEST_JOIN};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct fence_reply reply = read_one(kinds[i], answer);
        assert_int_equal(reply.kind, kind);
        assert_int_equal(reply.number, number);
        assert_string_equal(reply.owner ? reply.owner : "none", owner);
    }
}

static void extension_tells_how_often_and_by_what_label(void **state)
{
    expect_extension(":1\r\n", FENCE_REPLY_YES, 1, "");
    expect_extension(":1000\r\n", FENCE_REPLY_YES, 1000, "");
    expect_extension("*2\r\n:3\r\n$2\r\nme\r\n", FENCE_REPLY_YES, 3, "me");
    expect_extension("*2\r\n:3\r\n$0\r\n\r\n", FENCE_REPLY_YES, 3, "");
    expect_extension(":-6\r\n", FENCE_REPLY_YES, 0, "");
}

static void extension_that_is_none_says_why(void **state)
{
    expect_extension(":0\r\n", FENCE_REPLY_NO, 0, "none");
    expect_extension(":-1\r\n", FENCE_REPLY_EXHAUSTED, 0, "none");
    expect_extension(":-2\r\n", FENCE_REPLY_SUPERSEDED, 0, "");
    expect_extension("*2\r\n:-2\r\n$3\r\nops\r\n", FENCE_REPLY_SUPERSEDED, 0, "ops");
    expect_extension(":-3\r\n", FENCE_REPLY_UNCOUNTED, 0, "none");
    expect_extension(":-4\r\n", FENCE_REPLY_PAST, 0, "none");
    expect_extension(":-5\r\n", FENCE_REPLY_TAKEN, 0, "none");
    expect_extension("*2\r\n:-7\r\n$3\r\nops\r\n", FENCE_REPLY_BROKEN, 0, "ops");
    expect_extension("*2\r\n:-7\r\n$0\r\n\r\n", FENCE_REPLY_BROKEN, 0, "");
    expect_extension(":-7\r\n", FENCE_REPLY_REFUSED, 0, "none");
    expect_extension("*2\r\n:-7\r\n:1\r\n", FENCE_REPLY_REFUSED, 0, "none");
    expect_extension("*2\r\n:-1\r\n$3\r\nops\r\n", FENCE_REPLY_REFUSED, 0, "none");
}

static void break_is_done_or_names_the_lock_that_stays(void **state)
{
    static const char held[] = "*2\r\n:900\r\n$30\r\n" A ".1:7:0::\r\n";
    assert_int_equal(read_one(FENCE_REQUEST_BREAK, ":1\r\n").kind, FENCE_REPLY_YES);
    assert_int_equal(read_one(FENCE_REQUEST_BREAK, ":2\r\n").kind, FENCE_REPLY_REFUSED);
    struct fence_reply reply = read_one(FENCE_REQUEST_BREAK, held);
    assert_int_equal(reply.kind, FENCE_REPLY_HELD);
    assert_int_equal(reply.number, 7);
    assert_string_equal(reply.holder, A);
    assert_int_equal(read_one(FENCE_REQUEST_BREAK, "*1\r\n:1\r\n").kind, FENCE_REPLY_REFUSED);
}

static void extension_that_the_script_does_not_answer_so_is_refused(void **state)
{
    static const char *const answers[] = {
        ":-7\r\n",
        ":1000000001\r\n",
        ":9223372036854775807\r\n",
        ":-9223372036854775808\r\n",
        "$1\r\n1\r\n",
        "*1\r\n:1\r\n",
        "*2\r\n:0\r\n$2\r\nme\r\n",
        "*2\r\n:1000000001\r\n$2\r\nme\r\n",
        "*2\r\n$1\r\n1\r\n$2\r\nme\r\n",
        "*2\r\n:1\r\n:1\r\n",
        "*2\r\n:1\r\n$2\r\n\x01x\r\n",
        "*2\r\n:1\r\n$-1\r\n",
        "*3\r\n:1\r\n$2\r\nme\r\n:1\r\n",
    };
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
        expect_extension(answers[i], FENCE_REPLY_REFUSED, 0, "none");
}

static void extension_with_a_label_too_long_is_refused(void **state)
{
    char label[FENCE_LABEL_MAX + 2];
    char answer[sizeof(label) + 32];
    memset(label, 'x', sizeof(label));
    label[FENCE_LABEL_MAX + 1] = '\0';
    snprintf(answer, sizeof(answer), "*2\r\n:1\r\n$%zu\r\n%s\r\n", strlen(label), label);
    expect_extension(answer, FENCE_REPLY_REFUSED, 0, "none");
    label[FENCE_LABEL_MAX] = '\0';
    snprintf(answer, sizeof(answer), "*2\r\n:1\r\n$%zu\r\n%s\r\n", strlen(label), label);
    expect_extension(answer, FENCE_REPLY_YES, 1, label);
}

static void release_is_answered_in_four_ways(void **state)
{
    assert_int_equal(read_one(FENCE_REQUEST_RELEASE, ":1\r\n").kind, FENCE_REPLY_YES);
    assert_false(read_one(FENCE_REQUEST_RELEASE, ":1\r\n").adopted);
    assert_int_equal(read_one(FENCE_REQUEST_RELEASE, ":2\r\n").kind, FENCE_REPLY_YES);
    assert_true(read_one(FENCE_REQUEST_RELEASE, ":2\r\n").adopted);
    assert_int_equal(read_one(FENCE_REQUEST_RELEASE, ":3\r\n").kind, FENCE_REPLY_REFUSED);
    assert_int_equal(read_one(FENCE_REQUEST_UNDO, ":2\r\n").kind, FENCE_REPLY_REFUSED);
    assert_int_equal(read_one(FENCE_REQUEST_RELEASE, ":0\r\n").kind, FENCE_REPLY_NO);
    assert_int_equal(read_one(FENCE_REQUEST_RELEASE, ":-3\r\n").kind, FENCE_REPLY_UNCOUNTED);
    assert_int_equal(read_one(FENCE_REQUEST_RELEASE, ":-1\r\n").kind, FENCE_REPLY_REFUSED);
    assert_int_equal(read_one(FENCE_REQUEST_RELEASE, ":-2\r\n").kind, FENCE_REPLY_REFUSED);
}

static void number_that_was_counted_anew_comes_with_what_is_left(void **state)
{
    struct fence_reply reply = read_one(FENCE_REQUEST_TAKE, "*3\r\n:0\r\n:4000\r\n:18\r\n");
    assert_int_equal(reply.kind, FENCE_REPLY_NUMBER);
    assert_int_equal(reply.number, 18);
    assert_int_equal(reply.remaining_ms, 4000);
    assert_false(reply.found);
}

static void call_without_a_reply_is_lost_in_each_request(void **state)
{
    const struct storage_batch batch = {.count = 2, .expected = {{.tag = 7}, {.tag = 8}}};
    for (unsigned i = 0; i < 2; i++) {
        struct fence_reply reply = storage_batch_reply(&batch, i, NULL, &text);
        assert_int_equal(reply.kind, FENCE_REPLY_LOST);
        assert_int_equal(reply.tag, 7 + i);
    }
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(extension_that_follows_one_with_its_terms_leaves_them_out),
    cmocka_unit_test(reply_that_is_taken_has_all_that_was_in_it),
    cmocka_unit_test(error_that_is_taken_keeps_its_text),
    cmocka_unit_test(lock_is_its_id_its_number_and_its_owner),
    cmocka_unit_test(imported_lock_is_read_as_any_other),
    cmocka_unit_test(tombstone_is_held_by_its_sign),
    cmocka_unit_test(lock_that_pawl_did_not_write_is_refused),
    cmocka_unit_test(extension_tells_how_often_and_by_what_label),
    cmocka_unit_test(extension_that_is_none_says_why),
    cmocka_unit_test(break_is_done_or_names_the_lock_that_stays),
    cmocka_unit_test(extension_that_the_script_does_not_answer_so_is_refused),
    cmocka_unit_test(extension_with_a_label_too_long_is_refused),
    cmocka_unit_test(release_is_answered_in_four_ways),
    cmocka_unit_test(number_that_was_counted_anew_comes_with_what_is_left),
    cmocka_unit_test(call_without_a_reply_is_lost_in_each_request),
};

CASE_MAIN(cases, NULL, NULL)
