/* Whether a fleet still knows what it granted. */
#ifndef FENCE_FLEET_MEMORY_H
#define FENCE_FLEET_MEMORY_H

#include "fence/fleet/fleet.h"

/* True if so many masters are seen to have forgotten (wiped, restarted without their log, or being
 * taken back) that those left are no majority, even if all of them came back. Then no token can be
 * made that is sure to be new, and nothing mends it but an operator who knows the guards, with
 * pawld init --token-floor. Masters that are merely down may remember. Pure. */
bool fence_fleet_lost_memory(const struct fence_fleet *fleet);

#endif
