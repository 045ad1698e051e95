/* Promises about broken grants.
 *
 *   B1  an extension that is asked for after the break was answered does not succeed under the
 *       token that was broken;
 *   B2  nor does it get a new grant, where no clock and no master is out of order;
 *   B3  an acquire with the same lock id that is asked for afterwards gets a higher token;
 *   B4  who is told that a grant was broken is told by whom. Somebody asked to break it, or a
 *       later grant of the resource. */
#ifndef TESTS_SIM_PROMISES_BROKEN_H
#define TESTS_SIM_PROMISES_BROKEN_H

#include "tests/sim/world/message.h"

#include <stdbool.h>

struct sim_check;
struct sim_call;

/* For one resource, by lock id. */
struct sim_broken {
    int64_t begun[SIM_CALLS_MAX]; /* the highest token that somebody asked to break; 0: none, */
    int64_t ended[SIM_CALLS_MAX]; /* and was told that it is broken */
    int64_t highest;              /* of @begun */
};

/* Somebody is about to ask for a break. From now on the grant need not exclude others. */
void sim_broken_begins(struct sim_check *check, uint32_t resource, uint32_t lock, int64_t token,
                       uint64_t now_us);

/* Reports whether somebody did so with the grant of @lock with @token. */
bool sim_broken_is_begun(const struct sim_check *check, uint32_t resource, uint32_t lock,
                         int64_t token);

/* The break @call was answered: it is done. */
void sim_broken_ends(struct sim_check *check, const struct sim_call *call);

/* @call, an acquire or an extension, is about to be given to the core. */
void sim_broken_begun(const struct sim_check *check, struct sim_call *call);

/* The semaphore's call got the seat @resource: what was broken before the call counts for that. */
void sim_broken_seated(struct sim_call *call, uint32_t resource);

/* It was granted; an extension succeeded, or was told that @by broke the grant. */
void sim_broken_granted(struct sim_check *check, const struct sim_call *call);
void sim_broken_extended(struct sim_check *check, const struct sim_call *call);
void sim_broken_told(struct sim_check *check, const struct sim_call *call, const char *by);

#endif
