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

/* While a password is changed, some masters have the old one and some the new one. So each keeps
 * two, and says the other one next where one was refused. */

/* The password of @url is @password from now on, and the one before is kept beside it. */
void storage_auth_change(struct storage_redis_url *url, const char *password);

/* The password of @url was refused. */
void storage_auth_refused(struct storage_redis_url *url);

#endif
