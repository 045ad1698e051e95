/* Reading names and holders off a real Redis. */
#include "fence/protocol/lock_id.h"
#include "tests/integration/storage/redis/master_fixture.h"
#include "tests/lib/case.h"

#include <stdlib.h>
#include <string.h>

enum {
    NAMES = 1000,
};

#define ID_A "aaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define ID_B "bbbbbbbbbbbbbbbbbbbbbbbbbbb"

/* The last event. */
struct told {
    unsigned times;
    enum fence_part part;
    uint64_t next;
    size_t count;
    unsigned seen[NAMES + 1]; /* how often "n/<i>" was found, since it was cleared */
    unsigned others;          /* other locks, */
    unsigned strangers;       /* and keys that are none */
    uint64_t holder[4];
};

static void on_scanned(void *context, unsigned i, const struct fence_found *found)
{
    struct told *told = context;
    assert_int_equal(i, 0);
    told->times++;
    told->part = found->part;
    told->next = found->next;
    told->count = found->count;
    for (size_t k = 0; k < found->count; k++) {
        const char *name = found->names[k];
        unsigned long number =
            name && strncmp(name, "n/", 2) == 0 ? strtoul(name + 2, NULL, 10) : 0;
        if (!name)
            told->strangers++;
        else if (number > 0 && number <= NAMES)
            told->seen[number]++;
        else
            told->others++;
    }
}

static void on_holders(void *context, unsigned i, const struct fence_found *found)
{
    struct told *told = context;
    assert_int_equal(i, 0);
    told->times++;
    told->part = found->part;
    told->count = found->count;
    for (size_t k = 0; k < found->count && k < 4; k++)
        told->holder[k] = found->holders[k];
}

static void command(struct master_fixture *fixture, const char *text)
{
    freeReplyObject(redis_fleet_command(fixture->fleet, 0, text));
}

static void put_names(struct master_fixture *fixture)
{
    freeReplyObject(redis_fleet_command(
        fixture->fleet, 0, "EVAL %s 0 %d",
        "for i = 1, ARGV[1] do redis.call('SET', 'pawl:lock:n/' .. i, 'x') end", NAMES));
}

/* The first step over all locks. */
static const struct fence_scan locks = {FENCE_LISTING_LOCKS, 0, "", 10};

/* Walks all steps; returns how many. */
static unsigned walk_over(struct master_fixture *fixture, enum fence_listing_kind kind,
                          struct told *told, const char *prefix, unsigned keys)
{
    unsigned steps = 0;
    uint64_t cursor = 0;
    memset(told, 0, sizeof(*told));
    do {
        assert_int_equal(storage_master_scan(fixture->master,
                                             &(struct fence_scan){kind, cursor, prefix, keys},
                                             on_scanned, told),
                         0);
        steps++;
        master_fixture_await(fixture, &told->times, steps);
        assert_int_equal(told->part, FENCE_PART_GRANTED);
        cursor = told->next;
    } while (cursor != 0);
    return steps;
}

static unsigned walk(struct master_fixture *fixture, struct told *told, const char *prefix,
                     unsigned keys)
{
    return walk_over(fixture, FENCE_LISTING_LOCKS, told, prefix, keys);
}

static void every_name_is_found(void **state)
{
    struct told told;
    put_names(*state);
    assert_true(walk(*state, &told, "", 10) > NAMES / 20);
    for (unsigned i = 1; i <= NAMES; i++)
        assert_int_equal(told.seen[i], 1);
    assert_true(walk(*state, &told, "", FENCE_SCAN_KEYS_MAX) < NAMES / 100);
    for (unsigned i = 1; i <= NAMES; i++)
        assert_int_equal(told.seen[i], 1);
}

static void prefix_is_what_names_begin_with(void **state)
{
    struct told told;
    put_names(*state);
    walk(*state, &told, "n/99", 256);
    for (unsigned i = 1; i <= NAMES; i++)
        assert_int_equal(told.seen[i], i == 99 || (i >= 990 && i <= 999));
    walk(*state, &told, "/99", 256);
    assert_int_equal(told.seen[99], 0);
}

static void nothing_in_a_prefix_is_a_pattern(void **state)
{
    static const char *const prefixes[] = {"*", "?", "n?", "[n]", "n/[0-9]", "\\n", "n*", "[^x]"};
    struct told told;
    put_names(*state);
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        walk(*state, &told, prefixes[i], 256);
        for (unsigned n = 1; n <= NAMES; n++)
            assert_int_equal(told.seen[n], 0);
        assert_int_equal(told.others, 0);
    }
}

static void keys_that_are_no_locks_are_told_apart(void **state)
{
    struct master_fixture *fixture = *state;
    struct told told;
    command(fixture, "SET pawl:lock:a/b x");
    command(fixture, "SET pawl:lock: x");
    command(fixture, "SET pawl:lock:a//b x");
    command(fixture, "SET pawl:lock:a|b x");
    freeReplyObject(redis_fleet_command(fixture->fleet, 0, "SET %s x", "pawl:lock:a b"));
    command(fixture, "SET pawl:wait:a x");
    command(fixture, "SET n/1 x");
    command(fixture, "HSET pawl:lock:hash x y");
    walk(fixture, &told, "", 256);
    assert_int_equal(told.others, 1);
    assert_int_equal(told.strangers, 4);
    assert_int_equal(told.seen[1], 0);
}

static void holders_are_told_by_their_ids(void **state)
{
    struct master_fixture *fixture = *state;
    static const struct fence_lock_name names[] = {{"a"}, {"b"}, {"gone"}, {"odd"}};
    struct told told = {0};
    command(fixture, "SET pawl:lock:a " ID_A ".0000000000000001:1:0:x");
    command(fixture, "SET pawl:lock:b " ID_B ".*:7:3:x");
    command(fixture, "HSET pawl:lock:odd x y");
    assert_int_equal(
        storage_master_holders(fixture->master, FENCE_LISTING_LOCKS, names, 4, on_holders, &told),
        0);
    master_fixture_await(fixture, &told.times, 1);
    assert_int_equal(told.part, FENCE_PART_GRANTED);
    assert_int_equal(told.count, 4);
    assert_true(told.holder[0] == fence_lock_id_hash(ID_A));
    assert_true(told.holder[1] == fence_lock_id_hash(ID_B));
    assert_true(told.holder[2] == 0);
    assert_true(told.holder[3] == 0);
}

/* Fields beside slots, which are fields too. The note makes a table of the hash, as that of a
 * marker. */
static void put_counters(struct master_fixture *fixture)
{
    static const char script[] =
        "redis.call('HSET', 'pawl:fleet', 'note', string.rep('x', 100), 'names', ARGV[1]) "
        "for i = 1, ARGV[1] do "
        "redis.call('HSET', 'pawl:fleet', 'n:n/' .. i, i, i, '7') end";
    freeReplyObject(redis_fleet_command(fixture->fleet, 0, "EVAL %s 0 %d", script, NAMES));
}

static void every_counter_is_found(void **state)
{
    struct told told;
    put_counters(*state);
    assert_true(walk_over(*state, FENCE_LISTING_COUNTERS, &told, "", 10) > NAMES / 20);
    for (unsigned i = 1; i <= NAMES; i++)
        assert_int_equal(told.seen[i], 1);
    assert_int_equal(told.others, 0);
    assert_int_equal(told.strangers, 0);
    walk(*state, &told, "", FENCE_SCAN_KEYS_MAX);
    assert_int_equal(told.seen[1], 0);
}

static void prefix_is_what_names_of_counters_begin_with(void **state)
{
    static const char *const nothing[] = {"*", "n?", "[n]", "\\n", "/99", "n:"};
    struct told told;
    put_counters(*state);
    walk_over(*state, FENCE_LISTING_COUNTERS, &told, "n/99", 256);
    for (unsigned i = 1; i <= NAMES; i++)
        assert_int_equal(told.seen[i], i == 99 || (i >= 990 && i <= 999));
    for (size_t i = 0; i < sizeof(nothing) / sizeof(nothing[0]); i++) {
        walk_over(*state, FENCE_LISTING_COUNTERS, &told, nothing[i], 256);
        assert_int_equal(told.seen[99], 0);
        assert_int_equal(told.others, 0);
    }
}

static void counters_of_no_valid_name_are_told_apart(void **state)
{
    struct master_fixture *fixture = *state;
    struct told told;
    command(fixture, "HSET pawl:fleet n:a/b 1 n: 1 n:a//b 1 n:a|b 1 names 2 note x 7 1");
    walk_over(fixture, FENCE_LISTING_COUNTERS, &told, "", 256);
    assert_int_equal(told.others, 1);
    assert_int_equal(told.strangers, 3);
}

static void counters_that_are_there_are_told(void **state)
{
    struct master_fixture *fixture = *state;
    static const struct fence_lock_name names[] = {{"a"}, {"gone"}, {"b"}, {"7"}};
    struct told told = {0};
    command(fixture, "HSET pawl:fleet n:a 1 n:b 9007199254740991 7 1");
    command(fixture, "SET pawl:lock:gone " ID_A ".0000000000000001:1:0:x");
    assert_int_equal(storage_master_holders(fixture->master, FENCE_LISTING_COUNTERS, names, 4,
                                            on_holders, &told),
                     0);
    master_fixture_await(fixture, &told.times, 1);
    assert_int_equal(told.part, FENCE_PART_GRANTED);
    assert_int_equal(told.count, 4);
    assert_true(told.holder[0] == 1);
    assert_true(told.holder[1] == 0);
    assert_true(told.holder[2] == 1);
    assert_true(told.holder[3] == 0);
}

static void questions_stand_in_line_with_requests(void **state)
{
    struct master_fixture *fixture = *state;
    struct told told = {0};
    fixture->replies = 0;
    for (int i = 0; i < 3; i++) {
        struct fence_request take = master_fixture_take;
        take.tag = (uint64_t)(i + 1) << 16;
        master_fixture_submit(fixture, &take);
        master_fixture_flush(fixture);
        assert_int_equal(storage_master_scan(fixture->master, &locks, on_scanned, &told), 0);
    }
    master_fixture_await(fixture, &fixture->replies, 3);
    master_fixture_await(fixture, &told.times, 3);
    assert_int_equal(fixture->reply[0].tag, 1 << 16);
    assert_int_equal(fixture->reply[2].tag, 3 << 16);
    assert_int_equal(fixture->downs, 0);
}

static void master_that_does_not_allow_it_goes_on(void **state)
{
    struct master_fixture *fixture = *state;
    static const struct fence_lock_name name = {"a"};
    struct told told = {0};
    command(fixture, "ACL SETUSER default -scan -mget");
    assert_int_equal(storage_master_scan(fixture->master, &locks, on_scanned, &told), 0);
    master_fixture_await(fixture, &told.times, 1);
    assert_int_equal(told.part, FENCE_PART_REFUSED);
    assert_int_equal(
        storage_master_holders(fixture->master, FENCE_LISTING_LOCKS, &name, 1, on_holders, &told),
        0);
    master_fixture_await(fixture, &told.times, 2);
    assert_int_equal(told.part, FENCE_PART_REFUSED);
    assert_int_equal(master_fixture_ask(fixture, &master_fixture_take)->kind, FENCE_REPLY_NUMBER);
    assert_int_equal(fixture->downs, 0);
}

static void question_whose_connection_ends_is_told_so(void **state)
{
    struct master_fixture *fixture = *state;
    struct told told = {0};
    redis_fleet_pause(fixture->fleet, 0);
    assert_int_equal(storage_master_scan(fixture->master, &locks, on_scanned, &told), 0);
    master_fixture_flush(fixture);
    redis_fleet_kill(fixture->fleet, 0);
    master_fixture_await(fixture, &told.times, 1);
    assert_int_equal(told.part, FENCE_PART_TIMEOUT);
    assert_int_equal(storage_master_scan(fixture->master, &locks, on_scanned, &told), FENCE_EIO);
}

/* The fixture's teardown frees the master with the question still open. */
static void question_of_a_master_that_is_freed_is_dropped(void **state)
{
    struct master_fixture *fixture = *state;
    static struct told told;
    assert_int_equal(storage_master_scan(fixture->master, &locks, on_scanned, &told), 0);
    assert_int_equal(told.times, 0);
}

static const struct CMUnitTest cases[] = {
    MASTER_VOLATILE(every_name_is_found),
    MASTER_VOLATILE(prefix_is_what_names_begin_with),
    MASTER_VOLATILE(nothing_in_a_prefix_is_a_pattern),
    MASTER_VOLATILE(keys_that_are_no_locks_are_told_apart),
    MASTER_VOLATILE(holders_are_told_by_their_ids),
    MASTER_VOLATILE(every_counter_is_found),
    MASTER_VOLATILE(prefix_is_what_names_of_counters_begin_with),
    MASTER_VOLATILE(counters_of_no_valid_name_are_told_apart),
    MASTER_VOLATILE(counters_that_are_there_are_told),
    MASTER_VOLATILE(questions_stand_in_line_with_requests),
    MASTER_VOLATILE(master_that_does_not_allow_it_goes_on),
    MASTER_VOLATILE(question_whose_connection_ends_is_told_so),
    MASTER_VOLATILE(question_of_a_master_that_is_freed_is_dropped),
};

CASE_MAIN(cases, NULL, NULL)
