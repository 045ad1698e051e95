/* A master of storage/master.h, and the loop that drives it: what is the same for Redis and for the
 * file. Its owner makes the master; all the rest goes through the functions here, which wait until
 * what was asked for is there, or fail the test. A struct contract_master that is driven begins
 * with its struct driven. */
#ifndef TESTS_CONTRACT_DRIVEN_H
#define TESTS_CONTRACT_DRIVEN_H

#include "storage/master.h"
#include "tests/contract/master.h"

#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

enum {
    DRIVEN_NOTICES_MAX = 8,
    DRIVEN_PATIENCE_MS = 10000, /* for anything awaited; then the test fails */
};

struct driven {
    uv_loop_t loop;
    struct storage_master *master; /* from the owner; freed by driven_fini() */
    uint64_t generation;           /* each request has its own view */
    bool ready;

    unsigned shaken;
    struct fence_facts facts;
    unsigned replies; /* counts both kinds */
    struct fence_reply reply;
    struct fence_rejoin_reply rejoin;
    struct fence_view view;
    int64_t numbers[FENCE_GROUP_MAX];
    char holder[FENCE_LOCK_ID_MAX + 1];
    char owner[FENCE_OWNER_MAX + 1];
    char *page;

    struct contract_notice notices[DRIVEN_NOTICES_MAX];
    unsigned told;
    unsigned untold;
};

/* @driven is zeroed, and stays where it is. */
void driven_init(struct driven *driven);
void driven_fini(struct driven *driven);

/* The settings of the master. An owner that wants to hear itself puts its own function in
 * place of one, and calls that one from there. */
struct storage_master_events driven_events(struct driven *driven);

/* Runs the loop until *@counter is @target. False if that does not happen within @ms. */
bool driven_run(struct driven *driven, const unsigned *counter, unsigned target, unsigned ms);
void driven_await(struct driven *driven, const unsigned *counter, unsigned target);

/* After a refusal it shakes hands again. */
void driven_await_ready(struct driven *driven);

/* The oldest notice that came and was not told yet. False: none. */
bool driven_tell(struct driven *driven, struct contract_notice *ret_notice);

/* As struct contract_ops has them. */
struct fence_facts driven_facts(struct contract_master *master);
struct fence_reply driven_ask(struct contract_master *master, const struct fence_request *request,
                              const struct fence_view *view);
struct fence_rejoin_reply driven_rejoin(struct contract_master *master,
                                        const struct fence_rejoin_request *request);
struct fence_facts driven_restamp(struct contract_master *master, const struct fence_facts *facts);
void driven_pass(struct contract_master *master, unsigned ms);

#endif
