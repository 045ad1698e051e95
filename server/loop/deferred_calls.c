#include "server/loop/deferred_calls.h"

#include "fence/protocol/error.h"

bool server_later_add(struct server_later *later, const struct fence_call *call)
{
    if (later->count == SERVER_LATER_MAX)
        return false;
    later->calls[(later->first + later->count++) % SERVER_LATER_MAX] = *call;
    return true;
}

bool server_later_take(struct server_later *later, struct fence_call *ret_call)
{
    if (later->count == 0)
        return false;
    *ret_call = later->calls[later->first];
    later->first = (later->first + 1) % SERVER_LATER_MAX;
    later->count--;
    return true;
}

void server_later_refuse(const struct fence_call *call,
                         bool (*answer)(void *context, const struct fence_answer *answer),
                         void *context)
{
    const struct fence_answer refused = fence_answer_refusing(call, FENCE_EBUSY);
    (void)answer(context, &refused);
}
