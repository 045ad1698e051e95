#include "api/auth/right.h"

#include <assert.h>
#include <string.h>

static const char *const right_names[API_RIGHTS] = {
    [API_RIGHT_NONE] = "-",
    [API_RIGHT_READ] = "read",
    [API_RIGHT_LOCK] = "lock",
    [API_RIGHT_ADMIN] = "admin",
};

const char *api_right_name(enum api_right right)
{
    assert(right < API_RIGHTS);
    return right_names[right];
}

bool api_right_parse(const char *text, enum api_right *ret_right)
{
    for (enum api_right right = API_RIGHT_READ; right < API_RIGHTS; right++) {
        if (strcmp(text, right_names[right]) != 0)
            continue;
        *ret_right = right;
        return true;
    }
    return false;
}
