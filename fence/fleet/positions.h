/* The positions of masters (fence/protocol/position.h): what each has shown, and what it was told
 * of the others. A master that comes back behind its position has lost writes. */
#ifndef FENCE_FLEET_POSITIONS_H
#define FENCE_FLEET_POSITIONS_H

#include "fence/fleet/fleet.h"

/* A handshake found master @i's facts: what it shows and was told is noted. Call it after the
 * fleet's id is known. */
void fence_fleet_note_positions(struct fence_fleet *fleet, unsigned i);

/* Whether its process or its data are not those that were admitted. */
bool fence_facts_changed(const struct fence_facts *facts);

/* Whether every server has had the time to tell the position that master @i had before it
 * restarted. */
bool fence_fleet_is_told(const struct fence_fleet *fleet, unsigned i, uint64_t now_us);

#endif
