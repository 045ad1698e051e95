/* The script that carries requests, joined from its files (storage/redis/lua/). Another version of
 * the program has another script under another SHA: masters keep both. */
#ifndef STORAGE_REDIS_REQUESTS_SCRIPT_H
#define STORAGE_REDIS_REQUESTS_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>

#include <hiredis/async.h>

/* The text, terminated, to be freed with free(); *ret_len without the end. NULL: memory is out. */
char *storage_requests_script(size_t *ret_len);

/* Loads the script into the master at the other end. False: memory is out, or the connection is
 * being closed. */
bool storage_requests_script_load(redisAsyncContext *context, redisCallbackFn *loaded,
                                  void *privdata);

#endif
