/* The parts that the files of the core share: effects, requests, answers. */
#ifndef FENCE_STATE_OUTPUT_H
#define FENCE_STATE_OUTPUT_H

#include "fence/state/state.h"

/* Copies @from (NULL: nothing) to @to, which must have room. */
void core_copy_text(char *to, size_t size, const char *from);

/* The next random number of this step. */
uint64_t core_random(struct fence_core *core);

/* Starts a round: replies to earlier ones no longer count. */
void core_next_round(struct fence_core *core, struct call *call);

/* A fresh effect of this step. */
struct fence_effect *core_add_effect(struct fence_core *core, enum fence_effect_kind kind);

/* How often a grant may be extended: as the fleet's marker says, or else as configured. */
uint32_t core_extensions_max(const struct fence_core *core);

/* Sends @request, which is complete, to each master of @set that is active. */
void core_send(struct fence_core *core, uint32_t set, const struct fence_request *request);

/* Sends @request, completed with the call's strings, to each master of @set that is active. The
 * replies belong to the call's round. */
void core_ask(struct fence_core *core, const struct call *call, uint32_t set,
              const struct fence_request *request);

/* An answer to @call with what all answers carry. The caller completes it before the step ends. */
struct fence_answer *core_answer(struct fence_core *core, const struct call *call, int error);

#endif
