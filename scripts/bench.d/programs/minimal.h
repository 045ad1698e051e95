/* A Redis that is asked the least that a lock with a counter takes (minimal.lua), in calls that are
 * gathered as pawld gathers its own (storage/redis/outbox.h). It is spoken to without a handshake,
 * and is not asked whether it is durable. */
#ifndef SCRIPTS_BENCH_D_PROGRAMS_MINIMAL_H
#define SCRIPTS_BENCH_D_PROGRAMS_MINIMAL_H

#include "storage/redis/url.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uv.h>

enum {
    MINIMAL_KEY_BYTES = 128,
    MINIMAL_ARGS_BYTES = 128,
};

struct minimal_events {
    void *context;
    void (*ready)(void *context, unsigned i);
    /* @done: the lock was taken or released. */
    void (*reply)(void *context, unsigned i, uint64_t tag, bool done);
    /* Has to end the program. */
    void (*lost)(void *context, unsigned i, const char *why);
};

/* A request as bytes of a script call, the same for every master. */
struct minimal_request {
    uint64_t tag;
    size_t key_len;
    size_t args_len;
    char key[MINIMAL_KEY_BYTES];
    char args[MINIMAL_ARGS_BYTES];
};

struct minimal_master;

/* Takes @resource under @lock_id for @ttl_ms; 0: releases it. The names are short: both fit. */
void minimal_encode(uint64_t tag, const char *resource, const char *lock_id, unsigned ttl_ms,
                    unsigned slot, struct minimal_request *ret_request);

/* Begins to connect. @i is what the events call it. Ends the program, saying why, if it cannot. */
struct minimal_master *minimal_new(uv_loop_t *loop, unsigned i, const struct storage_redis_url *url,
                                   const struct minimal_events *events);

/* Adds a request to what the next flush sends. Precondition: it is ready. */
void minimal_submit(struct minimal_master *master, const struct minimal_request *request);

/* Sends what was gathered, unless a call is on its way that it can wait for. */
void minimal_flush(struct minimal_master *master);

/* It is closed by the turns of the loop that follow. */
void minimal_free(struct minimal_master *master);

#endif
