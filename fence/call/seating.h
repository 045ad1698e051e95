/* Acquires of one of several seats (fence/protocol/seat.h). Such a call is an acquire of one lock,
 * whose name changes from one attempt to the next: a seat that another lock id holds is left for
 * the next seat. All calls for one name stand in one queue, whose name ends with the '#' alone.
 *
 * Calls of one queue may know other numbers of seats. Each seat has a turn: the first call of the
 * queue that knows the seat. That call alone asks for the seat. So the first of the queue has the
 * turn of all seats that it knows. A later call has the turn of the seats that no call before it
 * knows. A free seat goes to the first waiter that knows it.
 *
 * A call asks for one seat after the other, among the seats whose turn it has. It begins with seats
 * without a known holder. If all these seats are held, the call pauses until the first of their
 * leases ends, or until a release. */
#ifndef FENCE_CALL_SEATING_H
#define FENCE_CALL_SEATING_H

#include "fence/state/state.h"

/* Reports whether @call wants one of several seats. Functions that say nothing else need such a
 * call, which stands in its queue. */
static inline bool core_wants_seat(const struct call *call)
{
    return call->seats > 0;
}

/* Reports whether @call is a writer's, which wants all seats (fence/call/writer_gate.h). */
static inline bool core_writes(const struct call *call)
{
    return call->mode == FENCE_MODE_WRITE;
}

/* Reports whether @call, a writer, has the gate and asks for the seats. */
static inline bool core_has_gate(const struct call *call)
{
    return core_writes(call) && call->group != FENCE_NOBODY;
}

/* The seats that @call knows of, a bit for each. */
static inline uint64_t core_seats_of(const struct call *call)
{
    return UINT64_MAX >> (FENCE_SEATS_MAX - call->seats);
}

/* @call, which joined its queue, gets the turn of each seat that no call before it knows. */
void core_seats_take_turns(struct fence_core *core, const struct call *call);

/* @call, which is about to leave its queue, hands on the turn of each seat to the next call that
 * knows it. Returns bits of the seats whose turn another call has now. */
uint64_t core_seats_pass_turns(struct fence_core *core, const struct call *call);

/* Reports whether @call has the turn of a seat; and whether of the one that it asks for. */
bool core_seats_has_turn(const struct fence_core *core, const struct call *call);
bool core_seat_has_turn(const struct fence_core *core, const struct call *call);

/* The knowledge of one seat: the seat that @call asks for; the seat whose lease ends first among
 * all seats that it knows; and the same among the seats whose turn it has. */
struct core_holder_hint *core_seat_hint(const struct fence_core *core, const struct call *call);
struct core_holder_hint *core_seat_first_to_end(const struct fence_core *core,
                                                const struct call *call);
struct core_holder_hint *core_seat_next_to_end(const struct fence_core *core,
                                               const struct call *call);

/* Reports whether other lock ids are known to hold all seats that @call knows; all that it has the
 * turn of; and whether @call's own lock id is known to hold one. */
bool core_seats_all_held(const struct fence_core *core, const struct call *call);
bool core_seats_turn_held(const struct fence_core *core, const struct call *call);
bool core_seat_held_by_itself(const struct fence_core *core, const struct call *call);

/* Reports whether a call before @call has the turn of a seat that @call knows, and that may be
 * free. */
bool core_seats_left_to_others(const struct fence_core *core, const struct call *call);

/* How many of the first seats, without a gap, lock ids are known to hold. */
unsigned core_seats_held_from_first(const struct fence_core *core, const struct call *call);

/* @call asks for its next seat: its own seat, or a seat whose turn it has and which may be free or
 * is due for a look. False: it has asked for all of these since its last pause. */
bool core_seat_choose(struct fence_core *core, struct call *call);

/* Reports whether @call, a reader, may ask for a seat though others stand before it: one is free as
 * far as is known, and no reader of this server asks for it. How many such seats there are. */
unsigned core_seats_shared(const struct fence_core *core, const struct call *call);

/* An attempt of @call, which may be of any kind, for a seat begins or is over. */
void core_seat_trying(struct fence_core *core, const struct call *call, bool begins);

/* A pause of @call, the @first of its queue or not, is over. If all seats are held, it looks at the
 * seats whose release would not wake it. Otherwise it looks at all, because a message may be lost.
 */
void core_seats_look(struct fence_core *core, struct call *call, bool first);

/* Reports whether @call has to ask for a seat before it is told of the release of each. */
bool core_seats_unheard(const struct fence_core *core, const struct call *call);

/* A copy of the name of the seat that @call asks for. It stays for the rest of the step, also where
 * @call asks for another one then. */
const char *core_seat_kept_name(struct fence_core *core, const struct call *call);

/* Some master has the seat @seat under the lock id of @call, for @remaining_ms more. */
void core_seat_found(struct fence_core *core, const struct call *call, unsigned seat,
                     uint64_t remaining_ms);

/* Forgets which seats the lock id of @call has. */
void core_seats_forget_own(struct fence_core *core, const struct call *call);

/* A majority has the seat @seat under other lock ids, for @remaining_ms more. @reply is of the last
 * of these masters. */
void core_seat_found_held(struct fence_core *core, const struct call *call, unsigned seat,
                          uint64_t remaining_ms, const struct fence_reply *reply);
/* The seat that @call, a reader, asks for, with the gate of the name: for the requests of this
 * step.
 */
const struct fence_group *core_seat_with_gate(struct fence_core *core, const struct call *call,
                                              int64_t hint);

/* The knowledge of the gate that @call, a reader, met. And it met a holder of it, whom its hint
 * names now. */
struct core_holder_hint *core_seat_gate_hint(const struct fence_core *core,
                                             const struct call *call);
void core_seat_gate_met(struct fence_core *core, struct call *call);

/* @call met another holder of its seat; or was granted it. */
void core_seat_met(struct fence_core *core, struct call *call);
void core_seat_granted(struct fence_core *core, const struct call *call);

/* Asks the masters in @set in the round of @call who holds each of its seats. @call need not be an
 * acquire. And the seat that @reply, of that round, is about. */
void core_seats_ask(struct fence_core *core, const struct call *call, uint32_t set);
unsigned core_seat_of_reply(const struct call *call, const struct fence_reply *reply);

/* @call has an answer: its resource is the name that it asked for again. */
void core_seat_drop(struct call *call);

/* The name of the queue of @resource, which may be a seat. A gate has its own queue. */
void core_queue_name(const char *resource, char ret_name[static FENCE_RESOURCE_MAX + 1]);

/* The hint of @queue about @resource, which it is of, or of whose seats it is. Readers have a hint
 * about their gate. */
struct core_holder_hint *core_queue_hint(struct fence_core *core, struct core_wait_queue *queue,
                                         const char *resource);

/* The call of @queue that acts on a release of @resource; FENCE_NOBODY: no call knows that seat. */
uint32_t core_queue_asker(const struct fence_core *core, const struct core_wait_queue *queue,
                          const char *resource);

/* The queue of @resource, or of the name that it is a seat of; NULL: no call waits. */
struct core_wait_queue *core_queue_for(const struct fence_core *core, const char *resource);

/* The queue of the readers of @gate; NULL: none waits. */
struct core_wait_queue *core_queue_of_readers(const struct fence_core *core, const char *gate);

/* How many writers wait for the name that @resource begins with, at its gate or behind it. */
unsigned core_writers_waiting(const struct fence_core *core, const char *resource);

#endif
