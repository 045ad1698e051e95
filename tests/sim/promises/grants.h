/* P1 and P2: what was granted, of each resource, and to which lock id.
 *
 *   P1  tokens of different lock ids are distinct, and rise from what was returned before: for
 *       seats of one name, from what was returned for any of them. A client
 *       that asks again with its own lock id gets no lower token than that id got before;
 *   P2  validities of different lock ids do not overlap, where clocks are sane. A lock id that its
 *       holder released counts no more, even if it is granted once again: its release takes that
 * too, sooner or later. So does a grant that its server undoes. A grant that somebody breaks
 * counts no more from when that is asked for; a later one of the same lock id does. */
#ifndef TESTS_SIM_PROMISES_GRANTS_H
#define TESTS_SIM_PROMISES_GRANTS_H

#include "tests/sim/world/message.h"

#include <stdbool.h>

struct sim_check;
struct sim_call;

struct sim_grants {
    int64_t highest; /* token returned */
    uint32_t count;
    struct sim_grant {
        int64_t token;
        uint32_t lock;
    } grants[SIM_CALLS_MAX];
    uint32_t holder;        /* lock of the latest grant, */
    int64_t held_token;     /* and its token */
    uint64_t held_until_us; /* true time: its validity, or its release */
};

/* @call, an acquire or an extension, is about to be given to the core: notes what it has to exceed.
 */
void sim_grants_begun(const struct sim_check *check, struct sim_call *call);

/* @call, for one of several seats, is about to be granted the seat @resource. */
void sim_grants_seated(struct sim_check *check, struct sim_call *call, uint32_t resource,
                       uint64_t now_us);

/* @call was granted with the tokens in its set, or extended: valid until @until_us, true time. */
void sim_grants_granted(struct sim_check *check, const struct sim_call *call, uint64_t now_us,
                        uint64_t until_us);
void sim_grants_extended(struct sim_check *check, const struct sim_call *call, uint64_t now_us,
                         uint64_t until_us);

/* @call, an extension, was told that the lock is lost. */
void sim_grants_lost(struct sim_check *check, const struct sim_call *call, uint64_t now_us);

/* The holder of @lock gives it up: it sends the release. And whether it did so ever. */
void sim_grants_given_up(struct sim_check *check, uint32_t resource, uint32_t lock,
                         uint64_t now_us);
bool sim_grants_is_given_up(const struct sim_check *check, uint32_t resource, uint32_t lock);

#endif
