/* The moves of a call: see enum call_state for the picture. */
#ifndef FENCE_CALL_CALL_MOVE_H
#define FENCE_CALL_CALL_MOVE_H

#include "fence/state/state.h"

/* The only way in which the state of a call changes. */
void core_call_move(struct call *call, enum call_state to);

#endif
