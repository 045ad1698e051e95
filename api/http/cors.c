#include "api/http/cors.h"

#include <stddef.h>
#include <string.h>

enum {
    ORIGIN_PORT_MAX = 5, /* digits */
};

/* "", or ":" and a number that is not the scheme's own. */
static bool is_port_part(const char *text, const char *usual)
{
    const size_t len = strlen(text);
    if (len == 0)
        return true;
    return len > 1 && len <= 1 + ORIGIN_PORT_MAX && text[0] == ':' && text[1] != '0' &&
           strspn(text + 1, "0123456789") == len - 1 && strcmp(text + 1, usual) != 0;
}

bool api_cors_is_origin(const char *text)
{
    static const char plain[] = "http://", tls[] = "https://";
    static const char host_letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-_.";
    const bool secure = strncmp(text, tls, strlen(tls)) == 0;
    if (strlen(text) > API_ORIGIN_MAX || (!secure && strncmp(text, plain, strlen(plain)) != 0))
        return false;
    const char *host = text + strlen(secure ? tls : plain);
    const bool bracketed = host[0] == '[';
    const size_t len =
        bracketed ? strspn(host + 1, "0123456789abcdef:.") + 2 : strspn(host, host_letters);
    if (len == 0 || (bracketed && (len < 4 || host[len - 1] != ']')))
        return false;
    return is_port_part(host + len, secure ? "443" : "80");
}

bool api_cors_is_listed(const char *origin, const struct api_origins *origins)
{
    for (unsigned i = 0; origin != NULL && i < origins->count; i++)
        if (strcmp(origin, origins->items[i]) == 0)
            return true;
    return false;
}
