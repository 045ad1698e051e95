/* What a round of extend, release or inspect is answered with. */
#ifndef FENCE_CORE_QUORUM_ANSWERS_H
#define FENCE_CORE_QUORUM_ANSWERS_H

#include "fence/core/state.h"

/* Answers @call, whose round came to @verdict (not OPEN). The caller ends the call. */
void core_quorum_answer(struct fence_core *core, const struct call *call,
                        enum fence_verdict verdict);

#endif
