/* The benchmark's own arithmetic: unchecked numbers are worse than none. */
#include "scripts/bench.d/programs/histogram.h"
#include "scripts/bench.d/programs/names.h"
#include "scripts/bench.d/programs/tally.h"
#include "tests/lib/answer.h"
#include "tests/lib/case.h"

#include <string.h>

static void quantile_is_right_to_within_a_32nd(void **state)
{
    static struct histogram histogram;
    for (uint64_t value = 1; value <= 100000; value++)
        histogram_add(&histogram, value);
    for (int percent = 1; percent < 100; percent++) {
        const double exact = percent * 1000;
        const double got = (double)histogram_quantile(&histogram, percent / 100.0);
        assert_true(got >= exact * 31 / 32 && got <= exact * 33 / 32 + 1);
    }
    assert_int_equal(histogram_quantile(&histogram, 1), 100000);
    assert_int_equal(histogram.max, 100000);
}

static void every_value_has_a_bucket(void **state)
{
    for (unsigned bit = 0; bit < 64; bit++) {
        struct histogram histogram = {0};
        const uint64_t value = UINT64_C(1) << bit;
        histogram_add(&histogram, value);
        histogram_add(&histogram, UINT64_MAX);
        const uint64_t got = histogram_quantile(&histogram, 0.25);
        assert_true(got >= value && got <= value + value / 32);
    }
}

static void pairs_of_the_warm_up_and_after_the_end_are_counted_apart(void **state)
{
    static struct tally tally;
    tally_begin(&tally);
    tally_add(&tally, true, true, 201, 1);
    tally_add(&tally, false, true, 200, 1);
    tally_begin(&tally);
    tally_add(&tally, false, true, 200, 1);
    tally_add(&tally, false, false, 503, 1);
    tally.ended_us = tally.began_us + 1;
    tally_add(&tally, false, true, 200, 1);
    assert_int_equal(tally.pairs, 1);
    assert_int_equal(tally.pairs_all, 3);
}

static void answer_is_whole_only_with_its_last_byte(void **state)
{
    static const char bytes[] = "HTTP/1.1 201 Created\r\nContent-Length: 18\r\n\r\n"
                                "{\"lock_id\": \"abc\"}";
    const size_t len = strlen(bytes);
    struct answer answer;
    for (size_t part = 0; part < len; part++)
        assert_int_equal(answer_read(bytes, part, &answer), ANSWER_PARTIAL);
    assert_int_equal(answer_read(bytes, len, &answer), ANSWER_WHOLE);
    assert_int_equal(answer.status, 201);
    assert_int_equal(answer.len, len);

    const char *id;
    size_t id_len;
    assert_true(answer_string(&answer, "lock_id", &id, &id_len));
    assert_int_equal(id_len, 3);
    assert_memory_equal(id, "abc", 3);
}

static void answer_string_is_found_by_its_whole_name_only(void **state)
{
    static const char body[] = "{\"header\":{\"cluster_ID\":\"7\"},\"ID\":\"42\",\"TTL\":\"3600\"}";
    const struct answer answer = {.body = body, .body_len = strlen(body)};
    const char *value;
    size_t len;
    assert_true(answer_string(&answer, "ID", &value, &len));
    assert_int_equal(len, 2);
    assert_memory_equal(value, "42", 2);
    assert_false(answer_string(&answer, "D", &value, &len));
    assert_false(answer_string(&answer, "key", &value, &len));
}

static void clients_meet_on_no_name_and_come_back_to_one_late(void **state)
{
    enum {
        CLIENTS = 16,
        NAMES = 1600
    };
    bool seen[NAMES] = {false};
    for (unsigned turn = 0; turn < NAMES / CLIENTS; turn++) {
        for (unsigned client = 0; client < CLIENTS; client++) {
            const unsigned name = names_next(client, turn, CLIENTS, NAMES);
            assert_false(seen[name]);
            seen[name] = true;
        }
    }
    assert_int_equal(names_next(3, NAMES / CLIENTS, CLIENTS, NAMES), 3);
}

static void answer_without_a_length_is_broken(void **state)
{
    static const char *const broken[] = {
        "HTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n",
        "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1\r\n\r\n",
    };
    struct answer answer;
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++)
        assert_int_equal(answer_read(broken[i], strlen(broken[i]), &answer), ANSWER_BROKEN);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(quantile_is_right_to_within_a_32nd),
    cmocka_unit_test(every_value_has_a_bucket),
    cmocka_unit_test(pairs_of_the_warm_up_and_after_the_end_are_counted_apart),
    cmocka_unit_test(answer_is_whole_only_with_its_last_byte),
    cmocka_unit_test(answer_without_a_length_is_broken),
    cmocka_unit_test(answer_string_is_found_by_its_whole_name_only),
    cmocka_unit_test(clients_meet_on_no_name_and_come_back_to_one_late),
};

CASE_MAIN(cases, NULL, NULL)
