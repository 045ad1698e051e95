/* The state of the store: the call, and its request that is done now. */
#ifndef STORAGE_REDIS_MODULE_STATE_H
#define STORAGE_REDIS_MODULE_STATE_H

#include "fence/master/store.h"
#include "storage/redis/module/api.h"
#include "storage/redis/module/request.h"
#include "storage/redis/module/value.h"

#include <stdbool.h>

/* Why a request failed in the store. */
enum storage_module_failure {
    STORAGE_MODULE_FINE,
    STORAGE_MODULE_FOREIGN,    /* a key has what Pawl did not write */
    STORAGE_MODULE_ENDLESS,    /* the lock has no expiry */
    STORAGE_MODULE_MISCOUNTED, /* a counter is no number of Pawl's */
    STORAGE_MODULE_ODD,        /* the same, where Lua meets it as an error of a script */
    STORAGE_MODULE_NO_MEMORY,  /* the server uses more than its limit */
};

/* The lock that was read last. */
struct storage_module_found {
    bool read;
    unsigned k;                           /* index among the request's locks */
    struct fence_stored_lock lock;        /* which expires at UINT64_MAX where nothing ends it */
    char value[STORAGE_MODULE_VALUE_MAX]; /* its text, without an expiry */
    size_t value_len;
    struct redis_key *key; /* open; NULL: it is not */
};

struct storage_module_store {
    struct redis_ctx *ctx;
    struct redis_key *fleet;       /* open: the marker and the counters */
    struct redis_string *fleet_at; /* its name */
    bool full;                     /* the server used more than its limit as the call began, */
    bool wrote;                    /* and nothing was written since. Redis refuses no later write */
    bool looked_for_waiters;
    bool somebody_waits;

    /* State of the request in hand. */
    const struct storage_module_request *request;
    struct redis_string **keys; /* keys of its locks */
    const struct fence_turn *turn;
    struct storage_module_found found;
    enum storage_module_failure failure;
    unsigned failed_at; /* the index of the lock */
    unsigned looks;     /* at the first lock, of a take */
    bool names_one_more;
};

#endif
