/* One storage_redis_master against a real Redis, driven step by step: what tests of the script and
 * of the connection share. */
#ifndef TESTS_INTEGRATION_STORAGE_REDIS_MASTER_FIXTURE_H
#define TESTS_INTEGRATION_STORAGE_REDIS_MASTER_FIXTURE_H

#include "storage/redis/master.h"
#include "tests/lib/redis_fleet.h"

#include <stdbool.h>

#include <uv.h>

enum {
    FIXTURE_REPLIES_MAX = 1024,
    FIXTURE_PATIENCE_MS = 5000, /* for anything awaited; then the test fails */
};

struct master_fixture {
    struct redis_fleet *fleet;
    uv_loop_t loop;
    struct storage_redis_master *redis;
    struct storage_master *master; /* the same */
    uint64_t generation; /* generation of the view in the facts: another one for each that a test
                            puts there */

    /* The words of the master. */
    unsigned facts_seen;
    struct fence_facts facts; /* the last */
    unsigned probes;
    struct fence_facts seen; /* in the last */
    unsigned downs;
    enum fence_reason reason; /* reason of the last */
    unsigned replies;
    struct fence_reply reply[FIXTURE_REPLIES_MAX];
    struct fence_view known;            /* view of the last reply that carried one */
    char holder[FENCE_LOCK_ID_MAX + 1]; /* view of the last reply that named one */
    char owner[FENCE_OWNER_MAX + 1];
    int64_t numbers[FENCE_GROUP_MAX]; /* numbers of the last reply to a group */
    unsigned released;
    char released_id[FENCE_LOCK_ID_MAX + 1]; /* in the last of them */
    char released_resource[FENCE_RESOURCE_MAX + 1];
    unsigned places; /* of waiters that left, told by servers */
    char place[512]; /* the last of them, in words */
};

/* Starts a Redis, makes it a fleet of one (pawld init --new does the same), connects, and waits for
 * the handshake. */
struct master_fixture *master_fixture_new(enum redis_persistence persistence);
void master_fixture_free(struct master_fixture *fixture);

/* Wipes the Redis and makes it a fleet of one again, as it is configured now. The connection that
 * stands finds that out by itself. */
void master_fixture_make_anew(struct master_fixture *fixture);

/* A case over its own fixture, which is in *@state. */
#define MASTER_DURABLE(name)                                                                       \
    cmocka_unit_test_setup_teardown(name, master_fixture_setup_durable, master_fixture_teardown)
#define MASTER_VOLATILE(name)                                                                      \
    cmocka_unit_test_setup_teardown(name, master_fixture_setup_volatile, master_fixture_teardown)

int master_fixture_setup_durable(void **state);
int master_fixture_setup_volatile(void **state);
int master_fixture_teardown(void **state);

/* A request that is granted, for a case that does not care which. */
extern const struct fence_request master_fixture_take;

/* Runs the loop until *@counter is at least @target; fails the test when that takes too long. */
void master_fixture_await(struct master_fixture *fixture, const unsigned *counter, unsigned target);

/* Runs the loop for so long, whatever comes. */
void master_fixture_run(struct master_fixture *fixture, unsigned for_ms);

/* Submits without sending; sends what was submitted. */
void master_fixture_submit(struct master_fixture *fixture, const struct fence_request *request);
void master_fixture_flush(struct master_fixture *fixture);

/* Sends one request and waits for its reply, which stays until the next. */
const struct fence_reply *master_fixture_ask(struct master_fixture *fixture,
                                             const struct fence_request *request);

#endif
