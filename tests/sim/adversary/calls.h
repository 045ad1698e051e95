/* The clients, and what they ask. They know a few names and lock ids, so that they meet. */
#ifndef TESTS_SIM_ADVERSARY_CALLS_H
#define TESTS_SIM_ADVERSARY_CALLS_H

#include "fence/core.h"

#include <stdbool.h>
#include <stdint.h>

struct play;

enum {
    CALLS_UNDER_WAY_MAX = 64,
    CALLS_CLIENTS = CALLS_UNDER_WAY_MAX + 1, /* one more finds the service busy */
    CALLS_TTL_MAX_MS = 6000,
    CALLS_WAIT_MAX_MS = 3000,
};

struct calls_client {
    bool calls;
    bool left;
    enum fence_call_kind kind;
    uint32_t ttl_ms;
    bool several;
    char lock_id[FENCE_LOCK_ID_MAX + 1];
};

struct calls {
    unsigned open;
    struct calls_client clients[CALLS_CLIENTS];
    uint64_t ids; /* how many lock ids were made */
    char last_id[FENCE_LOCK_ID_LEN + 1];
    struct fence_group group; /* group of the call being made */
};

void calls_init(struct calls *calls);

/* Some client asks for something; one that asked leaves; somebody is said to have released a
 * lock. */
void calls_make(struct play *play);
void calls_leave(struct play *play);
void calls_hear(struct play *play);

/* A lock id that somebody may have. Valid until the next call is made. */
const char *calls_some_lock_id(struct play *play);

#endif
