/* The data of a master of the story, as the rules of fence/master read and write them. */
#ifndef API_STORY_STORE_H
#define API_STORY_STORE_H

#include "api/story/message.h"

#include <stdbool.h>

/* A lock, and who waits for it. */
struct story_kept {
    char resource[STORY_NAME_MAX + 1]; /* "": free to use */
    struct fence_stored_lock lock;
    uint64_t waited_until_ms; /* by the master's clock; 0: no waiter */
    int64_t waited_ticket;
    int64_t next_ticket;
    uint64_t next_until_ms;
};

struct story_memory {
    struct fence_stored_marker marker;
    bool doubt; /* it was a replica since it was marked, and may lack writes */
    int64_t writes;
    struct fence_positions heard;
    uint16_t slot;
    int64_t counter;
    struct story_kept kept[STORY_LOCKS];
};

/* The outcome of a request beside its reply. */
struct story_done {
    bool released; /* a lock that calls wait for */
    struct story_released which;
};

/* One turn at one master. */
struct story_turn {
    struct fence_turn rules;
    struct story_memory *memory;
    struct story_page *page; /* READ: room for what is read */
    struct story_done done;
    char server_id[FENCE_ID_HEX_LEN + 1];
    char lineage[FENCE_ID_HEX_LEN + 1];
};

extern const struct fence_master_store story_store;

#endif
