/* The requests of a client, and how the answer comes to it, or does not. */
#ifndef TESTS_SIM_WORLD_ASKING_H
#define TESTS_SIM_WORLD_ASKING_H

#include "fence/core.h"
#include "tests/sim/world/client.h"

/* @c goes on in @state after so long, unless an answer comes before. */
void sim_asking_pause(struct sim_world *world, unsigned c, enum sim_client_state state,
                      uint64_t after_us);

/* Sends a call of @kind for what @c works at to any server, and waits for the answer in @state.
 * Done if the world has had enough. */
void sim_asking_send(struct sim_world *world, unsigned c, enum fence_call_kind kind,
                     enum sim_client_state state);

/* Asks for this round's locks: with a lock id that it has already, again. */
void sim_asking_acquire(struct sim_world *world, unsigned c);

/* Watches the first of its resources, of which it knows the token @known. */
void sim_asking_watch(struct sim_world *world, unsigned c, int64_t known);

/* Abandons the one that it works at. */
void sim_asking_release(struct sim_world *world, unsigned c);

/* Breaks the grant of @lock with @token of @resource. */
void sim_asking_break(struct sim_world *world, unsigned c, uint32_t resource, uint32_t lock,
                      int64_t token);

/* Waits no longer. Its servers notice that sooner or later, or not. */
void sim_asking_leave(struct sim_world *world, unsigned c);

/* Reports whether the answer to @call, which leaves now, reaches its client. */
bool sim_asking_hears(struct sim_world *world, const struct sim_call *call);

/* @call has its answer, or will have none: that is on its way to the client now, or that there was
 * one. */
void sim_asking_answer_leaves(struct sim_world *world, const struct sim_call *call);

#endif
