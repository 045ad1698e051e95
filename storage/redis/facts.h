/* What to ask a Redis: on every new connection (the handshake), and now and then after that (a
 * look). And what its replies say. */
#ifndef STORAGE_REDIS_FACTS_H
#define STORAGE_REDIS_FACTS_H

#include "fence/fleet/fleet.h"
#include "fence/protocol/error.h"
#include "storage/redis/fitness.h"

#include <stdbool.h>
#include <stdint.h>

#include <hiredis/hiredis.h>

/* The handshake's questions, in the order of their replies. */
enum storage_question {
    STORAGE_ASK_INFO,
    STORAGE_ASK_CONFIG,
    STORAGE_ASK_MARKER,
    STORAGE_QUESTIONS,
};

enum {
    STORAGE_QUESTION_ARGS = 25,
    STORAGE_CONFIG_CALLS_MAX = 80,
    STORAGE_BYTES_TEXT_MAX = 24, /* of a count of bytes, with its end */
};

/* What is read, reply by reply. Starts zeroed, or with what an earlier probe found. */
struct storage_reading {
    struct fence_facts facts;
    struct storage_server server;

    /* Of the process: what says whether its data can be what its marker says. */
    bool promoted;               /* it follows another replication history than its own */
    uint64_t role_changes;       /* calls that could have, since it started, */
    uint64_t noted_role_changes; /* and when its marker was written */
    bool reset;       /* its statistics were reset since it started: these are counts since then, */
    bool reset_since; /* or since its marker was written */
    bool noted;       /* the marker has those calls */
    char config_calls[STORAGE_CONFIG_CALLS_MAX]; /* as storage/redis/lua/lineage.lua has them */
    bool appends;                                /* it has an append-only file */
    bool rewriting;       /* its append-only file is being rewritten, or is to be */
    uint64_t rewrites;    /* of it, since it started */
    uint64_t evicted;     /* keys, since it started */
    uint64_t config_sets; /* calls of CONFIG SET, since it started */
    uint64_t bytes;       /* that it received since it started */
    uint64_t marked_bytes;
    uint64_t answers; /* of storage/redis/lua/settle.lua that it has counted, */
    uint64_t marked_answers;
    bool answers_noted;    /* of this lineage */
    bool counts_errors;    /* by kind; */
    bool errors_uncounted; /* but more kinds came than it counts */
    bool settled;          /* the marker's note of those calls is up to date */
    bool unswept;          /* imported locks may lack their expiry (storage/redis/lua/sweep.lua) */
    bool marked_intact;    /* joining, and had kept all it knew when that began */
    bool doubted;    /* the marker says that it lost something (storage/redis/lua/doubt.lua) */
    bool lost;       /* it has lost something, or may have */
    bool configured; /* CONFIG says durable */
};

/* The command that asks @question, as an argument vector of static strings. Returns the number of
 * arguments. */
int storage_question_args(enum storage_question question,
                          const char *ret_args[static STORAGE_QUESTION_ARGS]);

/* Reads the reply to @question into @reading, in the order of the questions: the last one completes
 * the facts. A fleet of @n members is expected. The reply may be an error where a Redis keeps a
 * command from us (CONFIG): the fact is then unknown. FENCE_EIO: no Redis answers that (or LOADING,
 * or NOPERM on our own keys). FENCE_EBUSY: it still loads its data; try the handshake again later.
 * A marker that cannot be read is no error: the facts name the field. */
FENCE_CHECKED int storage_facts_read(enum storage_question question, const redisReply *reply,
                                     unsigned n, struct storage_reading *reading);

/* A write was tried on it: whether there was no room. */
void storage_redis_note_full(struct storage_reading *reading, bool full);

/* Asks in the pipeline behind a script call what that cannot see, as hiredis formats it: whether
 * the master is durable. And whether the reply says that it is. */
const char *storage_durable_command(size_t *ret_len);
bool storage_durable_reply(const redisReply *reply);

/* Reads the reply to TIME: the wall clock, in microseconds since 1970. 0 where it is not what a
 * Redis answers, or this one keeps the command from us. */
uint64_t storage_facts_time_us(const redisReply *reply);

#endif
