/* The network: requests and replies on their way.
 *
 * A connection is first in, first out, both ways. When it ends, requests on their way may still
 * arrive, from the oldest up to some point; replies likewise, until the server notices. So a
 * request of an old connection can overtake, or be overtaken by, those of the next one. Duplicates
 * and replays obey no order at all: they stand for whatever could make a request happen twice, even
 * to the next process at the same machine. */
#ifndef TESTS_SIM_WORLD_NETWORK_H
#define TESTS_SIM_WORLD_NETWORK_H

#include "tests/sim/world/heap.h"
#include "tests/sim/world/message.h"

#include <stdbool.h>

struct sim_world;
struct sim_link;

enum {
    SIM_MESSAGES_MAX = 8192, /* on their way or awaited, at any time */
};

#define SIM_NO_MESSAGE UINT32_MAX /* the end of a queue */

struct sim_message {
    struct sim_request request;
    struct sim_reply reply;
    uint32_t generation;
    uint32_t next;    /* in the link's queue, or among the free */
    unsigned machine; /* its destination, */
    uint32_t run;     /* and to which process there */
    bool awaited;     /* in the link's queue: the core is owed a reply, or a loss */
    bool on_wire;     /* an event for it is on the heap */
    bool duplicate;
    bool executed;
    bool request_cut; /* will not arrive */
    bool reply_cut;
};

struct sim_network {
    uint32_t used; /* messages ever used in this world */
    uint32_t free;
    struct sim_message messages[SIM_MESSAGES_MAX];
};

void sim_network_init(struct sim_network *network);

/* Reports whether server @s can ask master @i about locks: the handshake on the connection ended.
 */
bool sim_network_can_ask(struct sim_world *world, unsigned s, unsigned i);

/* Sends @request from server @s to master @i, on the connection that stands. */
void sim_network_send(struct sim_world *world, unsigned s, unsigned i,
                      const struct sim_request *request);

/* Server @s closed its connection to master @i: each request outstanding is lost, as far as its
 * core is concerned. */
void sim_network_lose_all(struct sim_world *world, unsigned s, unsigned i);

/* The same where there is no such core any more. */
void sim_network_forget(struct sim_world *world, struct sim_link *link);

/* The connection broke: some of what is on its way does not arrive. */
void sim_network_cut_short(struct sim_world *world, struct sim_link *link);

/* Reports whether a RECORD of a new incarnation of member @target is still on its way to anybody.
 */
bool sim_network_is_recording(const struct sim_network *network, unsigned target);

/* The machine that @event happens to, which is a REQUEST. */
unsigned sim_network_machine(const struct sim_network *network, const struct sim_event *event);

/* Acts on REQUEST or REPLY. */
void sim_network_act(struct sim_world *world, const struct sim_event *event);

/* In some worlds that recover, one master says now and then, in place of its reply, that all others
 * were admitted again, until the world heals. Of the seed's random numbers it takes its own stream:
 * other worlds stay as they are. */
void sim_network_lie(struct sim_world *world, uint64_t seed);

#endif
