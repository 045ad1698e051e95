/* Clients that left before their answer, and what is undone then. */
#ifndef FENCE_CALL_CLIENT_LEFT_H
#define FENCE_CALL_CLIENT_LEFT_H

#include "fence/state/state.h"

/* @client has gone: its call is over, and what it took is undone. Nothing happens if it has no
 * call any more. */
void core_left(struct fence_core *core, uint64_t client);

/* No caller was there to be told of this grant: its locks are undone, and who waits for one of
 * them is woken. */
void core_left_grant(struct fence_core *core, const struct fence_taken *declined);

#endif
