/* The functions that the calls need from the program. The program connects them to a core. */
#ifndef API_V1_BACKEND_H
#define API_V1_BACKEND_H

#include "fence/fleet/audit.h"
#include "fence/fleet/fleet.h"
#include "fence/protocol/message.h"

/* The program's view of a connection to a master. Valid until the loop goes on. */
struct api_master_status {
    const char *address;      /* its name for people, without credentials */
    const char *last_failure; /* for people; "" if there was none */
    uint64_t round_trip_us;   /* time of its last answer; 0 before the first */
    uint64_t state_for_us;    /* since it came into its state, or since the program started */
    bool returns;             /* @returns_in_us is known */
    uint64_t returns_in_us;   /* until the master should vote again */
};

struct api_events_call;
struct fence_listing_call;
struct api_routes;
union api_worker_counters;

struct api_backend {
    void *context;

    /* The phase of the end of the process. The owner may change these between two turns. */
    bool leaving;  /* /readyz says so */
    bool draining; /* nothing more is granted; extend and release are still served */

    /* Takes a call, whose strings are valid until this returns. Exactly one api_locks_answer() with
     * call->client must follow, or api_counters_answer() for FENCE_CALL_COUNT, within this function
     * or at any later moment in the loop. */
    void (*call)(void *context, const struct fence_call *call);

    /* Takes a call for a page of a listing (api/v1/listing.h); the same holds for it,
     * with api_listing_answer(). */
    void (*list)(void *context, const struct fence_listing_call *call);

    /* Takes a call for a stream of events (api/v1/events.h). Exactly one api_events_begin() or
     * api_events_refuse() must follow from inside this function. */
    void (*follow)(void *context, const struct api_events_call *call);

    /* A fresh random lock id (160 bits, base64url), terminated. */
    void (*new_lock_id)(void *context, char ret[static FENCE_LOCK_ID_LEN + 1]);

    /* The status of each master of @fleet. */
    void (*masters)(void *context, struct api_master_status ret_masters[static FENCE_MASTERS_MAX]);

    /* The fleet as the program sees it, and the faults of masters that vote nevertheless. Both may
     * change between two turns. NULL before the first request. */
    const struct fence_fleet *fleet;
    const struct fence_audit *audit;

    /* The counts of each worker of the process (api/v1/metrics.h), which continue to change. */
    const union api_worker_counters *const *counters;
    unsigned workers;

    const struct api_routes *routes; /* routes of the server: the calls that are counted */
    size_t routes_count;
    const char *version; /* version of the program */
};

#endif
