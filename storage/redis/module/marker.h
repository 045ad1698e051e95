/* The marker of this master, and whether a sender may act under it: refusal() of
 * storage/redis/lua/view.lua, word for word. fence/master/marker.h judges. */
#ifndef STORAGE_REDIS_MODULE_MARKER_H
#define STORAGE_REDIS_MODULE_MARKER_H

#include "fence/master/store.h"
#include "storage/redis/module/api.h"
#include "storage/redis/module/lineage.h"

#include <stdbool.h>

/* The terms of a call: the view, the fleet and the member that its sender names. */
struct storage_module_terms {
    struct storage_module_bytes view;
    struct storage_module_bytes fleet_id;
    struct storage_module_bytes member;
};

/* Makes the names of the fields. They stay as long as the module. */
void storage_module_marker_init(struct redis_ctx *ctx);
void storage_module_marker_fini(void);

/* Reads the marker in @fleet, an open key that is a hash or empty, into @turn: its marker, members,
 * me and lineage. Reports whether the sender may act for the fleet. If not, @ret_why is the error
 * to answer. If the sender's view is newer than the marker's, sets marker_changed.
 * *@ret_leases_told: the marker says that this master keeps leases on its monotonic clock. */
bool storage_module_marker_allows(struct redis_ctx *ctx, struct redis_key *fleet,
                                  const struct storage_module_terms *terms, struct fence_turn *turn,
                                  bool *ret_leases_told,
                                  char ret_why[static STORAGE_MODULE_WHY_MAX]);

#endif
