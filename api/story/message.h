/* A message under way, with its content: the message owns its texts, so that the sender may free
 * its own. */
#ifndef API_STORY_MESSAGE_H
#define API_STORY_MESSAGE_H

#include "api/story/event.h"
#include "fence/fleet/fleet.h"
#include "fence/master/store.h"
#include "fence/protocol/message.h"
#include "fence/protocol/rejoin_message.h"

enum {
    STORY_READERS = 3,               /* that may share the lock */
    STORY_LOCKS = STORY_READERS + 2, /* the lock, its seats and its gate */
    STORY_NAME_MAX = 15,             /* bytes of the name of one */
    STORY_MESSAGES_MAX = 256,        /* messages under way; one more is lost */
};

/* All clients lock this: one account. */
#define STORY_RESOURCE "account"

/* A call of a client, or pawld's answer. */
struct story_call {
    uint32_t task; /* the client's task: an answer to an earlier task is old */
    enum fence_mode mode;
    char lock_id[FENCE_LOCK_ID_LEN + 1];
    char seat[STORY_NAME_MAX + 1]; /* which a reader has */
    int error;
    int64_t token;
    uint64_t served_ms;
    uint64_t validity_ms;
};

/* A request of a client to the database, and the result. */
struct story_query {
    uint32_t task;
    enum fence_mode mode;
    int64_t token;
    bool accepted;
    int32_t balance;  /* read, or to be written */
    uint32_t version; /* that was read */
};

/* Several locks, in few bytes. */
struct story_group {
    unsigned count;
    struct {
        int64_t token;
        int64_t hint;
        uint16_t slot;
        char resource[STORY_NAME_MAX + 1];
    } locks[STORY_LOCKS];
};

struct story_lock_request {
    struct fence_request request; /* its texts are those below */
    char resource[STORY_NAME_MAX + 1];
    char lock_id[FENCE_LOCK_ID_MAX + 1];
    char owner[FENCE_OWNER_MAX + 1];
    struct story_group group;
};

/* A page of a rejoin: the counter and the locks of one master, all at once. */
struct story_page {
    int64_t floor;
    uint16_t slot;
    int64_t counter;
    unsigned count;
    struct {
        char resource[STORY_NAME_MAX + 1];
        struct fence_stored_lock lock;
        uint64_t left_ms;
    } locks[STORY_LOCKS];
};

struct story_rejoin_request {
    struct fence_rejoin_request request;
    char fleet_id[FENCE_ID_HEX_LEN + 1];
    struct fence_facts seen;
    struct fence_page page;
    struct story_page bytes;
    struct fence_view view;
};

/* A request of pawld to a master. */
struct story_ask {
    enum story_message_kind kind; /* LOCK, REJOIN, RESTAMP, FACTS or PROBE */
    uint64_t tag;
    struct fence_view view;       /* LOCK: that pawld works under */
    bool tells;                   /* FACTS, PROBE: pawld knows its fleet, */
    struct fence_positions known; /* and these of its members */
    struct story_lock_request lock;
    struct story_rejoin_request rejoin; /* RESTAMP: @seen alone */
};

/* The reply of a master. */
struct story_reply {
    enum story_message_kind kind; /* kind of the question */
    struct fence_reply lock;      /* its texts are those below */
    char holder[FENCE_LOCK_ID_MAX + 1];
    char owner[FENCE_OWNER_MAX + 1];
    int64_t numbers[STORY_LOCKS];
    struct fence_view view;
    struct fence_rejoin_reply rejoin; /* the same */
    struct story_page page;
    struct fence_facts facts;
};

/* The word of a master that a lock was released which calls wait for. */
struct story_released {
    char resource[STORY_NAME_MAX + 1];
    char lock_id[FENCE_LOCK_ID_MAX + 1];
};

/* A message never moves: parts of it point to each other. */
struct story_message {
    bool is_used;
    int32_t id;
    enum story_message_kind kind;
    int32_t from;
    int32_t to;
    uint64_t at_us; /* FENCE_NEVER: at a client that is paused */
    uint64_t sent_us;
    uint32_t generation; /* the connection; LOCK to RELEASED */
    uint32_t run;        /* the receiving master's process; LOCK to PROBE */
    union {
        struct story_call call;
        struct story_query query;
        struct story_ask ask;
        struct story_reply reply;
        struct story_released released;
    };
};

/* Copies a terminated text that fits; NULL is "". */
void story_text_copy(char *to, size_t size, const char *from);

/* Copy what the core asks; a copy owns all that it points to, and must not move. */
void story_lock_request_copy(struct story_lock_request *to, const struct fence_request *from);
void story_rejoin_request_copy(struct story_rejoin_request *to,
                               const struct fence_rejoin_request *from);

/* The group of a request as the rules of a master want it. */
void story_group_widen(const struct story_group *from, struct fence_group *ret_group);

#endif
