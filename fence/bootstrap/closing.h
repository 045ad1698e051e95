/* Closes a fleet permanently, because another fleet follows it. Only fence/bootstrap includes this.
 *
 * A move is four runs of a bootstrap: over the masters of the old fleet F, and over the masters of
 * the new fleet G. A master may belong to both.
 *
 *   1. F and G are looked at. Nothing is written before both were judged.
 *   2. The masters of G are claimed, but for those of F.
 *   3. F is closed: all its masters are claimed, then surveyed, then closed. Each tells from then
 * on that it was of F, and T, the highest token that any of them knew.
 *   4. G continues above T: all its masters are claimed, the leases of F end, and the masters
 *      vote.
 *
 * Why no token of G is below one of F: a master is closed once all of F were claimed, and each of
 * them was surveyed since. A claimed master grants nothing. So F grants nothing any more,
 * whichever masters lose data. A token of F was counted by a majority. Another majority remembers
 * all it voted for, or the run is refused. So one that counted the token was surveyed, and T is no
 * lower.
 *
 * Why a move can be broken off anywhere: before a master is closed, F is as it was, or all but a
 * minority of it is claimed. The next run claims it again. Later, one closed master is enough to go
 * on: it tells T, until it votes in G.
 *
 * Why F stays closed, though disks of before return on a majority of its masters: the masters of G
 * have F among their predecessors (fence/protocol/predecessors.h), and tell a master that rejoins.
 * One of them, or a closed one, in the list of a server is enough. No master is told before F is
 * closed: until then F may go on. Where all masters of F have such disks, nothing is known of G.
 *
 * Why F has one follower: it is closed for one fleet, whose id the closed masters tell. A majority
 * of that fleet was claimed under this id in step 2, or closed in step 3. A run over masters that
 * do not know it is refused (FENCE_BOOTSTRAP_FORGOTTEN). They are others, or have voted in G and
 * forgotten it. */
#ifndef FENCE_BOOTSTRAP_CLOSING_H
#define FENCE_BOOTSTRAP_CLOSING_H

#include "fence/bootstrap/run.h"
#include "fence/protocol/error.h"

/* Decides which masters are claimed and closed, and whether enough of them remember. False: the run
 * ends, and the outcome says why. Precondition: all masters were looked at. */
FENCE_CHECKED bool fence_bootstrap_judge_closing(struct fence_bootstrap *bootstrap);

/* Reports whether the leases that the masters tell are all that there are. Each holder's lock is at
 * a majority of them, and none of them has forgotten any. */
bool fence_bootstrap_knows_all_leases(const struct fence_bootstrap *bootstrap);

/* A master has a lock whose lease ends @left_ms after @now_us, and none that ends later. */
void fence_bootstrap_note_lease(struct fence_bootstrap *bootstrap, uint32_t left_ms,
                                uint64_t now_us);

/* The knowledge of the closed masters: no token of the fleet is above it. False: no floor fits
 * above that. */
FENCE_CHECKED bool fence_bootstrap_set_closing_floor(struct fence_bootstrap *bootstrap);

#endif
