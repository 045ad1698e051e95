/* A real Sentinel moves a master to its replica and back. */
#include "tests/chaos/master_replica.h"
#include "tests/chaos/sentinel.h"
#include "tests/chaos/test_masters.h"
#include "tests/lib/case.h"

static struct sentinel sentinel;
static struct chaos_master *replica;

static bool follows(void *arg)
{
    return chaos_master_follows(arg);
}

static bool knows(void *arg)
{
    return sentinel_knows(&sentinel, "m", ((struct chaos_master *)arg)->port);
}

static bool leads_to(void *arg)
{
    return sentinel_master(&sentinel, "m") == ((struct chaos_master *)arg)->port;
}

static int begin(void **state)
{
    (void)masters_begin(state);
    sentinel_start(&sentinel, masters_dir);
    replica = masters_add();
    masters_set(&master, "k", "v");
    chaos_master_follow(replica, master.port);
    masters_wait(follows, replica);
    sentinel_watch(&sentinel, "m", master.port);
    masters_wait(knows, replica);
    assert_int_equal(sentinel_master(&sentinel, "m"), master.port);
    return 0;
}

static int end(void **state)
{
    sentinel_stop(&sentinel);
    return masters_end(state);
}

static void a_killed_master_is_replaced_by_its_replica(void **state)
{
    chaos_master_kill(&master);
    masters_wait(leads_to, replica);
    masters_set(replica, "k2", "v"); /* so it is no replica */
    masters_expect(replica, "k", "v");
}

static void it_fails_over_when_told_and_back_again(void **state)
{
    sentinel_fail_over(&sentinel, "m");
    masters_wait(leads_to, replica);
    masters_set(replica, "k", "v2");
    chaos_master_follow(&master, replica->port);
    masters_wait(follows, &master);
    sentinel_forget(&sentinel, "m");
    assert_int_equal(sentinel_master(&sentinel, "m"), 0);
    sentinel_watch(&sentinel, "m", replica->port);
    masters_wait(knows, &master);
    sentinel_fail_over(&sentinel, "m");
    masters_wait(leads_to, &master);
    masters_expect(&master, "k", "v2");
    masters_set(&master, "k", "v3");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

static const struct CMUnitTest cases[] = {
    CASE(a_killed_master_is_replaced_by_its_replica),
    CASE(it_fails_over_when_told_and_back_again),
};

CASE_MAIN(cases, NULL, NULL)
