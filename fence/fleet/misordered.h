/* Tells whether the list of masters is in another order than the fleet's. Then a blank master is
 * taken for a member that it never was, and that may stand somewhere else in the list. */
#ifndef FENCE_FLEET_MISORDERED_H
#define FENCE_FLEET_MISORDERED_H

#include "fence/fleet/fleet.h"

/* Room for the addresses of a fleet, as the list has them, with commas between. */
enum {
    FENCE_ORDER_TEXT_MAX = 2048,
};

/* Reports whether master @i says itself that it is the member of its place. Pure. */
bool fence_fleet_is_placed(const struct fence_fleet *fleet, unsigned i);

/* True if some master of the fleet is known to be another member than its place says. One that
 * claims a place whose own master stands there is a copy of that, and tells of no order. Pure. */
bool fence_fleet_misordered(const struct fence_fleet *fleet);

/* Writes @addresses, which are in the order of the list, in the fleet's order. A place that no
 * master claims gets the next master without a claim. One such place is certain. The order
 * of several is a guess. Terminated; what does not fit is left out. */
void fence_fleet_order_text(const struct fence_fleet *fleet, const char *const addresses[],
                            char ret_text[static FENCE_ORDER_TEXT_MAX]);

#endif
