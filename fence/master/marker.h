/* The facts that make a master a member of a fleet, and the steps of a rejoin
 * (fence/protocol/rejoin_message.h): the rules of storage/redis/lua/view.lua, mark.lua, clear.lua,
 * install.lua, admit.lua and restamp.lua. Each step is done wholly or not. */
#ifndef FENCE_MASTER_MARKER_H
#define FENCE_MASTER_MARKER_H

#include "fence/fleet/fleet.h"
#include "fence/master/store.h"

/* Why a master must not act for a fleet under a view. */
enum fence_refusal {
    FENCE_REFUSAL_NONE,
    FENCE_REFUSAL_GONE,   /* no marker, or the marker of another member */
    FENCE_REFUSAL_FORGOT, /* the lineage of the data is not the lineage that was admitted */
    FENCE_REFUSAL_STALE,  /* the marker's view is newer than the view in the request */
};

/* Reports whether a sender may act for @fleet_id under @view. If so, the marker's view learns the
 * newer incarnations in @view. */
enum fence_refusal fence_master_check(struct fence_turn *turn, const char *fleet_id,
                                      const struct fence_view *view);

/* Reports whether the lineage of the data differs from the admitted one, or whether nothing is
 * stored durably. */
bool fence_master_has_strayed(const struct fence_turn *turn);

/* Does one step. The view of its reply belongs to the turn; the store read its page.
 * FENCE_REJOIN_LEASES and FENCE_REJOIN_CLOSE are refused. */
struct fence_rejoin_reply fence_master_rejoin(struct fence_turn *turn,
                                              const struct fence_rejoin_request *request);

/* Renews the server id and the lineage, if the marker is still as in @seen. Reports whether it did.
 * Precondition: the caller knows that the master kept all its data. */
bool fence_master_restamp(struct fence_turn *turn, const struct fence_facts *seen);

/* Copies @marker into @facts; the other members of @facts stay. */
void fence_stored_marker_facts(const struct fence_stored_marker *marker, struct fence_facts *facts);

#endif
