/* The result of a request about locks: the reply, and the memory that it points to. */
#ifndef FENCE_MASTER_ANSWER_H
#define FENCE_MASTER_ANSWER_H

#include "fence/protocol/message.h"

struct fence_master_answer {
    struct fence_reply reply;
    char holder[FENCE_LOCK_ID_MAX + 1];
    char owner[FENCE_OWNER_MAX + 1];
    int64_t *numbers; /* the numbers of a group: room for FENCE_GROUP_MAX; the caller provides it */
};

/* One lock that a request is about. */
struct fence_request_lock {
    const char *resource;
    uint16_t slot;
    int64_t token;
    int64_t hint;
};

static inline unsigned fence_request_locks(const struct fence_request *request)
{
    return request->group ? request->group->count : 1;
}

static inline struct fence_request_lock fence_request_lock_at(const struct fence_request *request,
                                                              unsigned k)
{
    const bool takes = request->kind == FENCE_REQUEST_TAKE;
    if (!request->group)
        return (struct fence_request_lock){request->resource, request->slot, request->token,
                                           takes ? request->take.hint : 0};
    const struct fence_group_lock *lock = &request->group->locks[k];
    return (struct fence_request_lock){lock->resource, lock->slot, lock->token, lock->hint};
}

#endif
