/* True if a fleet still knows what it granted. */
#ifndef FENCE_FLEET_MAJORITY_LOST_DATA_H
#define FENCE_FLEET_MAJORITY_LOST_DATA_H

#include "fence/fleet/fleet.h"

/* True if the masters that have not forgotten are no majority, even if all of them came back. A
 * master has forgotten if it was wiped, restarted without its log or with an older one, has a
 * marker that cannot be read, or is rejoining. Then no token is sure to be new. Only an operator
 * who knows the guards can mend that, with pawld init
 * --token-floor. Masters that are merely down may remember. Pure. */
bool fence_fleet_lost_memory(const struct fence_fleet *fleet);

#endif
