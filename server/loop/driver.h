/* The driver: turns what happens into events for the core, and the core's effects into deeds.
 * Nothing else knows both the core and the masters. One driver, one core, one loop. */
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
    unsigned deadline_ms; /* silence after which a master counts as gone */
    unsigned probe_ms;    /* from one probe of a master to the next; 0: as often as is usual */
    enum fence_ask ask;
    uint32_t calls;    /* under way at a time, up to SERVER_CALLS; one more is turned away */
    uint32_t waiters;  /* acquires among them that may wait */
    uint32_t counters; /* named counters beyond which none is made; 0: FENCE_COUNTERS_DEFAULT */
    const char *label; /* begins each line of log about the masters: "", or whose they are.
                        * Borrowed for the driver's life */
    bool traces;       /* each decision of the core is logged, ... */
    const char *trace_lock; /* ... where not NULL, about this lock alone; borrowed for the driver's
                             * life */
    bool tells_audit;       /* also log what the audit finds: one of several drivers is enough */

    /* The operator's value for the fleet; 0: none. If the fleet has another value, that one counts,
     * and the log has one warning. */
    uint32_t ttl_max_ms;
    uint32_t extensions_max;

    /* A call was answered. @answer lives for this call of the function. False: no
     * client can use the answer, and its grant is released at once. */
    bool (*answer)(void *context, const struct fence_answer *answer);

    /* Master @i answered @requests requests that were sent together, after @round_trip_us. NULL:
     * not of interest. */
    void (*batch)(void *context, unsigned i, unsigned requests, uint64_t round_trip_us);

    /* The call of @client, an acquire of @resource, begins to wait: told while
     * server_driver_tell_waits() says so. It may call nothing of the driver. NULL: not of interest.
     */
    void (*waits)(void *context, uint64_t client, const char *resource);
    void *context;
};

struct server_driver;

/* Starts to connect to the masters when the loop runs. FENCE_EINVAL: an even number of masters, or
 * too many. FENCE_ENOMEM. */
FENCE_CHECKED int server_driver_new(const struct server_driver_config *config,
                                    struct server_driver **ret_driver);

/* Closes all connections; calls under way get no answer. The memory goes when the loop has run the
 * last callbacks: run it until it is empty. NULL is fine. */
void server_driver_free(struct server_driver *driver);

/* A client's call; it is answered by config.answer, perhaps before this returns. Allowed in
 * config.answer, too: then the strings of @call last until it is answered. */
void server_driver_call(struct server_driver *driver, const struct fence_call *call);

/* The client of a call has gone. An acquire of its is answered by that. */
void server_driver_left(struct server_driver *driver, uint64_t client);

/* To be called last before the loop sleeps. Sends what the turn has gathered, one script call for
 * each master. The loop will wake when the core's next timer is due. */
void server_driver_turn(struct server_driver *driver);

/* The counts of the core since the start, and its pending clean-ups. */
const struct fence_counts *server_driver_counts(const struct server_driver *driver);
unsigned server_driver_cleanups(const struct server_driver *driver);

/* When the present event happened; CLOCK_BOOTTIME. */
uint64_t server_driver_now_us(const struct server_driver *driver);

/* The known facts about the masters; valid until the next turn of the loop. */
const struct fence_fleet *server_driver_fleet(const struct server_driver *driver);
const char *server_driver_address(const struct server_driver *driver, unsigned i);
const struct fence_audit *server_driver_audit(const struct server_driver *driver);

/* The same for GET /v1/fleet and /metrics: the status of each master. */
void server_driver_masters(const struct server_driver *driver,
                           struct api_master_status ret_masters[static FENCE_MASTERS_MAX]);

/* Master @i, for questions about what stands there that the core has no part in
 * (storage_master_scan()). To be asked while it is active. */
struct storage_master *server_driver_master(struct server_driver *driver, unsigned i);

/* Calls without an answer yet, and those of them that may wait for a lock. */
unsigned server_driver_calls(const struct server_driver *driver);
unsigned server_driver_waiting(const struct server_driver *driver);

/* Reports whether config.waits is to be told from now on. Decisions cost a little more then. */
void server_driver_tell_waits(struct server_driver *driver, bool tells);

/* Fresh random bytes, from the driver's own pool. */
struct server_random *server_driver_random(struct server_driver *driver);

#endif
