/* The URL of a master: redis://[user:password@]host:port, the same with rediss:// for TLS, or
 * unix:///path. */
#ifndef STORAGE_REDIS_URL_H
#define STORAGE_REDIS_URL_H

#include "fence/protocol/error.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    STORAGE_HOST_MAX = 255,   /* bytes, RFC 1035 */
    STORAGE_PATH_MAX = 107,   /* for a Unix socket: sun_path, less its end */
    STORAGE_SECRET_MAX = 255, /* bytes of a user name or a password */
    STORAGE_REDIS_PORT = 6379,
    STORAGE_ADDRESS_MAX = STORAGE_HOST_MAX + 32, /* an address as shown, with its scheme */
};

struct storage_tls;

struct storage_redis_url {
    char host[STORAGE_HOST_MAX + 1]; /* "" for a Unix socket; without the brackets of IPv6 */
    uint16_t port;
    bool is_tls;                           /* rediss:// */
    const struct storage_tls *tls;         /* for rediss://, set by the opener of the connection;
                                            * borrowed */
    char path[STORAGE_PATH_MAX + 1];       /* "" for TCP */
    char user[STORAGE_SECRET_MAX + 1];     /* "" for the default one */
    char password[STORAGE_SECRET_MAX + 1]; /* "" for none */
    bool password_may_change;              /* its file is read again while pawld serves */
    char other_password[STORAGE_SECRET_MAX + 1]; /* used if @password is refused, while passwords
                                                  * are being changed; "" for none */
};

/* Reads @text. User and password may be percent-encoded (RFC 3986, 2.1); the port defaults to 6379.
 * "user:@" is a user whose password comes from elsewhere. FENCE_EINVAL, and a static sentence in
 * *@ret_why, for any other text, and for rediss:// if this build has no TLS
 * (storage/redis/tls.h). */
FENCE_CHECKED int storage_redis_url_parse(const char *text, struct storage_redis_url *ret_url,
                                          const char **ret_why);

/* Writes the address for people and logs: without user and password. */
void storage_redis_url_show(const struct storage_redis_url *url,
                            char ret_address[static STORAGE_ADDRESS_MAX]);

#endif
