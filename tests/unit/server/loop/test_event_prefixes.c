/* For which readers an event is, by the prefixes that they follow. */
#include "server/loop/event_prefixes.h"
#include "tests/lib/case.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
    MANY = 3000,
};

static struct server_event_prefixes prefixes;

static void note(const char *name, uint64_t number)
{
    server_event_prefixes_note(&prefixes, name, strlen(name), number);
}

static void event_is_for_each_beginning_of_its_name(void **state)
{
    static const char *const texts[] = {"",           "orders/", "orders/4", "orders/42",
                                        "orders/42x", "order",   "jobs/",    "rders/42"};
    static const bool wanted[] = {true, true, true, true, false, true, false, false};
    struct server_event_prefix *each[sizeof(texts) / sizeof(texts[0])];
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        each[i] = server_event_prefixes_join(&prefixes, texts[i], 5);
    note("orders/42", 9);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_int_equal(each[i]->last, wanted[i] ? 9 : 5);
    server_event_prefixes_note_all(&prefixes, 10);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_int_equal(each[i]->last, 10);
        server_event_prefixes_leave(&prefixes, each[i]);
    }
}

static void reader_that_comes_looks_at_what_was_before(void **state)
{
    struct server_event_prefix *first = server_event_prefixes_join(&prefixes, "a", 3);
    struct server_event_prefix *second = server_event_prefixes_join(&prefixes, "a", 7);
    assert_ptr_equal(first, second);
    assert_int_equal(first->last, 7);
    server_event_prefixes_leave(&prefixes, second);
    note("a", 8);
    assert_int_equal(first->last, 8);
    server_event_prefixes_leave(&prefixes, first);
    note("a", 9); /* nobody follows it */
    first = server_event_prefixes_join(&prefixes, "a", 0);
    assert_int_equal(first->last, 0);
    server_event_prefixes_leave(&prefixes, first);
}

/* More than there are chains. */
static void each_of_many_prefixes_is_found(void **state)
{
    static struct server_event_prefix *each[MANY];
    char name[32];
    for (unsigned i = 0; i < MANY; i++) {
        snprintf(name, sizeof(name), "bench/%u/", i);
        each[i] = server_event_prefixes_join(&prefixes, name, 1);
    }
    for (unsigned i = 0; i < MANY; i++) {
        snprintf(name, sizeof(name), "bench/%u/own", i);
        note(name, 100 + i);
    }
    for (unsigned i = 0; i < MANY; i++) {
        assert_int_equal(each[i]->last, 100 + i);
        server_event_prefixes_leave(&prefixes, each[i]);
    }
    for (unsigned i = 0; i < SERVER_EVENT_CHAINS; i++)
        assert_null(prefixes.chains[i]);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(event_is_for_each_beginning_of_its_name),
    cmocka_unit_test(reader_that_comes_looks_at_what_was_before),
    cmocka_unit_test(each_of_many_prefixes_is_found),
};

CASE_MAIN(cases, NULL, NULL)
