/* Authentication of a connection (the command AUTH). */
#ifndef STORAGE_REDIS_AUTH_H
#define STORAGE_REDIS_AUTH_H

#include "storage/redis/url.h"

enum {
    STORAGE_AUTH_ARGS = 3,
};

/* Writes the command for @url, as an argument vector of borrowed strings. Returns the number of
 * arguments; 0: the url has no password, and no command is needed. Any thread. */
int storage_auth_args(const struct storage_redis_url *url,
                      const char *ret_args[static STORAGE_AUTH_ARGS]);

/* While a password is being changed, some masters have the old one and some the new one. So each
 * url keeps both, and if one is refused, the next try uses the other. */

/* Sets the password of @url, and keeps the earlier one. */
void storage_auth_change(struct storage_redis_url *url, const char *password);

/* The password of @url was refused. */
void storage_auth_refused(struct storage_redis_url *url);

#endif
