/* hiredis on libuv. hiredis' own adapter returns early on a poll error, so that a refused or reset
 * connection is never noticed. This adapter passes errors to hiredis, and writes once a turn
 * instead of once a command. */
#ifndef STORAGE_REDIS_UV_H
#define STORAGE_REDIS_UV_H

#include "fence/protocol/error.h"
#include "storage/redis/replies.h"

#include <hiredis/async.h>
#include <uv.h>

/* Polls @context on @loop until hiredis frees it, and watches its reads (replies.h). Bytes that no
 * Redis sends end the connection as if it had broken: storage_replies_wrong() has the reason in the
 * callbacks. FENCE_ENOMEM, FENCE_EIO: @context is not attached, and the caller frees it. */
FENCE_CHECKED int storage_redis_uv_attach(redisAsyncContext *context, uv_loop_t *loop,
                                          enum storage_replies_to to);

/* Sends the queued bytes, as far as the socket takes them; the rest follows when it is writable.
 * May free the context, if the connection turns out to be broken: its disconnect callback and the
 * callbacks of its commands have then run. */
void storage_redis_uv_flush(redisAsyncContext *context);

#endif
