/* The configuration of an embedded master. */
#ifndef STORAGE_SQLITE_MASTER_CONFIG_H
#define STORAGE_SQLITE_MASTER_CONFIG_H

#include "storage/master.h"
#include "storage/sqlite/store.h"

#include <uv.h>

struct storage_sqlite_config {
    uv_loop_t *loop;
    struct storage_sqlite_store *store; /* must outlive the master, and its loop */
    unsigned index;                     /* which member of the fleet it is, from 0 */
    unsigned probe_ms;                  /* from one probe to the next */
    struct storage_master_events events;
};

#endif
