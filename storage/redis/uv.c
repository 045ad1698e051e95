#include "storage/redis/uv.h"

#include "storage/redis/tls.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

struct link_poll {
    uv_poll_t handle;
    redisAsyncContext *context; /* NULL once hiredis let go */
    int events;                 /* the events that hiredis waits for */
    bool connected;
    bool tls; /* with TLS a write may wait for a read, and a read for a write: watch exactly the
               * events that hiredis asks for */
    struct storage_replies replies;
};

static void on_ready(uv_poll_t *handle, int status, int events);

static void watch(struct link_poll *link)
{
    assert((link->events & ~(UV_READABLE | UV_WRITABLE)) == 0);
    if (link->events == 0)
        uv_poll_stop(&link->handle);
    else
        uv_poll_start(&link->handle, link->events, on_ready);
}

static void on_ready(uv_poll_t *handle, int status, int events)
{
    struct link_poll *link = handle->data;
    if (link->tls)
        storage_tls_forget_errors();
    /* The read or the write that an error breaks reports it: hiredis must find it there. */
    if (status < 0)
        events = link->events;
    /* With TLS, too, one read is enough for a readable socket: hiredis reads 16 KiB, and a record
     * is no longer. So no bytes stay in OpenSSL without an event of the socket. */
    if (link->context && (events & UV_READABLE)) {
        storage_replies_expect(&link->replies);
        redisAsyncHandleRead(link->context);
    }
    if (link->context && !storage_replies_bounded(&link->replies))
        redisAsyncFree(link->context);
    if (link->context && (events & UV_WRITABLE)) {
        link->connected = true;
        redisAsyncHandleWrite(link->context);
    }
    if (link->context && status < 0)
        watch(link); /* libuv stopped at the error; hiredis has not seen one yet */
}

static void add_read(void *data)
{
    struct link_poll *link = data;
    if (link->events & UV_READABLE)
        return;
    link->events |= UV_READABLE;
    watch(link);
}

static void del_read(void *data)
{
    struct link_poll *link = data;
    if (!(link->events & UV_READABLE))
        return;
    link->events &= ~UV_READABLE;
    watch(link);
}

static void add_write(void *data)
{
    struct link_poll *link = data;
    if (link->events & UV_WRITABLE)
        return;
    link->events |= UV_WRITABLE;
    /* On an established connection, the turn's flush writes at once, and usually nothing is left to
     * wait for. */
    if (!link->connected || link->tls)
        watch(link);
}

static void del_write(void *data)
{
    struct link_poll *link = data;
    if (!(link->events & UV_WRITABLE))
        return;
    link->events &= ~UV_WRITABLE;
    watch(link);
}

static void on_poll_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void cleanup(void *data)
{
    struct link_poll *link = data;
    link->context = NULL;
    uv_close((uv_handle_t *)&link->handle, on_poll_closed);
}

int storage_redis_uv_attach(redisAsyncContext *context, uv_loop_t *loop, enum storage_replies_to to)
{
    struct link_poll *link = calloc(1, sizeof(*link));
    if (!link)
        return FENCE_ENOMEM;
    if (uv_poll_init(loop, &link->handle, context->c.fd) < 0) {
        free(link);
        return FENCE_EIO;
    }
    link->handle.data = link;
    link->context = context;
    link->tls = storage_tls_is_spoken(&context->c);
    storage_replies_watch_async(&link->replies, context, to);
    context->ev.data = link;
    context->ev.addRead = add_read;
    context->ev.delRead = del_read;
    context->ev.addWrite = add_write;
    context->ev.delWrite = del_write;
    context->ev.cleanup = cleanup;
    return 0;
}

void storage_redis_uv_flush(redisAsyncContext *context)
{
    struct link_poll *link = context->ev.data;
    assert(link->context == context);
    if (!link->connected || !(link->events & UV_WRITABLE))
        return;
    if (link->tls) {
        storage_tls_forget_errors();
        redisAsyncHandleWrite(context);
        return;
    }
    /* hiredis sets the flag again if the socket does not take everything. */
    link->events &= ~UV_WRITABLE;
    redisAsyncHandleWrite(context);
    if (link->context && (link->events & UV_WRITABLE))
        watch(link);
}
