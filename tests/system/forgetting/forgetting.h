/* A fleet whose first master forgets, and what has to hold all the same.
 *
 * The masters that are no part of the smallest majority lag: they hang while a lock is granted, and
 * know nothing of it. So the memory of the first master alone keeps a second holder out, and its
 * counter alone keeps an old token from coming again.
 *
 *     static void master_that_forgets_so_is_taken_back(void **state)
 *     {
 *         struct forgetting forgetting = forgetting_begin();
 *         ... master 0 forgets ...
 *         forgetting_judge(&forgetting);
 *     }
 *
 * Which tests show which failure: README.md. */
#ifndef TESTS_SYSTEM_FORGETTING_FORGETTING_H
#define TESTS_SYSTEM_FORGETTING_FORGETTING_H

#include "tests/system/calls.h"
#include "tests/system/fleet.h"

enum {
    FORGETTING_TTL_MAX_MS = 300000, /* the longest lease: nobody can wait for it here */
};

struct forgetting {
    uint16_t port;           /* of the pawld that is asked */
    struct process *process; /* the first pawld */
    bool granted;            /* whether @held was */
    struct grant held;       /* of the name "held", for a minute; at the smallest majority */
    uint64_t granted_ms;     /* when */
    int64_t past; /* the highest token granted so far of the name "past", which is free */
};

/* Marks a fleet whose longest lease is five minutes, and serves. One token of "past" was granted
 * and is known to all masters. */
struct forgetting forgetting_serve(void);

/* The same of the pawld at @port, which serves already. */
struct forgetting forgetting_attach(uint16_t port);

/* Locks "held", and counts "past" further, while the lagging masters hang. They are awake and
 * active again when this returns. False if no lock was granted, which is right where a member of
 * the majority does not vote. */
bool forgetting_grant(struct forgetting *forgetting);

/* The same at all masters, none of which lags. */
bool forgetting_grant_at_all(struct forgetting *forgetting);

/* forgetting_serve() and forgetting_grant(), which has to succeed. */
struct forgetting forgetting_begin(void);

/* Asks for "held" for another holder. A second holder fails the test. */
void forgetting_contend(const struct forgetting *forgetting);

/* Locks another name and gives it back, so that pawld meets a majority of its masters. */
void forgetting_work(const struct forgetting *forgetting);

/* Waits until master @i, whose replication id changed, was taken back, and works meanwhile. */
void forgetting_wait_noticed(const struct forgetting *forgetting, unsigned i);

/* Waits until master @i is active while a client works. Where it is not in time, that is noted for
 * the judgement. */
bool forgetting_wait_active(const struct forgetting *forgetting, unsigned i);

/* What has to hold when master 0 forgot, and the others are up. "held" has one holder. Master 0 is
 * active again soon. Tokens go on rising where the majority is master 0 and the lagging masters.
 * "held" is released, and the next token is higher. */
void forgetting_judge(const struct forgetting *forgetting);

/* What has to hold when a majority restarted together: a new token of each name is higher than all
 * that were granted, and "held" has no second holder. If @may_refuse, nothing granted is right too.
 */
void forgetting_judge_all(const struct forgetting *forgetting, bool may_refuse);

/* A copy of master 0 as it was, on its own; NULL while there is none. As replicas are made, it
 * follows for a while, and is promoted by then. */
extern struct redis_fleet *forgetting_copy;
void forgetting_copy_master(void);

/* A case that may make one: it ends with the case. */
#define FORGETTING_COPY_CASE(name, n)                                                              \
    cmocka_unit_test_prestate_setup_teardown(name, fleet_setup, forgetting_teardown,               \
                                             &((struct fleet_wanted){n, REDIS_ALWAYS}))
int forgetting_teardown(void **state);

#endif
