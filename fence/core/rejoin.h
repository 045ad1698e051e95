/* Taking masters back, shared by rejoin.c and import.c, and nobody else. */
#ifndef FENCE_CORE_REJOIN_H
#define FENCE_CORE_REJOIN_H

#include "fence/core/state.h"

/* The tag of a rejoin's requests. The member is in the lowest bits, and the round in the highest.
 * In between, a page that is merged has its source and its part. One that is read has its number.
 */
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

static inline uint32_t fence_core_bit(unsigned i)
{
    return UINT32_C(1) << i;
}

static inline struct fence_master *fence_core_master(struct fence_core *core, unsigned member)
{
    return &core->fleet.master[member];
}

static inline uint64_t fence_core_patience_end_us(const struct fence_core *core)
{
    return core->now_us + FENCE_REJOIN_PATIENCE_US;
}

/* ---- rejoin.c: the steps before and after ---------------------------------------------------- */

/* A request of the round under way, to be completed. */
struct fence_rejoin_request *fence_core_rejoin_send(struct fence_core *core, unsigned member,
                                                    enum fence_rejoin_step step, uint32_t masters);

/* Whether @set is a majority without the member that is taken back. */
bool fence_core_rejoin_is_enough(const struct fence_core *core, uint32_t set);

/* Has a majority of others record the next incarnation of @member. The import begins after that. */
void fence_core_rejoin_record(struct fence_core *core, unsigned member);

/* The last step. */
void fence_core_rejoin_admit(struct fence_core *core, unsigned member);

/* Closes the connection to @member. The next handshake begins anew. */
void fence_core_rejoin_break_off(struct fence_core *core, unsigned member,
                                 enum fence_reason reason);

/* ---- import.c: the pages, or the wait instead ------------------------------------------------ */

/* Reads from the masters that have recorded. */
void fence_core_import_begin(struct fence_core *core, unsigned member);

/* Master @i answered with a page, or with an error. */
void fence_core_import_page_came(struct fence_core *core, unsigned member, unsigned i,
                                 const struct fence_rejoin_reply *reply);
void fence_core_import_page_failed(struct fence_core *core, unsigned member, unsigned i,
                                   const struct fence_rejoin_reply *reply);

/* The member has merged the page that @tag names. */
void fence_core_import_page_merged(struct fence_core *core, unsigned member, uint64_t tag);

/* The import, or the wait, is due. */
void fence_core_import_tick(struct fence_core *core, unsigned member);
void fence_core_import_hold_tick(struct fence_core *core, unsigned member);

#endif
