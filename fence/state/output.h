/* Helpers that the files of the core share: effects, requests, answers. */
#ifndef FENCE_STATE_OUTPUT_H
#define FENCE_STATE_OUTPUT_H

#include "fence/state/state.h"

/* Copies @from (NULL: nothing) to @to, which must have room. */
void core_copy_text(char *to, size_t size, const char *from);

/* Returns the next random number of this step. */
uint64_t core_random(struct fence_core *core);

/* Starts a round: replies to earlier ones no longer count. */
void core_next_round(struct fence_core *core, struct call *call);

/* Adds a new effect to this step and returns it. */
struct fence_effect *core_add_effect(struct fence_core *core, enum fence_effect_kind kind);

/* Returns how often a grant may be extended: the fleet's marker decides, or else the
 * configuration. */
uint32_t core_extensions_max(const struct fence_core *core);

/* Sends @request, which is complete, to each master of @set that is active. */
void core_send(struct fence_core *core, uint32_t set, const struct fence_request *request);

/* Sends @request to each master of @set that is active, with the strings of the call. The replies
 * belong to the round of the call. */
void core_ask(struct fence_core *core, const struct call *call, uint32_t set,
              const struct fence_request *request);

/* Adds an answer to @call, with the members that all answers have. The caller completes the answer
 * before the step ends. */
struct fence_answer *core_answer(struct fence_core *core, const struct call *call, int error);

#endif
