/* One run of a bootstrap, against masters that do what is asked of them. */
#ifndef TESTS_UNIT_FENCE_BOOTSTRAP_RUN_FIXTURE_H
#define TESTS_UNIT_FENCE_BOOTSTRAP_RUN_FIXTURE_H

#include "fence/bootstrap/bootstrap.h"

enum {
    MASTERS = 3,
    TTL_MAX_MS = 30000,
};

#define FLEET  "f1ee700000000000000000000000000000000000"
#define OTHER  "f1ee700000000000000000000000000000000001"
#define SERVER "5e71e40000000000000000000000000000000000"

extern struct run {
    struct fence_bootstrap bootstrap;
    struct fence_bootstrap_effect effect;
    struct fence_facts facts[MASTERS]; /* the findings of a look */
    int64_t highest[MASTERS];
    uint32_t left_ms[MASTERS]; /* rest of its longest lease */
    uint64_t now_us;
    unsigned asked[FENCE_REJOIN_CLOSE + 1]; /* how often each step was */
} run;

/* The setup of a case: masters without a marker, each its own server. */
int run_blank_masters(void **state);

/* Master @i is a member that remembers all. */
void run_survive(unsigned i);

/* An older disk of member @i came back: servers told member @by a later position. */
void run_go_back(unsigned i, unsigned by);

/* Begins for the fleet OTHER. */
void run_begin_with(struct fence_bootstrap_params params);
void run_begin(bool goes_on, int64_t seen);

void run_tell(struct fence_bootstrap_event event);
void run_tell_outcome(enum fence_rejoin_outcome outcome);

/* Does what it asks, or lets the time go by that it waits for. */
void run_one(void);

/* Reports whether it asks master @i for @step. */
bool run_asks(enum fence_rejoin_step step, unsigned i);

/* Goes on until it asks master @i for @step; or to its end. */
bool run_to(enum fence_rejoin_step step, unsigned i);

/* Goes on to its end, which is @failure because of @master. */
void run_expect_end(enum fence_bootstrap_failure failure, unsigned master);

#endif
