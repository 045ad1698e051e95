/* Acquires of one of several seats (fence/protocol/seat.h). Such a call is an acquire of one lock,
 * whose name changes from one attempt to the next: a seat that another lock id holds is left for
 * the next seat. All calls for one name stand in one queue, whose name ends with the '#' alone.
 *
 * The first of the queue asks for one seat after the other, those first that nobody is known to
 * hold. Where all are held it pauses until the first lease ends, or it is told of a release. */
#ifndef FENCE_CALL_SEATING_H
#define FENCE_CALL_SEATING_H

#include "fence/state/state.h"

/* Whether @call wants one of several seats. Functions that say nothing else need such a call,
 * which stands in its queue. */
static inline bool core_wants_seat(const struct call *call)
{
    return call->seats > 0;
}

/* The seats that @call knows of, a bit for each. */
static inline uint64_t core_seats_of(const struct call *call)
{
    return UINT64_MAX >> (FENCE_SEATS_MAX - call->seats);
}

/* What is known of the seat that @call asks for; and of that whose lease ends first. */
struct core_holder_hint *core_seat_hint(const struct fence_core *core, const struct call *call);
struct core_holder_hint *core_seat_first_to_end(const struct fence_core *core,
                                                const struct call *call);

/* Whether other lock ids are known to hold all of them; and whether @call's own lock id is known to
 * hold one. */
bool core_seats_all_held(const struct fence_core *core, const struct call *call);
bool core_seat_held_by_itself(const struct fence_core *core, const struct call *call);

/* @call asks for the seat that is next for it: its own; one that may be free; or one that is to be
 * looked at. False: it asked for each of these since its last pause. */
bool core_seat_choose(struct fence_core *core, struct call *call);

/* A pause of @call is over. Where all seats are held, it looks at those whose release it would not
 * be told of; or else at all, as a message may be lost. */
void core_seats_look(struct fence_core *core, struct call *call);

/* Whether @call has to ask for a seat before it is told of the release of each. */
bool core_seats_unheard(const struct fence_core *core, const struct call *call);

/* A copy of the name of the seat that @call asks for. It stays for the rest of the step, also where
 * @call asks for another one then. */
const char *core_seat_kept_name(struct fence_core *core, const struct call *call);

/* Some master has the seat @seat under the lock id of @call, for @remaining_ms more. */
void core_seat_found(struct fence_core *core, const struct call *call, unsigned seat,
                     uint64_t remaining_ms);

/* @call met another holder of its seat; or was granted it. */
void core_seat_met(struct fence_core *core, const struct call *call);
void core_seat_granted(struct fence_core *core, const struct call *call);

/* Asks the masters in @set in the round of @call who holds each of its seats. @call need not be an
 * acquire. And the seat that @reply, of that round, is about. */
void core_seats_ask(struct fence_core *core, const struct call *call, uint32_t set);
unsigned core_seat_of_reply(const struct call *call, const struct fence_reply *reply);

/* @call has an answer: its resource is the name that it asked for again. */
void core_seat_drop(struct call *call);

/* The name of the queue of @resource, which may be a seat. */
void core_queue_name(const char *resource, char ret_name[static FENCE_RESOURCE_MAX + 1]);

/* The hint of @queue about @resource, which it is of, or of whose seats it is. */
struct core_holder_hint *core_queue_hint(struct fence_core *core, struct core_wait_queue *queue,
                                         const char *resource);

/* The queue of @resource, or of the name that it is a seat of; NULL: no call waits. */
struct core_wait_queue *core_queue_for(const struct fence_core *core, const char *resource);

#endif
