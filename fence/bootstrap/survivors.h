/* What a bootstrap makes of the masters that it looked at. Only fence/bootstrap includes this. */
#ifndef FENCE_BOOTSTRAP_SURVIVORS_H
#define FENCE_BOOTSTRAP_SURVIVORS_H

#include "fence/bootstrap/run.h"
#include "fence/protocol/error.h"

/* Decides whether the run may go on, and what the markers are to say. False: it may not, and the
 * outcome says why. Precondition: all masters were looked at. */
FENCE_CHECKED bool fence_bootstrap_judge(struct fence_bootstrap *bootstrap);

/* Puts the floor above the operator's number and above @highest. False: none fits. */
FENCE_CHECKED bool fence_bootstrap_set_floor(struct fence_bootstrap *bootstrap, int64_t highest);

/* Puts down why the run fails, unless a reason stands there already. Returns false. */
bool fence_bootstrap_fail(struct fence_bootstrap *bootstrap, enum fence_bootstrap_failure failure,
                          unsigned master);

#endif
