/* The import: pages of counters and locks of a majority are merged into the member that rejoins.
 * If locks cannot be read, the longest lease is waited out. */
#ifndef FENCE_REJOIN_IMPORT_H
#define FENCE_REJOIN_IMPORT_H

#include "fence/rejoin/rejoin_state.h"
#include "fence/state/state.h"

/* Reads from the masters that have recorded. */
void core_import_begin(struct fence_core *core, unsigned member);

/* Master @i answered with a page, or with an error. */
void core_import_page_came(struct fence_core *core, unsigned member, unsigned i,
                           const struct fence_rejoin_reply *reply);
void core_import_page_failed(struct fence_core *core, unsigned member, unsigned i,
                             const struct fence_rejoin_reply *reply);

/* The member has merged the page that @tag names. */
void core_import_page_merged(struct fence_core *core, unsigned member, uint64_t tag);

/* Reads on, or goes to the next step: after each event, and where sources are back. */
void core_import_go_on(struct fence_core *core, unsigned member);

/* The import, or the wait, is due. */
void core_import_tick(struct fence_core *core, unsigned member);
void core_import_quarantine_tick(struct fence_core *core, unsigned member);

#endif
