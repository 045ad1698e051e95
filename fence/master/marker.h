/* The facts that make a master a member of a fleet, and the steps of a rejoin
 * (fence/protocol/rejoin_message.h): the rules of storage/redis/lua/view.lua, mark.lua, clear.lua,
 * install.lua, admit.lua and restamp.lua. Each is wholly done or not. */
#ifndef FENCE_MASTER_MARKER_H
#define FENCE_MASTER_MARKER_H

#include "fence/fleet/fleet.h"
#include "fence/master/store.h"

/* The obstacles to acting for a fleet under a view. */
enum fence_refusal {
    FENCE_REFUSAL_NONE,
    FENCE_REFUSAL_GONE,   /* no marker, or not that member's */
    FENCE_REFUSAL_FORGOT, /* the data descend from something else than what was admitted */
    FENCE_REFUSAL_STALE,  /* the marker's view says more than what was named */
};

/* Reports whether a sender may act for @fleet_id under @view. If so, the marker's view learns what
 * @view knows better. */
enum fence_refusal fence_master_check(struct fence_turn *turn, const char *fleet_id,
                                      const struct fence_view *view);

/* Reports whether the data differ from the admitted ones, or are kept nowhere. */
bool fence_master_has_strayed(const struct fence_turn *turn);

/* Does one step. The view of its reply is the turn's; its page is what the store read.
 * FENCE_REJOIN_LEASES and FENCE_REJOIN_CLOSE are refused. */
struct fence_rejoin_reply fence_master_rejoin(struct fence_turn *turn,
                                              const struct fence_rejoin_request *request);

/* Renews the server id and the lineage, if the marker is still the one of @seen. Precondition: the
 * caller finds that the master kept all it knew. Reports whether it did. */
bool fence_master_restamp(struct fence_turn *turn, const struct fence_facts *seen);

/* Writes what @marker says into @facts; leaves the rest of @facts alone. */
void fence_stored_marker_facts(const struct fence_stored_marker *marker, struct fence_facts *facts);

#endif
