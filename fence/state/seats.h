/* What the core knows about the seats of a name, while calls of this server want a seat. All calls
 * for one name stand in one wait queue, and the queue has one such struct. It saves a question to
 * the masters for each held seat: only the masters grant. */
#ifndef FENCE_STATE_SEATS_H
#define FENCE_STATE_SEATS_H

#include "fence/base/pool.h"
#include "fence/protocol/error.h"
#include "fence/protocol/group.h"
#include "fence/round/quorum_call.h"
#include "fence/state/holder_hint.h"

#include <stdbool.h>
#include <stdint.h>

struct core_seats_known {
    unsigned next;                  /* the seat where the next call begins to look */
    uint32_t turn[FENCE_SEATS_MAX]; /* for each seat, the first call of the queue that knows the
                                     * seat: only that call asks for it; FENCE_NOBODY: no call
                                     * knows the seat */
    uint64_t heard; /* bits of the seats whose holder a waiting call has met: masters publish the
                     * release of that holder */
    struct core_holder_hint seen[FENCE_SEATS_MAX];
    uint64_t trying;                 /* bits of the seats that readers of this server ask for now */
    uint64_t asker[FENCE_SEATS_MAX]; /* for each seat, fence_lock_id_hash() of the last call that
                                      * asked for it under the client's own lock id: a retry of
                                      * that call asks there, too */
    struct core_holder_hint gate;    /* for readers: the hint about the gate */
    bool gate_heard;                 /* for readers: masters publish the release of the gate */
};

/* An inspection of seats that is under way, and its answer. */
struct core_seats_shown {
    struct fence_quorum_call votes[FENCE_SEATS_MAX];
    struct fence_seats_shown told;
};

struct core_seats {
    struct core_seats_known *known;
    struct fence_pool pool; /* of @places */
    struct core_seats_shown *shown;
    struct fence_pool shown_pool;        /* of @shown */
    unsigned turn;                       /* the seat where the next queue begins, in rotation */
    char undone[FENCE_RESOURCE_MAX + 1]; /* the seat whose attempt ended in this step */
    char gate[FENCE_RESOURCE_MAX + 1];   /* a gate, for a request of this step */
    struct fence_group gated;            /* a seat with its gate, for a request of this step */
    char names[FENCE_SEATS_MAX][FENCE_RESOURCE_MAX + 1]; /* for the requests of this step */
};

/* Makes room for @capacity names. FENCE_ENOMEM. */
FENCE_CHECKED int core_seats_init(struct core_seats *seats, uint32_t capacity);
void core_seats_fini(struct core_seats *seats);

bool core_seats_full(const struct core_seats *seats);

/* Opens an entry in which nothing is known, and returns its index. Precondition: there is room. */
uint32_t core_seats_open(struct core_seats *seats);
void core_seats_close(struct core_seats *seats, uint32_t index);

/* Makes room for an inspection of seats, until core_seats_end_show(). After that its content stays
 * for the rest of the step. Returns false if FENCE_SEATS_SHOWN_MAX are under way. */
FENCE_CHECKED bool core_seats_begin_show(struct core_seats *seats, uint32_t *ret_index);
void core_seats_end_show(struct core_seats *seats, uint32_t index);

#endif
