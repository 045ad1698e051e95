#include "api/path.h"

#include "api/utf8.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* Where the path starts in @target; NULL if it has none (RFC 9112, section 3.2). */
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
        *ret_reason = "The request target is not an absolute path; start it with a slash.";
        return FENCE_EINVAL;
    }

    char *to = path;
    while (*from != '\0') {
        if ((unsigned char)*from <= ' ' || *from == 0x7f) {
            *ret_reason = "The path has a bare space or control character; percent-encode it.";
            return FENCE_EINVAL;
        }
        if (*from != '%') {
            *to++ = *from++;
            continue;
        }
        int high = hex_digit(from[1]);
        int low = high < 0 ? -1 : hex_digit(from[2]);
        if (low < 0) {
            *ret_reason = "A percent sign in the path lacks its two hex digits; write %25 for "
                          "the sign itself.";
            return FENCE_EINVAL;
        }
        if (high == 0 && low == 0) {
            *ret_reason = "The path has an encoded NUL, %00; no name has one.";
            return FENCE_EINVAL;
        }
        *to++ = (char)(high << 4 | low);
        from += 3;
    }
    *to = '\0';

    if (!api_utf8_valid(path, (size_t)(to - path))) {
        *ret_reason = "The path is not valid UTF-8.";
        return FENCE_EINVAL;
    }
    return 0;
}
