/* Effects of the core on masters: each effect is an operation of the masters that it names. */
#ifndef SERVER_LOOP_EFFECTS_H
#define SERVER_LOOP_EFFECTS_H

#include "fence/core.h"
#include "storage/master.h"

/* Carries out @effect, which is not an answer, on @masters, the masters of @fleet. */
void server_effects_act(struct storage_master *const masters[], const struct fence_fleet *fleet,
                        const struct fence_effect *effect);

#endif
