/* The link between a master and its store: handshakes, probes, results from the store's thread, and
 * the wait after a failure. Private to storage/sqlite/master.c. The loop's thread. */
#ifndef STORAGE_SQLITE_MASTER_LINK_H
#define STORAGE_SQLITE_MASTER_LINK_H

#include "storage/sqlite/batches.h"
#include "storage/sqlite/inbox.h"
#include "storage/sqlite/master_config.h"
#include "storage/sqlite/store_job.h"

#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

enum link {
    LINK_BACKOFF,
    LINK_HANDSHAKE,
    LINK_READY,
    LINK_CLOSED,
};

struct storage_sqlite_master {
    struct storage_master base; /* first: ops get a pointer to it */
    struct storage_sqlite_config config;
    struct storage_told told_by_store;
    enum link link;
    unsigned failures; /* since it was last steady */
    bool reset_wanted;
    char detail[STORAGE_JOB_WHY_MAX];
    uint64_t round_trip_us;
    struct fence_facts facts; /* facts of the handshake */
    bool leads;               /* this connection marked the master: its marker will change */

    struct storage_batches batches;
    struct storage_job *gathered; /* one of these; NULL: nothing was submitted */
    unsigned sent;                /* batches of this connection that are under way */
    unsigned epoch;               /* counts connections: requests of an earlier one are lost */
    unsigned jobs_out;
    struct storage_job *probe;
    uint64_t probe_since_ms;

    uv_timer_t timer;
    unsigned open; /* handles */
    bool closing;
    struct storage_inbox inbox;
};

static inline const struct storage_master_events *
storage_sqlite_link_events(const struct storage_sqlite_master *master)
{
    return &master->config.events;
}

/* Starts the first handshake, at the loop's next turn. */
void storage_sqlite_link_begin(struct storage_sqlite_master *master);

/* Hands @job to the store. storage_sqlite_link_take() gets it back. */
void storage_sqlite_link_submit(struct storage_sqlite_master *master, struct storage_job *job);

/* Starts a handshake with @job. If @job is NULL for lack of memory, tries later. */
void storage_sqlite_link_handshake(struct storage_sqlite_master *master, struct storage_job *job);

/* Ends the link, and starts a handshake after a pause. All requests under way are lost. */
void storage_sqlite_link_retry(struct storage_sqlite_master *master);

/* @job is done. */
void storage_sqlite_link_take(struct storage_sqlite_master *master, struct storage_job *job);

#endif
