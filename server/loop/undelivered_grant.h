/* A grant whose client has disconnected: the core undoes the grant after its effects are carried
 * out. */
#ifndef SERVER_LOOP_UNDELIVERED_GRANT_H
#define SERVER_LOOP_UNDELIVERED_GRANT_H

#include "fence/protocol/message.h"

/* All zero: none. */
struct server_declined {
    bool any;
    struct fence_taken taken; /* its strings are the members below */
    char resource[FENCE_RESOURCE_MAX + 1];
    char lock_id[FENCE_LOCK_ID_MAX + 1];
    struct fence_group group;
};

/* Stores the grant in @answer. */
void server_declined_note(struct server_declined *declined, const struct fence_answer *answer);

#endif
