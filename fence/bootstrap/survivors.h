/* The decision of a bootstrap about the masters that it looked at. Only fence/bootstrap includes
 * this. */
#ifndef FENCE_BOOTSTRAP_SURVIVORS_H
#define FENCE_BOOTSTRAP_SURVIVORS_H

#include "fence/bootstrap/run.h"
#include "fence/protocol/error.h"

/* Decides whether the run may go on, and what the markers are to say. False: it may not, and the
 * outcome says why. Precondition: all masters were looked at. */
FENCE_CHECKED bool fence_bootstrap_judge(struct fence_bootstrap *bootstrap);

/* Reports whether each server itself may vote. The words of its marker are judged later. */
FENCE_CHECKED bool fence_bootstrap_judge_servers(struct fence_bootstrap *bootstrap);

/* Gathers which fleets were moved away: the masters that were looked at tell. The last run of a
 * move adds the fleet that it follows, which is closed then. Before, that fleet may go on: its
 * masters must not be told so. */
void fence_bootstrap_note_predecessors(struct fence_bootstrap *bootstrap);

/* Decides the incarnations that the members get. False: one leaves no room for higher ones. */
FENCE_CHECKED bool fence_bootstrap_set_view(struct fence_bootstrap *bootstrap);

/* Takes over what the marker of master @i names, and what it knows. False: it does not fit those
 * before it. Precondition: it has one. */
FENCE_CHECKED bool fence_bootstrap_take_survivor(struct fence_bootstrap *bootstrap, unsigned i);

/* The set of masters that remember all they voted for: a server would take these as they are, or
 * once they named their new run. */
uint32_t fence_bootstrap_who_remembers(const struct fence_bootstrap *bootstrap);

/* True if master @i never was a member: it has no marker, or one of a bootstrap that broke off. */
bool fence_bootstrap_is_blank(const struct fence_bootstrap *bootstrap, unsigned i);

/* Puts the floor above the operator's number and above @highest. False: none fits. In a move that
 * knows all tokens the floor may be that number itself, where no margin fits. */
FENCE_CHECKED bool fence_bootstrap_set_floor(struct fence_bootstrap *bootstrap, int64_t highest);

/* Puts down why the run fails, unless a reason stands there already. Returns false. */
bool fence_bootstrap_fail(struct fence_bootstrap *bootstrap, enum fence_bootstrap_failure failure,
                          unsigned master);

#endif
