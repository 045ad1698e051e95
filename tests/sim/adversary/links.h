/* The connections to the masters, as the driver's contract has them (fence/core.h):
 *
 *              +----------------- fails, or was reset ----------------+
 *              v                                                      |
 *           CLOSED -- handshake ended --> READY --- shake, restamp --> SHAKING
 *                                           ^----- handshake ended ------'
 *
 * Requests are sent to a master that is READY and not reset. They are answered in the order they
 * were sent, all before the next handshake ends, or each of them is lost. Between the effect that
 * resets a connection and its end, replies may still come: those that the driver has read. */
#ifndef TESTS_SIM_ADVERSARY_LINKS_H
#define TESTS_SIM_ADVERSARY_LINKS_H

#include "fence/core.h"

#include <stdbool.h>
#include <stdint.h>

struct play;

enum {
    LINK_OWED_MAX = 2 * FENCE_IN_FLIGHT_MAX, /* silence is looked for now and then */
};

enum link_state {
    LINK_CLOSED,
    LINK_READY,
    LINK_SHAKING,
};

/* The parts of a request until its reply. */
struct link_request {
    uint64_t tag;
    bool is_rejoin;
    enum fence_rejoin_step step;  /* of a rejoin */
    enum fence_rejoin_part part;  /* of a READ */
    enum fence_request_kind kind; /* the kind of any other request */
    unsigned group;               /* how many resources it names together; 0: one alone */
};

struct link {
    enum link_state state;
    bool reset;     /* the core gave it up, and it is not closed yet */
    uint32_t first; /* index of the first of those owed: a ring */
    uint32_t count;
    struct link_request owed[LINK_OWED_MAX];
};

/* All closed, nothing owed. */
void links_init(struct play *play);

/* The core wants @effect, which is no answer, done with master @i. */
void link_act(struct play *play, unsigned i, const struct fence_effect *effect);

/* The core takes those for connected that are: a master whose connection it abandoned without a
 * word would never be seen again. */
void links_check(struct play *play);

/* Master @i replies to the oldest request, if there is one. */
void link_answer(struct play *play, unsigned i);

/* A handshake with master @i ends, well or badly, if one is due. */
void link_shake(struct play *play, unsigned i);

/* A probe of master @i ends, if it is connected. */
void link_probe(struct play *play, unsigned i);

/* The connection to master @i breaks, or cannot be made. */
void link_fail(struct play *play, unsigned i);

/* Connections that were reset are closed. */
void links_close_reset(struct play *play);

#endif
