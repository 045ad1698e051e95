#include "fence/protocol/error.h"

const char *fence_strerror(int error)
{
    switch (error) {
    case FENCE_OK:
        return "success";
#define FENCE_ERROR_TEXT(name, code, text)                                                         \
    case name:                                                                                     \
        return text;
        FENCE_ERRORS(FENCE_ERROR_TEXT)
#undef FENCE_ERROR_TEXT
    default:
        return "unknown error";
    }
}

bool fence_error_is_obstacle(int error)
{
    return error == FENCE_EFOREIGN || error == FENCE_EENDLESS || error == FENCE_ESPENT ||
           error == FENCE_EMISCOUNTED || error == FENCE_ECOUNTERS;
}
