/* The import: pages of counters and locks of a majority are merged into the member that rejoins. If
 * locks cannot be read, the member waits for the longest lease. */
#ifndef FENCE_REJOIN_IMPORT_H
#define FENCE_REJOIN_IMPORT_H

#include "fence/rejoin/rejoin_state.h"
#include "fence/state/state.h"

/* Starts to read from the masters that have recorded. */
void core_import_begin(struct fence_core *core, unsigned member);

/* Handles a page, or an error, from master @i. */
void core_import_page_came(struct fence_core *core, unsigned member, unsigned i,
                           const struct fence_rejoin_reply *reply);
void core_import_page_failed(struct fence_core *core, unsigned member, unsigned i,
                             const struct fence_rejoin_reply *reply);

/* The member has merged the page with @tag. */
void core_import_page_merged(struct fence_core *core, unsigned member, uint64_t tag);

/* Reads on, or goes to the next step. Call it after each event, and when sources are back. */
void core_import_go_on(struct fence_core *core, unsigned member);

/* Handles a timer of the import, or of the quarantine, that is due. */
void core_import_tick(struct fence_core *core, unsigned member);
void core_import_quarantine_tick(struct fence_core *core, unsigned member);

#endif
