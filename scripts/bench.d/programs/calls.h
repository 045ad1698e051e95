/* Script calls to real masters for the locks of virtual clients: all requests of a loop's turn in
 * one call a master, and no protocol: no deadlines, no confirmation, no validity. With pawld's own
 * scripts and connections, or with the least script (minimal.h). A lost master ends the program. */
#ifndef SCRIPTS_BENCH_D_PROGRAMS_CALLS_H
#define SCRIPTS_BENCH_D_PROGRAMS_CALLS_H

#include "fence/protocol/limits.h"

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

enum {
    CALLS_CLIENTS_MAX = 4096,
    CALLS_RESOURCE_MAX = 64,
};

/* Which masters, and what they are asked. */
struct calls_options {
    bool minimal;     /* the least script, rather than pawld's */
    bool may_be_none; /* the program's other options want no master */
    unsigned masters;
    const char *urls[FENCE_MASTERS_MAX];
    unsigned asked; /* the first so many of them, for each lock; 0: all */
};

struct calls_events {
    void *context;
    void (*ready)(void *context); /* once, when all masters are */
    /* A majority did what was asked (@good), or cannot any more. */
    void (*answered)(void *context, unsigned client, bool good);
    void (*idle)(void *context); /* no request is without a reply, not even of a master too many */
};

struct calls;

/* --master, --minimal and --majority, for the program's own parser: a struct calls_options is its
 * input. */
extern const struct argp calls_argp;

/* Begins to connect, in @loop. Ends the program, saying why, if it cannot. */
struct calls *calls_new(uv_loop_t *loop, const struct calls_options *options, unsigned clients,
                        const struct calls_events *events);

/* Asks for the lock of @resource under the client's own lock id, which calls_lock_id() tells.
 * Precondition for both: the masters are ready, and the client has no request under way. */
void calls_acquire(struct calls *calls, unsigned client, const char *resource);
/* Gives that lock back. */
void calls_release(struct calls *calls, unsigned client);

/* Valid as long as @calls is. */
const char *calls_lock_id(const struct calls *calls, unsigned client);

/* Whether a flush would send a script call. Only of pawld's scripts. */
bool calls_could_send(const struct calls *calls);

/* Sends what was gathered: before the loop waits. */
void calls_flush(struct calls *calls);

/* The connections are closed by the turns of the loop that follow. */
void calls_free(struct calls *calls);

#endif
