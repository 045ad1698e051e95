/* Admission: calls wait here while the masters owe too much. */
#ifndef FENCE_CALL_ADMIT_H
#define FENCE_CALL_ADMIT_H

#include "fence/state/state.h"

/* Reports whether a majority owes so few answers that another call of @class may begin. */
bool core_has_room(const struct fence_core *core, enum core_class class);

/* Reports whether @call may ask the masters now. If not, it is ADMITTING: core_admit_next() names
 * it later, or its timer comes. */
bool core_admit(struct fence_core *core, struct call *call);

/* The ADMITTING @call leaves its queue. */
void core_admit_leave(struct fence_core *core, struct call *call);

/* Reports whether a waiting call may begin; and that call, taken out of its queue. */
bool core_admit_due(const struct fence_core *core);
struct call *core_admit_next(struct fence_core *core);

#endif
