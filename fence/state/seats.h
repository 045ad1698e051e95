/* The knowledge about the seats of a name, while calls of this server want one. All calls for one
 * name stand in one wait queue, which has one of these. It spares the masters a question for each
 * seat that is held: only the masters grant. */
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
    unsigned next;                  /* the seat that the next call begins to look at */
    uint32_t turn[FENCE_SEATS_MAX]; /* the first call of the queue that knows each seat, which alone
                                     * asks for it; FENCE_NOBODY: no call knows the seat */
    uint64_t heard; /* bits of the seats whose holder was met by a call that waits: masters publish
                     * the release of that holder */
    struct core_holder_hint seen[FENCE_SEATS_MAX];
    uint64_t trying;                 /* bits of the seats that readers of this server ask for now */
    uint64_t asker[FENCE_SEATS_MAX]; /* fence_lock_id_hash() of the last call under its own lock id
                                      * that asked for each seat: its repetition asks there, too */
    struct core_holder_hint gate;    /* the same of the gate, for readers; */
    bool gate_heard;                 /* and whether masters publish its release */
};

/* An inspection of seats that is under way, and its answer. */
struct core_seats_shown {
    struct fence_quorum_call votes[FENCE_SEATS_MAX];
    struct fence_seats_shown told;
};

struct core_seats {
    struct core_seats_known *known;
    struct fence_pool pool; /* of these */
    struct core_seats_shown *shown;
    struct fence_pool shown_pool;        /* of these */
    unsigned turn;                       /* the seat that the next queue begins at: in rotation */
    char undone[FENCE_RESOURCE_MAX + 1]; /* the seat whose attempt ended in this step */
    char gate[FENCE_RESOURCE_MAX + 1];   /* for a request of this step, */
    struct fence_group gated;            /* and a seat with its gate */
    char names[FENCE_SEATS_MAX][FENCE_RESOURCE_MAX + 1]; /* for the requests of this step */
};

/* Room for @capacity names. FENCE_ENOMEM. */
FENCE_CHECKED int core_seats_init(struct core_seats *seats, uint32_t capacity);
void core_seats_fini(struct core_seats *seats);

bool core_seats_full(const struct core_seats *seats);

/* A fresh one, where nothing is known; there is room. Returns its index. */
uint32_t core_seats_open(struct core_seats *seats);
void core_seats_close(struct core_seats *seats, uint32_t index);

/* Room for an inspection of seats, until core_seats_end_show(). Its content stays for the rest of
 * the step then. False: FENCE_SEATS_SHOWN_MAX are under way. */
FENCE_CHECKED bool core_seats_begin_show(struct core_seats *seats, uint32_t *ret_index);
void core_seats_end_show(struct core_seats *seats, uint32_t index);

#endif
