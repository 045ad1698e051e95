/* Guards: one for each connection, from its accept to its end. A guard reads the socket for
 * libmicrohttpd (api/http/recv.c), passes each byte through api/http/intake.h, and gives a head and
 * a body their time. It refuses by itself what libmicrohttpd must not see. It writes the answer to
 * the socket after those of all earlier requests, and ends the connection.
 *
 *     fresh --first byte--> HEAD --> BODY --> handled --answered--> idle --first byte--> HEAD ...
 *       '-------time is up---'--------'-----> refused: what still comes is dropped --> closed
 *
 * Private to api/. One loop, one thread. */
#ifndef API_HTTP_GUARD_H
#define API_HTTP_GUARD_H

#include "api/http/intake.h"
#include "fence/protocol/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    API_GUARD_LINGER_MS = 1000, /* for a refused client to read why, before the connection ends */
    API_GUARD_EVICT_MS = 1000,  /* a head that takes longer may be ended where space is short */
    API_GUARD_EXPIRE_MAX = 512, /* connections ended in one turn */
};

/* What a connection has a limited time for. */
enum api_guard_wait {
    API_GUARD_HEAD, /* also for its first byte */
    API_GUARD_BODY,
    API_GUARD_LINGER,
    API_GUARD_WAITS, /* how many there are */
    API_GUARD_FREE = API_GUARD_WAITS,
};

struct api_guard {
    struct api_guards *guards;
    struct api_guard *prev, *next; /* in the list of what it waits for */
    const struct api_fault *fault; /* found, and to be told */
    uint64_t since_ms;             /* when the wait began; CLOCK_MONOTONIC */
    int fd;
    uint32_t answered; /* requests; wraps, as intake.completed does */
    uint8_t wait;      /* enum api_guard_wait */
    bool fresh;        /* nothing came yet */
    bool ended;        /* libmicrohttpd is told that the client has gone */
    struct api_intake intake;
};

struct api_guards {
    struct api_guard **by_fd;
    size_t size; /* of by_fd */
    struct {
        struct api_guard *first, *last; /* the longest wait first */
        uint32_t limit_ms;
    } waits[API_GUARD_WAITS];
};

void api_guards_init(struct api_guards *guards, uint32_t head_ms, uint32_t body_ms);
void api_guards_fini(struct api_guards *guards);

/* Sets a guard on a connection that was accepted. FENCE_ENOMEM. */
FENCE_CHECKED int api_guards_add(struct api_guards *guards, int fd);

/* The connection is about to be closed. One without a guard is fine. */
void api_guards_remove(struct api_guards *guards, int fd);

/* NULL: @fd is not one of theirs. */
struct api_guard *api_guards_find(const struct api_guards *guards, int fd);

/* recv(2) for libmicrohttpd: bytes that it may see; 0 at the end; -1 with errno. */
ssize_t api_guard_read(struct api_guard *guard, char *buffer, size_t size);

/* A request was refused before it came whole: nothing more is waited for. */
void api_guard_refused(struct api_guard *guard);

/* A request that reached a handler has its answer, or its connection ends. */
void api_guard_answered(struct api_guard *guard);

/* Ends those whose time is up, at most API_GUARD_EXPIRE_MAX. */
void api_guards_expire(struct api_guards *guards);

/* How long until the next time is up; -1: never. */
int api_guards_timeout_ms(const struct api_guards *guards);

/* Ends connections whose head is not there yet, the oldest first, at most @count: there is no space
 * for others. Returns how many. They are gone after the next round of their shard. */
unsigned api_guards_evict(struct api_guards *guards, unsigned count);

#endif
