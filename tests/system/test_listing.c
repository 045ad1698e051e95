/* GET /v1/locks: which locks are held, page by page. */
#include "tests/lib/case.h"
#include "tests/lib/wait.h"
#include "tests/system/calls.h"
#include "tests/system/fleet.h"
#include "tests/system/listed.h"

#include <stdio.h>
#include <string.h>

enum {
    LISTING_TRIES = 3,
    MASTERS = 5,
    MANY = 10000,
};

static uint16_t port;
static uint16_t ports[2]; /* it alone */

static int start(void **state)
{
    fleet_start(MASTERS, REDIS_VOLATILE);
    ports[0] = port = fleet_init_and_serve(60000).port;
    return 0;
}

static int clear(void **state)
{
    listed_remove();
    return 0;
}

static void assert_each_once(const char *prefix, unsigned count)
{
    for (unsigned i = 1; i <= count; i++) {
        char name[64];
        snprintf(name, sizeof(name), "%s%u", prefix, i);
        if (listed_times(name) != 1)
            fail_msg("%s was listed %zu times", name, listed_times(name));
    }
}

static void each_lock_is_listed_once_whatever_the_page_size(void **state)
{
    static const unsigned limits[] = {1, 2, 3, 7, 10, 64, 99, 100, 101, 299, 300, 301, 1000, 0};
    listed_put(LISTED_ALL, "once/", 300, LISTED_ID_A);
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        assert_int_equal(listed_read(ports, "", limits[i]), 300);
        assert_each_once("once/", 300);
    }
}

static void page_is_nearly_as_full_as_its_limit(void **state)
{
    listed_put(LISTED_ALL, "full/", 1000, LISTED_ID_A);
    assert_int_equal(listed_read(ports, "", 100), 1000);
    assert_in_range(listed_pages(), 10, 13);
}

static void lock_that_a_client_holds_is_listed_as_inspect_shows_it(void **state)
{
    struct grant grant = call_grant(port, "orders/42", "{\"owner\": \"worker \\\"7\\\"\"}");
    const struct http_response *response = listed_page(port, "");
    assert_null(strstr(response->body, grant.lock_id));
    EXPECT_JSON(response, 200, 2);
    assert_true(json_is_null(json_object_get(response->json, "next_cursor")));
    const json_t *locks = json_object_get(response->json, "locks");
    assert_int_equal(json_array_size(locks), 1);
    const json_t *lock = json_array_get(locks, 0);
    assert_int_equal(json_object_size(lock), 5);
    assert_string_equal(json_string_value(json_object_get(lock, "resource")), "orders/42");
    assert_string_equal(json_string_value(json_object_get(lock, "owner")), "worker \"7\"");
    assert_int_equal(json_integer_value(json_object_get(lock, "token")), grant.token);
    assert_in_range(json_integer_value(json_object_get(lock, "remaining_ms")), 25000, 30000);
    assert_int_equal(json_integer_value(json_object_get(lock, "waiters")), 0);

    call_give_back(port, "orders/42", &grant);
    assert_int_equal(listed_read(ports, "", 0), 0);
}

static void prefix_may_end_anywhere_in_a_name(void **state)
{
    static const struct {
        const char *prefix;
        size_t found;
    } cases[] = {{"a", 6},    {"a/", 3},    {"a/b", 3}, {"a/b.", 1},     {"a/b~", 1},
                 {"a/b-", 1}, {"A", 1},     {"a.", 1},  {"a:", 1},       {"a@", 1},
                 {"b", 0},    {"a/b.1", 1}, {"%61", 6}, {"a%2Fb%2e", 1}, {"a/b.10", 0}};
    static const char *const names[] = {"a/b.", "a/b~", "a/b-", "A", "a.x", "a:x", "a@x"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        listed_put(LISTED_ALL, names[i], 1, LISTED_ID_A);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (listed_read(ports, cases[i].prefix, 2) != cases[i].found)
            fail_msg("prefix %s", cases[i].prefix);
}

static void what_no_majority_holds_is_not_listed(void **state)
{
    listed_put(1 << 0, "stray/0/", 20, LISTED_ID_A);
    listed_put(1 << 0 | 1 << 1, "stray/01/", 20, LISTED_ID_A);
    listed_put(1 << 3 | 1 << 4, "stray/34/", 20, LISTED_ID_A);
    listed_put(1 << 0 | 1 << 1, "split/", 20, LISTED_ID_A);
    listed_put(1 << 2 | 1 << 3, "split/", 20, LISTED_ID_B);
    listed_put(1 << 4, "split/", 20, LISTED_ID_C);
    assert_int_equal(listed_read(ports, "", 7), 0);
}

static void lock_that_stands_on_a_bare_majority_is_listed_once(void **state)
{
    for (unsigned set = 0; set < 1U << MASTERS; set++) {
        char prefix[16];
        if (__builtin_popcount(set) != 3)
            continue;
        snprintf(prefix, sizeof(prefix), "bare/%02x/", set);
        listed_put(set, prefix, 3, LISTED_ID_A);
    }
    assert_int_equal(listed_read(ports, "bare/", 4), 30);
    for (unsigned set = 0; set < 1U << MASTERS; set++) {
        char prefix[16];
        snprintf(prefix, sizeof(prefix), "bare/%02x/", set);
        assert_each_once(prefix, __builtin_popcount(set) == 3 ? 3 : 0);
    }
}

static void come_and_go(void)
{
    static unsigned turn;
    char prefix[32];
    snprintf(prefix, sizeof(prefix), "comes/%u/", turn++);
    listed_put(LISTED_ALL, prefix, 700, LISTED_ID_B); /* the table grows */
}

/* On the first master, whose names were gone through with the first page. */
static void leave_remains(void)
{
    listed_put(1 << 0, "behind/", 20, LISTED_ID_B);
}

static void somebody_elses_remains_do_not_hide_a_lock(void **state)
{
    listed_put(1 << 1 | 1 << 2 | 1 << 3, "behind/", 20, LISTED_ID_A);
    assert_int_equal(listed_read_while(ports, "behind/", 7, leave_remains), 20);
    assert_each_once("behind/", 20);
}

static void lock_that_stays_is_listed_while_others_come_and_go(void **state)
{
    listed_put(LISTED_ALL, "stays/", 200, LISTED_ID_A);
    for (unsigned limit = 1; limit < 50; limit += 16) {
        (void)listed_read_while(ports, "", limit, come_and_go);
        for (unsigned i = 1; i <= 200; i++) {
            char name[32];
            snprintf(name, sizeof(name), "stays/%u", i);
            assert_true(listed_times(name) >= 1);
        }
    }
}

static void what_is_no_lock_of_pawls_is_passed_over(void **state)
{
    fleet_command(0, "SET pawl:lock:a//b x");
    fleet_command(0, "SET pawl:lock: x");
    fleet_command(0, "SET pawl:lock:foreign x");
    fleet_command(0, "HSET pawl:lock:hash x y");
    fleet_command(0, "SET other x");
    listed_put(LISTED_ALL & ~1U, "foreign", 1, LISTED_ID_A);
    assert_int_equal(listed_read(ports, "", 0), 1);
    assert_int_equal(listed_times("foreign1"), 1);
}

static void head_has_no_body(void **state)
{
    struct http *http = http_connect(port);
    struct http_response response;
    http_request(http, "HEAD", "/v1/locks?limit=5", NULL, NULL, &response);
    assert_int_equal(response.status, 200);
    assert_int_equal(response.body_len, 0);
    EXPECT_HEADER(&response, "Content-Type", "application/json");
    http_response_fini(&response);
    http_close(http);
}

static void expect_invalid(const char *query, const char *word)
{
    const struct http_response *response = listed_page(port, query);
    EXPECT_PROBLEM(response, 400, "invalid", 0);
    if (!strstr(http_string(response, "detail"), word))
        fail_msg("no word of %s for %s: %s", word, query, response->body);
}

static void bad_parameters_are_refused(void **state)
{
    static const char *const limits[] = {"0",   "1001", "-1", "%2B5", "05",
                                         "1.0", "",     "x",  "5%20", "99999999999999999999"};
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        char query[64];
        snprintf(query, sizeof(query), "?limit=%s", limits[i]);
        expect_invalid(query, "limit must be a whole number from 1 to 1000");
    }
    static const char *const prefixes[] = {"a//", "/", "a/../b", "a*", "%5B", "a%20b", "%C3%BC"};
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        char query[64];
        snprintf(query, sizeof(query), "?prefix=%s", prefixes[i]);
        expect_invalid(query, "prefix");
    }
    expect_invalid("?prefix=%zz", "hex");
    expect_invalid("?prefix=a%00b", "NUL");
    expect_invalid("?prefix=a+b", "'+'");
    expect_invalid("?prefix", "has no value");
    expect_invalid("?prefix=a&prefix=a", "only once");
    expect_invalid("?limit=5&offset=3", "offset");
    expect_invalid("?Limit=5", "Limit");
}

static void cursor_that_was_not_given_is_refused(void **state)
{
    listed_put(LISTED_ALL, "cursor/", 20, LISTED_ID_A);
    const struct http_response *response = listed_page(port, "?limit=5&prefix=cursor");
    char cursor[512];
    snprintf(cursor, sizeof(cursor), "%s", http_string(response, "next_cursor"));
    char query[1024];
    snprintf(query, sizeof(query), "?limit=7&prefix=cursor&cursor=%s", cursor);
    assert_int_equal(listed_page(port, query)->status, 200); /* it is as good a second time */
    assert_int_equal(listed_page(port, query)->status, 200);
    snprintf(query, sizeof(query), "?prefix=curs&cursor=%s", cursor);
    expect_invalid(query, "Restart the listing");
    snprintf(query, sizeof(query), "?prefix=cursor&cursor=%s0", cursor);
    expect_invalid(query, "Restart the listing");
    cursor[20] = cursor[20] == '1' ? '2' : '1';
    snprintf(query, sizeof(query), "?prefix=cursor&cursor=%s", cursor);
    expect_invalid(query, "Restart the listing");
    expect_invalid("?cursor=0", "Restart the listing");
    expect_invalid("?cursor=%25s%25n", "Restart the listing");
    expect_invalid("?cursor=", "cursor has 0 bytes");
}

static void other_methods_are_told_which_are_served(void **state)
{
    const struct http_response *response = call(port, "DELETE", "/v1/counters", NULL, NULL);
    EXPECT_PROBLEM(response, 405, "method-not-allowed", 0);
}

static void ten_thousand_locks_are_listed(void **state)
{
    listed_put(LISTED_ALL, "many/", MANY, LISTED_ID_A);
    uint64_t began_ms = wait_now_ms();
    /* A master that a busy machine keeps from answering counts as down: locks are listed twice
     * then. */
    for (unsigned tries = 1; listed_read(ports, "many/", 1000) != MANY; tries++) {
        assert_true(tries < LISTING_TRIES);
        began_ms = wait_now_ms();
    }
    print_message("%d locks on %d masters: %llu ms in %u pages\n", MANY, MASTERS,
                  (unsigned long long)(wait_now_ms() - began_ms), listed_pages());
    for (unsigned i = 1; i <= MANY; i += 97) {
        char name[32];
        snprintf(name, sizeof(name), "many/%u", i);
        assert_int_equal(listed_times(name), 1);
    }
}

static void page_that_finds_little_ends_all_the_same(void **state)
{
    listed_put(LISTED_ALL, "many/", MANY, LISTED_ID_A);
    listed_put(LISTED_ALL, "few/", 3, LISTED_ID_A);
    assert_int_equal(listed_read(ports, "few/", 1), 3);
    assert_each_once("few/", 3);
    assert_true(listed_pages() > 3); /* some of them empty */
}

#define LISTING(name) cmocka_unit_test_teardown(name, clear)

/* The more locks, the later: where many were removed, Redis shrinks its table, and a listing at
 * that moment may show a lock twice. */
static const struct CMUnitTest cases[] = {
    LISTING(lock_that_a_client_holds_is_listed_as_inspect_shows_it),
    LISTING(prefix_may_end_anywhere_in_a_name),
    LISTING(what_no_majority_holds_is_not_listed),
    LISTING(lock_that_stands_on_a_bare_majority_is_listed_once),
    LISTING(somebody_elses_remains_do_not_hide_a_lock),
    LISTING(what_is_no_lock_of_pawls_is_passed_over),
    LISTING(head_has_no_body),
    LISTING(bad_parameters_are_refused),
    LISTING(cursor_that_was_not_given_is_refused),
    LISTING(other_methods_are_told_which_are_served),
    LISTING(each_lock_is_listed_once_whatever_the_page_size),
    LISTING(page_is_nearly_as_full_as_its_limit),
    LISTING(lock_that_stays_is_listed_while_others_come_and_go),
    LISTING(ten_thousand_locks_are_listed),
    LISTING(page_that_finds_little_ends_all_the_same),
};

CASE_MAIN(cases, start, fleet_teardown)
