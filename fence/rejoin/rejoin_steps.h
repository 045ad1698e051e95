/* The steps of a rejoin: the requests that each step sends. rejoin_state.h has their order. */
#ifndef FENCE_REJOIN_REJOIN_STEPS_H
#define FENCE_REJOIN_REJOIN_STEPS_H

#include "fence/rejoin/rejoin_state.h"
#include "fence/state/state.h"

#include <assert.h>

/* The tag of a rejoin's requests. The member is in the lowest bits, and the round in the highest.
 * In between, a page that is merged has its source and its part, and a page that is read has its
 * number. */
enum {
    REJOIN_INDEX_BITS = 5,
    REJOIN_NUMBER_BITS = 16,
    REJOIN_SOURCE_SHIFT = REJOIN_INDEX_BITS,
    REJOIN_PART_SHIFT = 2 * REJOIN_INDEX_BITS,
    REJOIN_NUMBER_SHIFT = 3 * REJOIN_INDEX_BITS,
    REJOIN_SERIAL_SHIFT = 3 * REJOIN_INDEX_BITS + REJOIN_NUMBER_BITS,
    REJOIN_INDEX_MASK = (1 << REJOIN_INDEX_BITS) - 1,
    REJOIN_NUMBER_MASK = (1 << REJOIN_NUMBER_BITS) - 1,
};
static_assert((int)FENCE_MASTERS_MAX <= (int)REJOIN_INDEX_MASK, "a member must fit its bits");

static inline struct fence_master *core_master(struct fence_core *core, unsigned member)
{
    return &core->fleet.master[member];
}

static inline uint64_t core_rejoin_timeout_us(const struct fence_core *core)
{
    return core->now_us + FENCE_REJOIN_TIMEOUT_US;
}

/* Adds a request of the current round and returns it; the caller completes it. */
struct fence_rejoin_request *core_rejoin_send(struct fence_core *core, unsigned member,
                                              enum fence_rejoin_step step, uint32_t masters);

/* Return the active masters other than @member, and whether @set is a majority without it. */
uint32_t core_rejoin_others(const struct fence_core *core, unsigned member);
bool core_rejoin_is_enough(const struct fence_core *core, uint32_t set);

/* ASKING: asks whether a majority of the other masters would record, under the current view. */
void core_rejoin_ask(struct fence_core *core, unsigned member);

/* MARKING: the marker of @member gets an incarnation that no earlier try had. */
void core_rejoin_mark(struct fence_core *core, unsigned member);

/* MARKING, and the member refused: its marker was no longer as it was seen. So no server heard of
 * the incarnation, and the incarnation does not count. The member may belong to the try of another
 * server by now, and may restart later with all its data. If this incarnation counted, the member
 * would seem to lack a memory. */
void core_rejoin_unmark(struct fence_core *core, unsigned member);

/* CLEARING: removes the locks of @member in parts, from @cursor on. */
void core_rejoin_clear(struct fence_core *core, unsigned member, uint64_t cursor);

/* RECORDING: a majority of others records the next incarnation of @member. */
void core_rejoin_record(struct fence_core *core, unsigned member);

/* ADMITTING: the last step. */
void core_rejoin_admit(struct fence_core *core, unsigned member);

/* Closes the connection to @member. The next handshake restarts. */
void core_rejoin_break_off(struct fence_core *core, unsigned member, enum fence_reason reason);

/* Another leader is further ahead with @member. The next try comes after a longer delay, so that
 * two leaders do not defeat each other for ever. */
void core_rejoin_yield(struct fence_core *core, unsigned member);

#endif
