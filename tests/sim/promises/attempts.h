/* The attempts of the acquires that are under way: which call each request is sent for, and that
 * each attempt comes to its end, in a grant or in a clean-up. A copy without either stays locked
 * until its lease ends. */
#ifndef TESTS_SIM_PROMISES_ATTEMPTS_H
#define TESTS_SIM_PROMISES_ATTEMPTS_H

#include "fence/protocol/message.h"

#include <stdbool.h>

struct sim_world;
struct sim_call;

/* Reports whether @request, a TAKE or CONFIRM, is of an acquire. An extension that acquires again
 * has no label here. */
bool sim_attempts_is_of_acquire(const struct fence_request *request);

/* The acquire that @request, a TAKE or a CONFIRM, is sent for. */
struct sim_call *sim_attempts_call(struct sim_world *world, const struct fence_request *request);

/* Server @s sends @request to the set @masters. */
void sim_attempts_sent(struct sim_world *world, unsigned s, const struct fence_request *request,
                       uint32_t masters);

/* @call, an acquire, has its answer. */
void sim_attempts_answered(struct sim_world *world, struct sim_call *call);

#endif
