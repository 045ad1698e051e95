/* The answers that a handshake or a probe has read of a Redis so far (storage/redis/facts.h). */
#ifndef STORAGE_REDIS_READING_H
#define STORAGE_REDIS_READING_H

#include "fence/fleet/fleet.h"
#include "storage/redis/fitness.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    STORAGE_CONFIG_CALLS_MAX = 80,
};

/* The replies read so far. Starts zeroed, or with the findings of an earlier probe. */
struct storage_reading {
    struct fence_facts facts;
    struct storage_server server;

    /* For the process: what says whether its data can be what its marker says. */
    bool promoted;               /* it follows a replication history other than its own */
    uint64_t role_changes;       /* calls that could have, since it started, */
    uint64_t noted_role_changes; /* and when its marker was written */
    bool reset;       /* its statistics were reset since its start: the counts begin there */
    bool reset_since; /* its statistics were reset since its marker was written */
    bool noted;       /* the marker has those calls */
    char config_calls[STORAGE_CONFIG_CALLS_MAX]; /* as storage/redis/lua/lineage_check.lua has them
                                                  */
    bool appends;                                /* it has an append-only file */
    bool rewriting;       /* its append-only file is being rewritten, or is to be */
    uint64_t rewrites;    /* count of it, since it started */
    uint64_t evicted;     /* keys, since it started */
    uint64_t config_sets; /* calls of CONFIG SET, since it started */
    uint64_t bytes;       /* bytes that it received since it started */
    uint64_t marked_bytes;
    uint64_t
        answers; /* answers of storage/redis/lua/note_process_counts.lua that it has counted, */
    uint64_t marked_answers;
    bool answers_noted;    /* they are of this lineage */
    bool counts_errors;    /* it counts errors by kind */
    bool errors_uncounted; /* more kinds of errors occurred than it counts */
    bool settled;          /* the marker's note of those calls is up to date */
    bool unswept;          /* imported locks may lack their expiry (storage/redis/lua/sweep.lua) */
    bool marked_intact;    /* joining, and had kept all it knew when that began */
    bool
        doubted; /* the marker says that it lost something (storage/redis/lua/note_data_loss.lua) */
    bool lost;   /* it has lost something, or may have */
    bool has_other_id; /* than the marker has: a replication id, and nothing else changed */
    bool configured;   /* CONFIG says durable */
};

#endif
