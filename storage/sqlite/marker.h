/* What makes a file a member of a fleet, and the steps of a rejoin
 * (fence/protocol/rejoin_message.h): the rules of storage/redis/lua/view.lua, mark.lua, clear.lua,
 * install.lua, admit.lua and restamp.lua, on rows. */
#ifndef STORAGE_SQLITE_MARKER_H
#define STORAGE_SQLITE_MARKER_H

#include "fence/fleet/fleet.h"
#include "storage/sqlite/state.h"

/* What stands in the way of acting for a fleet under a view. */
enum storage_refusal {
    STORAGE_GOES,
    STORAGE_GONE,   /* no marker, or not that member's */
    STORAGE_FORGOT, /* the data descend from something else than what was admitted */
    STORAGE_STALE,  /* the marker's view says more than what was named */
};

/* Whether a sender may act under @view; if so, what it knows more is noted. */
enum storage_refusal storage_marker_check(struct storage_state *state, const char *fleet_id,
                                          const struct fence_view *view);

/* Does one step. A page that it reads is in *@ret_page: malloc'd, NULL for none. */
struct fence_rejoin_reply storage_marker_rejoin(struct storage_state *state,
                                                const struct fence_rejoin_request *request,
                                                char **ret_page);

/* Renews the server id and the lineage, if the marker is still the one of @seen. */
void storage_marker_restamp(struct storage_state *state, const struct fence_facts *seen);

/* What is to be known of this master. */
void storage_marker_facts(const struct storage_state *state, struct fence_facts *ret_facts);

#endif
