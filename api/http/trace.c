#include "api/http/trace.h"

#include <stddef.h>
#include <string.h>

enum {
    VERSION_LEN = 2,
    TRACE_ID_AT = 3,
    TRACE_ID_LEN = 32,
    PARENT_ID_AT = 36,
    PARENT_ID_LEN = 16,
    FLAGS_AT = 53,
    FLAGS_LEN = 2,
};

static const char lower_hex[] = "0123456789abcdef";

bool api_request_id_valid(const char *text)
{
    size_t len = 0;
    while (text[len] > ' ' && text[len] <= '~' && len <= API_REQUEST_ID_MAX)
        len++;
    return len > 0 && len <= API_REQUEST_ID_MAX && text[len] == '\0';
}

static bool is_hex(const char *text, size_t len)
{
    return strspn(text, lower_hex) >= len;
}

static bool is_id(const char *text, size_t len)
{
    return is_hex(text, len) && strspn(text, "0") < len;
}

bool api_trace_valid(const char *text)
{
    const size_t len = strlen(text);
    if (len < API_TRACE_MAX || text[VERSION_LEN] != '-' || text[PARENT_ID_AT - 1] != '-' ||
        text[FLAGS_AT - 1] != '-')
        return false;
    if (!is_hex(text, VERSION_LEN) || strncmp(text, "ff", VERSION_LEN) == 0 ||
        !is_id(text + TRACE_ID_AT, TRACE_ID_LEN) || !is_id(text + PARENT_ID_AT, PARENT_ID_LEN) ||
        !is_hex(text + FLAGS_AT, FLAGS_LEN))
        return false;
    return len == API_TRACE_MAX ||
           (strncmp(text, "00", VERSION_LEN) != 0 && text[API_TRACE_MAX] == '-');
}
