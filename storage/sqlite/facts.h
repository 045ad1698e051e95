/* The results of a handshake about a file. */
#ifndef STORAGE_SQLITE_FACTS_H
#define STORAGE_SQLITE_FACTS_H

#include "fence/fleet/fleet.h"
#include "storage/sqlite/state.h"

/* Fills in the facts of this master, within the turn of @state. */
void storage_facts_tell(const struct storage_state *state, struct fence_facts *ret_facts);

/* Renews the server id in the marker, if the marker is still as in @seen, and the file still has
 * the admitted lineage. */
void storage_facts_restamp(struct storage_state *state, const struct fence_facts *seen);

#endif
