/* What a request about locks comes to: its reply, with what that points to. */
#ifndef STORAGE_SQLITE_ANSWER_H
#define STORAGE_SQLITE_ANSWER_H

#include "fence/protocol/message.h"

struct storage_answer {
    struct fence_reply reply;
    char holder[FENCE_LOCK_ID_MAX + 1];
    char owner[FENCE_OWNER_MAX + 1];
    int64_t *numbers; /* of a group, FENCE_GROUP_MAX of them; lent by the caller */
};

/* One lock that a request is about. */
struct storage_member {
    const char *resource;
    uint16_t slot;
    int64_t token;
    int64_t hint;
};

static inline unsigned storage_request_count(const struct fence_request *request)
{
    return request->group ? request->group->count : 1;
}

static inline struct storage_member storage_request_member(const struct fence_request *request,
                                                           unsigned k)
{
    if (!request->group)
        return (struct storage_member){request->resource, request->slot, request->token,
                                       request->hint};
    const struct fence_group_lock *lock = &request->group->locks[k];
    return (struct storage_member){lock->resource, lock->slot, lock->token, lock->hint};
}

#endif
