#include "api/http/path.h"

#include "api/http/percent.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

static const char *const reasons[] = {
    [API_PERCENT_BARE] = "The path has an unencoded space or control character. Percent-encode "
                         "that character.",
    [API_PERCENT_DIGITS] = "A percent sign in the path lacks its two hex digits. Write a literal "
                           "percent sign as %25.",
    [API_PERCENT_NUL] = "The path has an encoded NUL, %00. No name can contain a NUL.",
    [API_PERCENT_UTF8] = "The path is not valid UTF-8.",
};

/* The start of the path in @target; NULL if it has none (RFC 9112, section 3.2). */
static const char *path_start(const char *target)
{
    if (target[0] == '/')
        return target;
    if (strncasecmp(target, "http://", 7) == 0)
        return strchr(target + 7, '/');
    return NULL;
}

int api_path_decode(char *path, const char **ret_reason)
{
    const char *from = path_start(path);
    if (from == NULL) {
        *ret_reason = "The request target is not an absolute path. Start the path with a slash.";
        return FENCE_EINVAL;
    }
    enum api_percent found = api_percent_decode(from, path);
    if (found == API_PERCENT_FINE)
        return 0;
    assert((size_t)found < sizeof(reasons) / sizeof(reasons[0]) && reasons[found] != NULL);
    *ret_reason = reasons[found];
    return FENCE_EINVAL;
}
