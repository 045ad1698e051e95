/* Calls that begin while the core's effects are carried out: the answer to one call may cause
 * others. They begin, in order, when the effects are done. */
#ifndef SERVER_LOOP_DEFERRED_CALLS_H
#define SERVER_LOOP_DEFERRED_CALLS_H

#include "fence/protocol/message.h"

enum {
    SERVER_LATER_MAX = 4 * (FENCE_READERS_MAX + 1), /* calls; breaks of four writers */
};

/* All zero: empty. */
struct server_later {
    unsigned first; /* index of the first in @calls, and the number of calls */
    unsigned count;
    bool begins; /* the taken requests are about to begin */
    struct fence_call calls[SERVER_LATER_MAX];
};

/* Adds @call, whose strings last until it is answered. Returns false if there is no room. */
bool server_later_add(struct server_later *later, const struct fence_call *call);

/* Answers @call, for which there is no room. */
void server_later_refuse(const struct fence_call *call,
                         bool (*answer)(void *context, const struct fence_answer *answer),
                         void *context);

/* Takes the oldest call. Returns false if there is none. */
bool server_later_take(struct server_later *later, struct fence_call *ret_call);

#endif
