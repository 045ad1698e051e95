/* hiredis on libuv. The adapter of hiredis itself returns early on a poll error, so that a refused
 * or reset connection is never noticed. This one hands errors to hiredis, and writes once a turn
 * instead of once a command. */
#ifndef STORAGE_REDIS_UV_H
#define STORAGE_REDIS_UV_H

#include "fence/protocol/error.h"
#include "storage/redis/replies.h"

#include <hiredis/async.h>
#include <uv.h>

/* Polls @context on @loop until hiredis frees it, and watches what it reads (replies.h). Bytes
 * that no Redis sends end the connection as if it had broken: storage_replies_wrong() has the
 * reason in the callbacks of that. FENCE_ENOMEM, FENCE_EIO: @context is not attached, and the
 * caller frees it.
 */
FENCE_CHECKED int storage_redis_uv_attach(redisAsyncContext *context, uv_loop_t *loop,
                                          enum storage_replies_to to);

/* Sends what was queued since the last call, as far as the socket takes it; the rest follows when
 * it is writable. May free the context, if the connection turns out to be broken. Its disconnect
 * callback and those of its commands have run then. */
void storage_redis_uv_flush(redisAsyncContext *context);

#endif
