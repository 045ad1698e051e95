/* How a connection says who it is (the command AUTH). */
#ifndef STORAGE_REDIS_AUTH_H
#define STORAGE_REDIS_AUTH_H

#include "storage/redis/url.h"

enum {
    STORAGE_AUTH_ARGS = 3,
};

/* The command for @url, as an argument vector of borrowed strings. Returns how many; 0: the url has
 * no password, and nothing is to be said. Any thread. */
int storage_auth_args(const struct storage_redis_url *url,
                      const char *ret_args[static STORAGE_AUTH_ARGS]);

#endif
