/* Shows who holds the seats of a name: an inspection of each, in one round. */
#ifndef FENCE_CALL_INSPECT_SEATS_H
#define FENCE_CALL_INSPECT_SEATS_H

#include "fence/call/rounds.h"

/* @call, an inspection of seats, is admitted. */
void core_show_admitted(struct fence_core *core, struct call *call);

extern const struct core_round_kind core_show_round;

#endif
