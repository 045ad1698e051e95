/* The driver: turns events of the server into events of the core, and carries out the core's
 * effects. No other file knows both the core and the masters. One driver, one core, one loop. */
#ifndef SERVER_LOOP_DRIVER_H
#define SERVER_LOOP_DRIVER_H

#include "api/v1/backend.h"
#include "fence/core.h"
#include "fence/fleet/audit.h"
#include "server/loop/masters.h"
#include "server/system/random.h"
#include "storage/master.h"

#include <uv.h>

enum {
    SERVER_CALLS = 16384,       /* calls of a process; one more is refused (429) */
    SERVER_WAITERS = 12 * 1024, /* default number of waiting acquires among them */
    SERVER_TICKS_A_TURN = 1024, /* timers served before the loop looks at its sockets again */
};

struct server_driver_config {
    uv_loop_t *loop;
    struct server_addresses addresses;
    unsigned deadline_ms; /* silence after which a master counts as down */
    unsigned probe_ms;    /* between two probes of a master; 0: the default */
    enum fence_ask ask;
    uint32_t calls;         /* calls under way at a time, up to SERVER_CALLS; one more is refused */
    uint32_t waiters;       /* acquires among them that may wait */
    uint32_t counters;      /* limit of named counters: a new one is not created beyond it; 0:
                             * FENCE_COUNTERS_DEFAULT */
    const char *label;      /* begins each log line about the masters; "" or the name of the worker.
                             * Borrowed for the driver's life */
    bool traces;            /* log each decision of the core */
    const char *trace_lock; /* if not NULL, log only decisions about this lock; borrowed for the
                             * driver's life */
    bool tells_audit;       /* also log the findings of the audit: one of several drivers is
                             * enough */

    /* The operator's value for the fleet; 0: none. If the fleet has another value, the fleet's
     * value counts, and the log gets one warning. */
    uint32_t ttl_max_ms;
    uint32_t extensions_max;

    /* Answers a call. @answer is valid during this function. Returns false if no client can use the
     * answer: then its grant is released at once. */
    bool (*answer)(void *context, const struct fence_answer *answer);

    /* Master @i answered @requests requests that were sent together, after @round_trip_us. May be
     * NULL. */
    void (*batch)(void *context, unsigned i, unsigned requests, uint64_t round_trip_us);

    /* The call of @client, an acquire of @resource, begins to wait. Called only while
     * server_driver_tell_waits() is on. It must not call the driver. May be NULL. */
    void (*waits)(void *context, uint64_t client, const char *resource);
    void *context;
};

struct server_driver;

/* Starts to connect to the masters when the loop runs. FENCE_EINVAL: an even number of masters, or
 * too many. FENCE_ENOMEM. */
FENCE_CHECKED int server_driver_new(const struct server_driver_config *config,
                                    struct server_driver **ret_driver);

/* Closes all connections; calls under way get no answer. The memory is freed when the loop has run
 * the last callbacks: run the loop until it is empty. NULL is fine. */
void server_driver_free(struct server_driver *driver);

/* Starts a client's call. config.answer answers it, perhaps before this returns. May be called in
 * config.answer, too: then the strings of @call must last until it is answered. */
void server_driver_call(struct server_driver *driver, const struct fence_call *call);

/* The client of a call has disconnected. If the call is an acquire, this answers it. */
void server_driver_left(struct server_driver *driver, uint64_t client);

/* Sends the requests that the turn has gathered, one script call for each master. Call it last
 * before the loop sleeps. The loop will wake when the core's next timer is due. */
void server_driver_turn(struct server_driver *driver);

/* Return the counts of the core since the start, and the number of its pending clean-ups. */
const struct fence_counts *server_driver_counts(const struct server_driver *driver);
unsigned server_driver_cleanups(const struct server_driver *driver);

/* Returns the time of the current event; CLOCK_BOOTTIME. */
uint64_t server_driver_now_us(const struct server_driver *driver);

/* Returns the known facts about the masters; valid until the next turn of the loop. */
const struct fence_fleet *server_driver_fleet(const struct server_driver *driver);
const char *server_driver_address(const struct server_driver *driver, unsigned i);
const struct fence_audit *server_driver_audit(const struct server_driver *driver);

/* Returns the status of each master, for GET /v1/fleet and /metrics. */
void server_driver_masters(const struct server_driver *driver,
                           struct api_master_status ret_masters[static FENCE_MASTERS_MAX]);

/* Returns master @i, for questions that do not go through the core (storage_master_scan()). Use it
 * only while it is active. */
struct storage_master *server_driver_master(struct server_driver *driver, unsigned i);

/* Return the number of calls without an answer, and the number of calls that may wait for a lock
 * among them. */
unsigned server_driver_calls(const struct server_driver *driver);
unsigned server_driver_waiting(const struct server_driver *driver);

/* Sets whether config.waits is called from now on. If so, decisions cost a little more. */
void server_driver_tell_waits(struct server_driver *driver, bool tells);

/* Returns the driver's pool of random bytes. */
struct server_random *server_driver_random(struct server_driver *driver);

#endif
