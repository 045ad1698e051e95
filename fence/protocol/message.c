#include "fence/protocol/message.h"

#include <assert.h>

const char *fence_part_name(enum fence_part part)
{
    switch (part) {
    case FENCE_PART_GRANTED:
        return "granted";
    case FENCE_PART_HELD:
        return "held";
    case FENCE_PART_FREE:
        return "free";
    case FENCE_PART_DOWN:
        return "down";
    case FENCE_PART_TIMEOUT:
        return "timeout";
    case FENCE_PART_REFUSED:
        return "refused";
    case FENCE_PART_PENDING:
        break;
    }
    return "pending";
}

const char *fence_request_name(enum fence_request_kind kind)
{
    static const char *const names[] = {
        [FENCE_REQUEST_TAKE] = "take",       [FENCE_REQUEST_CONFIRM] = "confirm",
        [FENCE_REQUEST_EXTEND] = "extend",   [FENCE_REQUEST_JOIN] = "join",
        [FENCE_REQUEST_RELEASE] = "release", [FENCE_REQUEST_UNDO] = "undo",
        [FENCE_REQUEST_INSPECT] = "inspect", [FENCE_REQUEST_COUNT] = "count",
        [FENCE_REQUEST_BREAK] = "break",
    };
    assert((size_t)kind < sizeof(names) / sizeof(names[0]) && names[kind]);
    return names[kind];
}

const char *fence_reply_name(enum fence_reply_kind kind)
{
    static const char *const names[] = {
        [FENCE_REPLY_NUMBER] = "number",
        [FENCE_REPLY_HELD] = "held",
        [FENCE_REPLY_YES] = "yes",
        [FENCE_REPLY_NO] = "no",
        [FENCE_REPLY_PAST] = "past",
        [FENCE_REPLY_TAKEN] = "taken",
        [FENCE_REPLY_EXHAUSTED] = "exhausted",
        [FENCE_REPLY_SUPERSEDED] = "superseded",
        [FENCE_REPLY_BROKEN] = "broken",
        [FENCE_REPLY_UNCOUNTED] = "uncounted",
        [FENCE_REPLY_STALE] = "stale view",
        [FENCE_REPLY_FOREIGN] = "foreign",
        [FENCE_REPLY_ENDLESS] = "endless",
        [FENCE_REPLY_SPENT] = "spent",
        [FENCE_REPLY_MISCOUNTED] = "miscounted",
        [FENCE_REPLY_WRITERS] = "of a writer",
        [FENCE_REPLY_FULL] = "full",
        [FENCE_REPLY_REFUSED] = "refused",
        [FENCE_REPLY_LOST] = "lost",
    };
    assert((size_t)kind < sizeof(names) / sizeof(names[0]) && names[kind]);
    return names[kind];
}

enum fence_part fence_part_of_reply(enum fence_reply_kind kind)
{
    switch (kind) {
    case FENCE_REPLY_YES:
        return FENCE_PART_GRANTED;
    case FENCE_REPLY_HELD:
        return FENCE_PART_HELD;
    case FENCE_REPLY_NO:
    case FENCE_REPLY_PAST:
    case FENCE_REPLY_TAKEN:
        return FENCE_PART_FREE;
    case FENCE_REPLY_LOST:
        return FENCE_PART_TIMEOUT;
    default:
        return FENCE_PART_REFUSED;
    }
}

struct fence_answer fence_answer_refusing(const struct fence_call *call, int error)
{
    return (struct fence_answer){
        FENCE_ANSWER_TO(call, error),
        .lock_id = "",
    };
}
