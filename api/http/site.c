#include "api/http/site.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

enum {
    PORT_DIGITS_MAX = 5,
    ADDRESS_MAX = 64,
};

struct authority {
    const char *host;
    size_t host_len;
    const char *port; /* "" without one */
    size_t port_len;
};

static bool is_port(const char *text, size_t len)
{
    return len <= PORT_DIGITS_MAX && strspn(text, "0123456789") == len && text[len] == '\0';
}

/* Splits "host", "host:port" and "[address]:port"; false: it is none. */
static bool split_authority(const char *text, struct authority *ret_parts)
{
    const bool bracketed = text[0] == '[';
    const char *after = strchr(text, bracketed ? ']' : ':');
    if (bracketed && after == NULL)
        return false;
    after = after != NULL ? after + bracketed : text + strlen(text);
    const char *port = *after == ':' ? after + 1 : after;
    if (after == text || (*after != ':' && *after != '\0') || !is_port(port, strlen(port)))
        return false;
    *ret_parts = (struct authority){text, (size_t)(after - text), port, strlen(port)};
    return true;
}

static bool is_address(const struct authority *parts)
{
    char text[ADDRESS_MAX];
    struct in6_addr address;
    const bool bracketed = parts->host[0] == '[';
    const size_t len = bracketed ? parts->host_len - 2 : parts->host_len;
    if (parts->host_len < 3 || len >= sizeof(text))
        return false;
    memcpy(text, parts->host + bracketed, len);
    text[len] = '\0';
    return inet_pton(bracketed ? AF_INET6 : AF_INET, text, &address) == 1;
}

static bool is_named(const struct authority *parts, const char *name)
{
    const size_t len = strlen(name);
    const bool dot = parts->host_len == len + 1 && parts->host[len] == '.'; /* the root's */
    return (parts->host_len == len || dot) && strncasecmp(parts->host, name, len) == 0;
}

bool api_site_is_name(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789-_.";
    const size_t len = strlen(text);
    return len > 0 && len <= API_HOST_NAME_MAX && strspn(text, letters) == len && text[0] != '.';
}

bool api_site_is_known(const char *host, const struct api_hosts *hosts)
{
    struct authority parts;
    if (!split_authority(host, &parts))
        return false;
    if (is_address(&parts) || is_named(&parts, "localhost"))
        return true;
    for (unsigned i = 0; i < hosts->count; i++)
        if (is_named(&parts, hosts->names[i]))
            return true;
    return false;
}

/* Equal ports, where none stands for @standard. */
static bool same_port(const struct authority *a, const struct authority *b, const char *standard)
{
    const char *port_a = a->port_len > 0 ? a->port : standard;
    const char *port_b = b->port_len > 0 ? b->port : standard;
    return strcmp(port_a, port_b) == 0;
}

/* The scheme may differ: a proxy before the service may speak TLS. */
static bool is_same(const char *origin, const char *host)
{
    static const char http[] = "http://", https[] = "https://";
    struct authority of_origin, of_host;
    const bool secure = strncasecmp(origin, https, strlen(https)) == 0;
    if (!secure && strncasecmp(origin, http, strlen(http)) != 0)
        return false;
    return split_authority(origin + strlen(secure ? https : http), &of_origin) &&
           split_authority(host, &of_host) && of_origin.host_len == of_host.host_len &&
           strncasecmp(of_origin.host, of_host.host, of_host.host_len) == 0 &&
           same_port(&of_origin, &of_host, secure ? "443" : "80");
}

bool api_site_is_own(const char *host, const char *origin, const char *fetch_site)
{
    if (fetch_site != NULL && strcmp(fetch_site, "same-origin") != 0 &&
        strcmp(fetch_site, "none") != 0)
        return false;
    return origin == NULL || (host != NULL && is_same(origin, host));
}
