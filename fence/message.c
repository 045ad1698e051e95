#include "fence/message.h"

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
