/* What the calls need from the program that runs them. The program puts a core behind it. */
#ifndef API_V1_BACKEND_H
#define API_V1_BACKEND_H

#include "fence/fleet/audit.h"
#include "fence/fleet/fleet.h"
#include "fence/protocol/message.h"

/* How busy the service is: all its workers together, each as it was at the end of its last turn. */
struct api_metrics {
    unsigned workers;
    uint64_t calls;       /* under way */
    uint64_t waiting;     /* those of them that may wait for a lock */
    uint64_t connections; /* of clients, open */
    uint64_t grants;      /* since the start */
    uint64_t hedges;      /* masters asked since the start as another did not answer in time */
};

struct fence_listing_call;
struct api_routes;
union api_worker_counters;

struct api_backend {
    void *context;

    /* How far the end of the process is. Whoever fills this in may change them between two turns.
     */
    bool leaving;  /* /readyz says so */
    bool draining; /* nothing more is granted; extend and release are served */

    /* Takes a call. Its strings live only until this returns. Exactly one api_locks_answer() with
     * call->client must follow, or api_counters_answer() for FENCE_CALL_COUNT, from inside this
     * function or at any later moment in the loop. */
    void (*call)(void *context, const struct fence_call *call);

    /* Takes a call for a page of a listing (api/v1/listing.h); the same holds for it,
     * with api_listing_answer(). */
    void (*list)(void *context, const struct fence_listing_call *call);

    /* What is known of the fleet; valid until the loop goes on. */
    const struct fence_fleet *(*fleet)(void *context);

    /* The address of master @i (0 .. n - 1) as people know it, without credentials. */
    const char *(*master_address)(void *context, unsigned i);

    /* Its last failure, for people; "" if there was none. And how long its last answer took; 0
     * before the first. */
    const char *(*master_detail)(void *context, unsigned i);
    uint64_t (*master_round_trip_us)(void *context, unsigned i);

    /* In how many microseconds master @i should vote again; false if nobody can say. */
    bool (*master_eligible_us)(void *context, unsigned i, uint64_t *ret_us);

    /* What is wrong with masters that may vote all the same; valid until the loop goes on. */
    const struct fence_audit *(*audit)(void *context);

    void (*metrics)(void *context, struct api_metrics *ret_metrics);

    /* What worker @i (0 .. workers - 1) counts (api/v1/metrics.h); it goes on counting. */
    const union api_worker_counters *(*counters)(void *context, unsigned i);

    const struct api_routes *routes; /* of the server: the calls that are counted */
    size_t routes_count;
    const char *version; /* of the program */

    /* A fresh random lock id (160 bits, base64url), terminated. */
    void (*new_lock_id)(void *context, char ret[static FENCE_LOCK_ID_LEN + 1]);
};

#endif
