#include "storage/redis/url.h"

#include "fence/protocol/decimal.h"
#include "storage/redis/reply_text.h"
#include "storage/redis/tls.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int url_hex_digit(char c)
{
    const char *digits = "0123456789abcdef";
    const char *at = c ? strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c) : NULL;
    return at ? (int)(at - digits) : -1;
}

static bool decode(char *to, size_t size, const char *from, size_t len)
{
    size_t used = 0;
    for (size_t i = 0; i < len; i++) {
        int c = (unsigned char)from[i];
        if (c == '%') {
            if (i + 2 >= len || url_hex_digit(from[i + 1]) < 0 || url_hex_digit(from[i + 2]) < 0)
                return false;
            c = url_hex_digit(from[i + 1]) * 16 + url_hex_digit(from[i + 2]);
            i += 2;
        }
        if (c == 0 || used + 1 >= size)
            return false;
        to[used++] = (char)c;
    }
    to[used] = '\0';
    return true;
}

static const char *parse_credentials(const char *text, size_t len, struct storage_redis_url *url)
{
    const char *colon = memchr(text, ':', len);
    if (!colon)
        return "write credentials as user:password@ or :password@";
    size_t user_len = (size_t)(colon - text);
    if (!decode(url->user, sizeof(url->user), text, user_len) ||
        !decode(url->password, sizeof(url->password), colon + 1, len - user_len - 1))
        return "the user or the password is too long or wrongly percent-encoded";
    return url->user[0] || url->password[0] ? NULL : "the password is empty";
}

static const char *parse_port(const char *text, struct storage_redis_url *url)
{
    uint64_t port = 0;
    const char *slash = strchr(text, '/');
    if (slash && slash != text)
        return "nothing can follow the port: pawld always uses database 0";
    if (!fence_decimal_read(text, strlen(text), UINT16_MAX, &port) || port == 0)
        return "the port must be a number from 1 to 65535";
    url->port = (uint16_t)port;
    return NULL;
}

static const char *parse_host(const char *text, struct storage_redis_url *url)
{
    const char *host = text;
    const char *after = text + strcspn(text, ":");
    size_t len = (size_t)(after - text);
    if (text[0] == '[') {
        const char *close = strchr(text, ']');
        if (!close)
            return "an IPv6 address needs its closing bracket";
        host = text + 1;
        len = (size_t)(close - host);
        after = close + 1;
    }
    if (len == 0 || strcspn(host, "/?# ") < len ||
        !storage_reply_text_copy(url->host, sizeof(url->host), host, len))
        return "the host is missing or malformed; write redis://host:port";
    url->port = STORAGE_REDIS_PORT;
    if (*after == '\0')
        return NULL;
    return *after == ':' ? parse_port(after + 1, url) : "only a port can follow the host";
}

static const char *parse_tcp(const char *text, struct storage_redis_url *url)
{
    const char *at = strrchr(text, '@');
    if (at) {
        const char *why = parse_credentials(text, (size_t)(at - text), url);
        if (why)
            return why;
        text = at + 1;
    }
    return parse_host(text, url);
}

static const char *parse_tls(const char *text, struct storage_redis_url *url)
{
    url->is_tls = true;
    if (!storage_tls_is_built())
        return "this pawld was built without hiredis_ssl or with a hiredis before 1.0, so it does "
               "not support rediss://. Use stunnel, and write redis:// (RUN.md, "
               "\"Encrypted connections to masters\")";
    return parse_tcp(text, url);
}

static const char *parse_parts(const char *text, struct storage_redis_url *url)
{
    if (strncmp(text, "redis://", strlen("redis://")) == 0)
        return parse_tcp(text + strlen("redis://"), url);
    if (strncmp(text, "rediss://", strlen("rediss://")) == 0)
        return parse_tls(text + strlen("rediss://"), url);
    if (strncmp(text, "unix://", strlen("unix://")) != 0)
        return "write a master as redis://[user:password@]host:port, rediss:// for TLS, or "
               "unix:///path";
    const char *path = text + strlen("unix://");
    if (path[0] != '/' ||
        !storage_reply_text_copy(url->path, sizeof(url->path), path, strlen(path)))
        return "a socket's path must be absolute and at most 107 bytes";
    return NULL;
}

int storage_redis_url_parse(const char *text, struct storage_redis_url *ret_url,
                            const char **ret_why)
{
    struct storage_redis_url url = {0};
    const char *why = parse_parts(text, &url);
    if (why) {
        *ret_why = why;
        return FENCE_EINVAL;
    }
    *ret_url = url;
    return 0;
}

void storage_redis_url_show(const struct storage_redis_url *url,
                            char ret_address[static STORAGE_ADDRESS_MAX])
{
    bool ipv6 = strchr(url->host, ':') != NULL;
    assert((url->path[0] != '\0') != (url->host[0] != '\0'));
    if (url->path[0])
        snprintf(ret_address, STORAGE_ADDRESS_MAX, "unix://%s", url->path);
    else
        snprintf(ret_address, STORAGE_ADDRESS_MAX, "%s://%s%s%s:%u",
                 url->is_tls ? "rediss" : "redis", ipv6 ? "[" : "", url->host, ipv6 ? "]" : "",
                 url->port);
}
