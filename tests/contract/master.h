/* One master that the contract is held against, of whichever kind. It is the second of a fleet of
 * three; the others are not there. */
#ifndef TESTS_CONTRACT_MASTER_H
#define TESTS_CONTRACT_MASTER_H

#include "fence/fleet/fleet.h"
#include "fence/protocol/message.h"
#include "fence/protocol/rejoin_message.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CONTRACT_MASTERS = 3,
    CONTRACT_ME = 1, /* from 0 */
    CONTRACT_TTL_MAX_MS = 300000,
    CONTRACT_EXTENSIONS_MAX = 250000, /* that the marker names */
};

/* The id of the fleet. */
#define CONTRACT_FLEET "f1ee700000000000000000000000000000000000"

/* The acts on a master behind its back. */
enum contract_harm {
    CONTRACT_FORGET,        /* everything that it holds is gone */
    CONTRACT_RENUMBER,      /* its marker names another member */
    CONTRACT_FOLLOW,        /* it was a replica for a moment: another lineage */
    CONTRACT_SOFTEN,        /* its settings no longer make it durable */
    CONTRACT_SET_COUNTER,   /* the counter of a resource is @number */
    CONTRACT_SET_FLOOR,     /* the floor of all counters is @number */
    CONTRACT_FOREIGN_LOCK,  /* the key of a lock holds what Pawl did not write, ... */
    CONTRACT_ENDLESS_LOCK,  /* ... or has no expiry */
    CONTRACT_MISCOUNT,      /* a counter is no number, */
    CONTRACT_MISCOUNT_NAME, /* or a named one is none */
    CONTRACT_KEEP_FOR_LONG, /* its clock was set back after a lock was released */
};

struct contract_harming {
    enum contract_harm harm;
    const char *resource;
    uint16_t slot;
    int64_t number;
};

/* The lock of @resource was released by the holder with @lock_id. */
struct contract_notice {
    char lock_id[FENCE_LOCK_ID_MAX + 1];
    char resource[FENCE_RESOURCE_MAX + 1];
};

struct contract_master;

/* A kind of master. Memory that a reply points to lives until the next call. */
struct contract_ops {
    bool
        has_keys; /* somebody may write its keys by hand: FOREIGN_LOCK, ENDLESS_LOCK, MISCOUNT... */
    bool has_positions; /* more than one server may reach it, so it tells its position */
    bool has_settings;  /* somebody may change while it runs how it keeps writes: SOFTEN */

    /* A blank one. @durable: it loses nothing in a crash. */
    struct contract_master *(*new)(bool durable);
    void (*free)(struct contract_master *master);

    /* Shakes hands. */
    struct fence_facts (*facts)(struct contract_master *master);

    /* One request under @view, and one step of a rejoin. */
    struct fence_reply (*ask)(struct contract_master *master, const struct fence_request *request,
                              const struct fence_view *view);
    struct fence_rejoin_reply (*rejoin)(struct contract_master *master,
                                        const struct fence_rejoin_request *request);

    /* Names the present lineage in the marker, if it is the marker in @facts; shakes hands. */
    struct fence_facts (*restamp)(struct contract_master *master, const struct fence_facts *facts);

    /* Reports whether there is a notice that was not told yet: the oldest. Waits for those on their
     * way. */
    bool (*heard)(struct contract_master *master, struct contract_notice *ret_notice);

    void (*pass)(struct contract_master *master, unsigned ms);
    void (*harm)(struct contract_master *master, const struct contract_harming *harming);
};

/* The kind that this executable is built with. */
extern const struct contract_ops contract_ops;

#endif
