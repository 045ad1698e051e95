/* A request and its reply on their way, with names as small numbers. Copied freely; owns nothing.
 *
 * A lock id is numbered by the call that acquires with it, a resource by its place in the world. */
#ifndef SIM_MESSAGE_H
#define SIM_MESSAGE_H

#include "fence/message.h"

enum {
    SIM_RESOURCES_MAX = 3,
    SIM_CALLS_MAX = 512, /* of one world, from first to last */
};

struct sim_request {
    enum fence_request_kind kind;
    uint32_t resource;
    uint32_t lock;
    uint32_t ttl_ms;
    uint64_t tag;
    uint64_t attempt;
    int64_t token;
};

struct sim_reply {
    enum fence_reply_kind kind;
    uint32_t lock; /* HELD: the holder's */
    int64_t number;
    uint64_t remaining_ms;
};

/* The texts behind the numbers: static, of the form that fence/name.h asks for. */
const char *sim_resource_text(uint32_t resource);
const char *sim_lock_text(uint32_t lock);
const char *sim_owner_text(uint32_t lock);

/* Back from the text. Asserts that it is one of ours. */
uint32_t sim_resource_number(const char *text);
uint32_t sim_lock_number(const char *text);

const char *sim_request_name(enum fence_request_kind kind);
const char *sim_reply_name(enum fence_reply_kind kind);

#endif
