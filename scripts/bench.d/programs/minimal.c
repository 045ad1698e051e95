#include "scripts/bench.d/programs/minimal.h"

#include "scripts/bench.d/programs/minimal.lua.h"
#include "storage/redis/batch.h"
#include "storage/redis/outbox.h"
#include "storage/redis/request.h"
#include "storage/redis/uv.h"
#include "tests/lib/clock.h"

#include <assert.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/async.h>

enum {
    SHA_LEN = 40,
    HEAD_BYTES = 256, /* of a command, before its keys */
    ARGS_EACH = 3,
};

/* One script call. */
struct call {
    struct minimal_master *master;
    struct call *next; /* of those that are free */
    unsigned count;
    uint64_t tags[STORAGE_BATCH_MAX];
};

struct minimal_master {
    unsigned i;
    struct minimal_events events;
    redisAsyncContext *context;
    bool closing;
    char sha[SHA_LEN + 1];
    struct call *gathered; /* NULL: nothing */
    struct call *spare;
    unsigned awaited; /* calls without an answer */
    uint64_t called_us;
    size_t keys_len;
    size_t args_len;
    char keys[STORAGE_BATCH_MAX * MINIMAL_KEY_BYTES];
    char args[STORAGE_BATCH_MAX * MINIMAL_ARGS_BYTES];
    char command[HEAD_BYTES + STORAGE_BATCH_MAX * (MINIMAL_KEY_BYTES + MINIMAL_ARGS_BYTES)];
};

static const char counters[] = "bench:counters";

static size_t write_text(char *to, const char *text)
{
    return storage_resp_bulk(to, text, strlen(text));
}

/* ---- requests -------------------------------------------------------------------------------- */

void minimal_encode(uint64_t tag, const char *resource, const char *lock_id, unsigned ttl_ms,
                    unsigned slot, struct minimal_request *ret_request)
{
    char key[MINIMAL_KEY_BYTES / 2];
    snprintf(key, sizeof(key), "bench:lock:%s", resource);
    ret_request->tag = tag;
    ret_request->key_len = write_text(ret_request->key, key);
    size_t len = write_text(ret_request->args, lock_id);
    len += storage_resp_number(ret_request->args + len, ttl_ms);
    len += storage_resp_number(ret_request->args + len, slot);
    ret_request->args_len = len;
    assert(ret_request->key_len <= MINIMAL_KEY_BYTES && len <= MINIMAL_ARGS_BYTES);
}

static struct call *take_call(struct minimal_master *master)
{
    struct call *call = master->spare;
    if (call)
        master->spare = call->next;
    else
        call = malloc(sizeof(*call));
    if (!call)
        err(1, "cannot go on");
    call->master = master;
    call->count = 0;
    return call;
}

static void lost(const struct minimal_master *master, const redisReply *reply)
{
    master->events.lost(master->events.context, master->i,
                        reply->type == REDIS_REPLY_ERROR ? reply->str : "an unexpected reply");
}

static void on_answer(redisAsyncContext *context, void *data, void *privdata)
{
    struct call *call = privdata;
    struct minimal_master *master = call->master;
    const redisReply *reply = data;
    (void)context;
    master->awaited--;
    if (reply && (reply->type != REDIS_REPLY_ARRAY || reply->elements != call->count)) {
        lost(master, reply);
        return;
    }
    for (unsigned k = 0; reply && k < call->count; k++)
        master->events.reply(master->events.context, master->i, call->tags[k],
                             reply->element[k]->integer > 0);
    call->next = master->spare;
    master->spare = call;
}

static void send_gathered(struct minimal_master *master)
{
    struct call *call = master->gathered;
    char *command = master->command;
    size_t len = storage_resp_head(command, '*', 4 + (1 + ARGS_EACH) * (size_t)call->count);
    len += write_text(command + len, "EVALSHA");
    len += write_text(command + len, master->sha);
    len += storage_resp_number(command + len, 1 + call->count);
    len += write_text(command + len, counters);
    memcpy(command + len, master->keys, master->keys_len);
    len += master->keys_len;
    memcpy(command + len, master->args, master->args_len);
    len += master->args_len;
    master->keys_len = master->args_len = 0;
    master->gathered = NULL;
    master->awaited++;
    master->called_us = clock_us();
    if (redisAsyncFormattedCommand(master->context, on_answer, call, command, len) != REDIS_OK)
        errx(1, "cannot send to a master");
}

void minimal_submit(struct minimal_master *master, const struct minimal_request *request)
{
    if (master->gathered && master->gathered->count == STORAGE_BATCH_MAX)
        send_gathered(master);
    if (!master->gathered)
        master->gathered = take_call(master);
    master->gathered->tags[master->gathered->count++] = request->tag;
    memcpy(master->keys + master->keys_len, request->key, request->key_len);
    master->keys_len += request->key_len;
    memcpy(master->args + master->args_len, request->args, request->args_len);
    master->args_len += request->args_len;
}

void minimal_flush(struct minimal_master *master)
{
    const bool may_call = master->awaited == 0 || (master->awaited < STORAGE_CALLS_AT_A_TIME &&
                                                   clock_us() - master->called_us > STORAGE_FAR_US);
    if (master->gathered && may_call)
        send_gathered(master);
    storage_redis_uv_flush(master->context);
}

/* ---- its life -------------------------------------------------------------------------------- */

static void on_loaded(redisAsyncContext *context, void *data, void *privdata)
{
    struct minimal_master *master = privdata;
    const redisReply *reply = data;
    if (!reply)
        return; /* on_end() says why */
    if (reply->type != REDIS_REPLY_STRING || reply->len != SHA_LEN) {
        lost(master, reply);
        return;
    }
    memcpy(master->sha, reply->str, SHA_LEN);
    (void)context;
    master->events.ready(master->events.context, master->i);
}

static void on_end(const redisAsyncContext *context, int status)
{
    struct minimal_master *master = context->data;
    if (!master->closing)
        master->events.lost(master->events.context, master->i,
                            status == REDIS_OK ? "closed" : context->errstr);
}

static void on_connected(const redisAsyncContext *context, int status)
{
    if (status != REDIS_OK)
        on_end(context, status);
}

struct minimal_master *minimal_new(uv_loop_t *loop, unsigned i, const struct storage_redis_url *url,
                                   const struct minimal_events *events)
{
    struct minimal_master *master = calloc(1, sizeof(*master));
    if (!master)
        err(1, "cannot start");
    master->i = i;
    master->events = *events;
    master->context = url->path[0] != '\0' ? redisAsyncConnectUnix(url->path)
                                           : redisAsyncConnect(url->host, url->port);
    if (!master->context || master->context->err ||
        storage_redis_uv_attach(master->context, loop, STORAGE_REPLIES_TO_QUESTIONS) != 0)
        errx(1, "cannot connect to %s", url->path[0] != '\0' ? url->path : url->host);
    master->context->data = master;
    redisAsyncSetConnectCallback(master->context, on_connected);
    redisAsyncSetDisconnectCallback(master->context, on_end);
    redisAsyncCommand(master->context, on_loaded, master, "SCRIPT LOAD %s",
                      scripts_bench_d_programs_minimal);
    return master;
}

void minimal_free(struct minimal_master *master)
{
    master->closing = true;
    redisAsyncFree(master->context);
    while (master->spare) {
        struct call *call = master->spare;
        master->spare = call->next;
        free(call);
    }
    free(master->gathered);
    free(master);
}
