#include "fence/protocol/message.h"

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
