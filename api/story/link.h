/* The connections between pawld and its masters: opened again and again, with a handshake on each.
 * pawld drops replies to an earlier connection. */
#ifndef API_STORY_LINK_H
#define API_STORY_LINK_H

#include "api/story/world.h"

struct story_link *story_link_of(struct story_world *world, unsigned i);

/* pawld opens the connection to master @i for the first time; opens it again after a while; closes
 * it. Replies that master @i owes are lost with STORY_TIMER_CLOSED, or by the caller. */
void story_link_open(struct story_world *world, unsigned i);
void story_link_connect(struct story_world *world, unsigned i);
void story_link_close(struct story_world *world, unsigned i);

/* Carry out effects of the core on master @i. */
void story_link_send(struct story_world *world, unsigned i, const struct fence_request *request);
void story_link_rejoin(struct story_world *world, unsigned i,
                       const struct fence_rejoin_request *request);
void story_link_restamp(struct story_world *world, unsigned i);
void story_link_shake(struct story_world *world, unsigned i);
void story_link_reset(struct story_world *world, unsigned i);

/* A handshake, STORY_FACTS, or a probe, STORY_PROBE, which must not take too long. */
void story_link_ask(struct story_world *world, unsigned i, enum story_message_kind kind);

/* The process of master @i ended: pawld notices soon. */
void story_link_break(struct story_world *world, unsigned i);

/* The request that master @i answers next. Precondition: there is one. */
struct story_awaited story_link_answered(struct story_link *link);

void story_link_timer(struct story_world *world, unsigned i, enum story_master_timer timer,
                      uint64_t at_us);

/* Returns when a message that is sent now arrives: after *@last_us, which is set to the result. */
uint64_t story_link_arrival_us(struct story_world *world, uint64_t *last_us);

#endif
