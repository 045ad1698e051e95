/* The events in the ring, and which ids it knows. */
#include "server/loop/event_ring.h"
#include "tests/lib/case.h"

#include <stdio.h>
#include <string.h>

enum {
    BUFFER_BYTES = 32 * 1024,
};

static struct server_event_ring *ring;
static char buffer[BUFFER_BYTES];

static int setup(void **state)
{
    return server_event_ring_new(&ring);
}

static int teardown(void **state)
{
    server_event_ring_free(ring);
    return 0;
}

static void add(const char *resource, const char *owner)
{
    const struct api_event event = {
        .kind = API_EVENT_GRANTED,
        .server = "a:1",
        .resource = resource,
        .token = 7,
        .owner = owner,
    };
    server_event_ring_add(ring, &event);
}

static void add_many(unsigned count, const char *owner)
{
    for (unsigned i = 0; i < count; i++)
        add("orders/42", owner);
}

static unsigned read_all(uint64_t *cursor, const char *prefix)
{
    unsigned events = 0;
    uint64_t missed = 0;
    while (*cursor < server_event_ring_next(ring)) {
        const size_t len =
            server_event_ring_read(ring, cursor, prefix, buffer, sizeof(buffer) - 1, &missed);
        assert_int_equal(missed, 0);
        buffer[len] = '\0';
        for (const char *at = buffer; (at = strstr(at, "\n\n")) != NULL; at++)
            events++;
    }
    return events;
}

static void nothing_is_recorded_before_somebody_reads(void **state)
{
    add_many(10, "me");
    assert_int_equal(server_event_ring_next(ring), 0);
    assert_false(server_event_ring_records(ring));
    assert_int_equal(server_event_ring_join(ring), 0);
    uint64_t cursor = server_event_ring_next(ring);
    add_many(3, "me");
    assert_int_equal(read_all(&cursor, ""), 3);
    server_event_ring_leave(ring);
    add_many(3, "me"); /* its reader may come again */
    assert_int_equal(read_all(&cursor, ""), 3);
}

static void prefix_is_the_beginning_of_the_name(void **state)
{
    assert_int_equal(server_event_ring_join(ring), 0);
    const uint64_t begin = server_event_ring_next(ring);
    add("orders/42", "orders/");
    add("order", "orders/");
    add("jobs/orders/42", "orders/");
    uint64_t cursor = begin;
    assert_int_equal(read_all(&cursor, "orders/"), 1);
    cursor = begin;
    assert_int_equal(read_all(&cursor, "order"), 2);
    cursor = begin;
    assert_int_equal(read_all(&cursor, ""), 3);
    server_event_ring_leave(ring);
}

/* Of so many events as are kept, the oldest one is the first to go. */
static void id_of_an_event_that_is_dropped_is_not_found(void **state)
{
    char first[API_EVENT_ID_MAX], second[API_EVENT_ID_MAX], to_come[API_EVENT_ID_MAX];
    uint64_t cursor = 0, missed = 0;
    assert_int_equal(server_event_ring_join(ring), 0);
    const uint64_t begin = server_event_ring_next(ring);
    server_event_ring_id(ring, begin, first);
    server_event_ring_id(ring, begin + 1, second);
    add_many(SERVER_EVENTS_KEPT + 2, "");
    assert_int_equal(server_event_ring_find(ring, first, &cursor), FENCE_ENOENT);
    assert_int_equal(server_event_ring_find(ring, second, &cursor), 0);
    assert_int_equal(read_all(&cursor, ""), SERVER_EVENTS_KEPT);
    server_event_ring_id(ring, server_event_ring_next(ring), to_come);
    assert_int_equal(server_event_ring_find(ring, to_come, &cursor), FENCE_ENOENT);
    cursor = begin;
    assert_int_equal(server_event_ring_read(ring, &cursor, "", buffer, sizeof(buffer), &missed), 0);
    assert_int_equal(missed, 2);
    assert_int_equal(cursor, begin + 2);
    server_event_ring_leave(ring);
}

static void long_events_are_bounded_by_their_bytes(void **state)
{
    char owner[FENCE_LABEL_MAX + 1];
    uint64_t cursor = 0, missed = 0;
    memset(owner, '"', FENCE_LABEL_MAX); /* two bytes of JSON each */
    owner[FENCE_LABEL_MAX] = '\0';
    assert_int_equal(server_event_ring_join(ring), 0);
    cursor = server_event_ring_next(ring);
    const uint64_t begin = cursor;
    add_many(1, owner);
    const size_t len = server_event_ring_read(ring, &cursor, "", buffer, sizeof(buffer), &missed);
    assert_in_range(len, 2 * FENCE_LABEL_MAX, API_EVENT_TEXT_MAX);
    add_many(SERVER_EVENTS_KEPT - 1, owner);
    cursor = begin;
    (void)server_event_ring_read(ring, &cursor, "", buffer, sizeof(buffer), &missed);
    const uint64_t kept = server_event_ring_next(ring) - cursor;
    assert_in_range(kept * (len + 8), SERVER_EVENTS_BYTES * 9 / 10, SERVER_EVENTS_BYTES * 11 / 10);
    assert_int_equal(read_all(&cursor, ""), kept);
    server_event_ring_leave(ring);
}

static void id_of_another_process_is_not_found(void **state)
{
    struct server_event_ring *other = NULL;
    char id[API_EVENT_ID_MAX];
    uint64_t cursor = 0;
    assert_int_equal(server_event_ring_new(&other), 0);
    assert_int_equal(server_event_ring_join(ring), 0);
    const uint64_t begin = server_event_ring_next(ring);
    add_many(1, "");
    server_event_ring_id(other, begin, id);
    assert_int_equal(server_event_ring_find(ring, id, &cursor), FENCE_ENOENT);
    server_event_ring_id(ring, begin, id);
    assert_int_equal(server_event_ring_find(ring, id, &cursor), 0);
    assert_int_equal(cursor, begin + 1);
    server_event_ring_leave(ring);
    server_event_ring_free(other);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest cases[] = {
    CASE(nothing_is_recorded_before_somebody_reads),   CASE(prefix_is_the_beginning_of_the_name),
    CASE(id_of_an_event_that_is_dropped_is_not_found), CASE(long_events_are_bounded_by_their_bytes),
    CASE(id_of_another_process_is_not_found),
};

CASE_MAIN(cases, NULL, NULL)
