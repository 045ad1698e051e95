/* The acts of an operator on a running redis-server, by CONFIG SET and otherwise. Each fails the
 * test if the server does not answer. */
#ifndef TESTS_CHAOS_MASTER_SETTINGS_H
#define TESTS_CHAOS_MASTER_SETTINGS_H

#include "tests/chaos/master.h"

#include <stdbool.h>
#include <stdint.h>

/* FLUSHALL. False if it did not answer: then it may have been flushed or not. */
bool chaos_master_flush(const struct chaos_master *master);

/* CONFIG SET. A restart brings the usual value back. */
void chaos_master_set(const struct chaos_master *master, const char *name, const char *value);

/* appendonly no, and yes. After the yes Redis writes the whole file again. */
void chaos_master_append_off(const struct chaos_master *master);
void chaos_master_append_on(const struct chaos_master *master);

/* Waits until no rewrite of the append-only file runs or is due: a crash before its end would bring
 * the data of before it. */
void chaos_master_wait_rewritten(const struct chaos_master *master);

/* From now on a rewrite of the append-only file takes @key_us for each key. */
void chaos_master_slow_rewrites(const struct chaos_master *master, unsigned key_us);
void chaos_master_rewrite(const struct chaos_master *master);
bool chaos_master_rewrites(const struct chaos_master *master);

/* Limits its memory, with @policy, and fills it until a key was evicted or nothing is left that may
 * be. A key that fills it has no TTL. */
void chaos_master_crowd(const struct chaos_master *master, const char *policy);

/* noeviction, no limit, and what filled it is gone. */
void chaos_master_uncrowd(const struct chaos_master *master);

/* CONFIG RESETSTAT, and then it receives more than it had received before, usually: no figure of
 * its statistics is below what it was but those that Pawl looks for. */
void chaos_master_reset_statistics(const struct chaos_master *master);

/* The incarnation of @member (from 0) that its marker names; 0 if there is none. With @active only
 * where the marker says that the master is active. */
uint64_t chaos_master_incarnation(const struct chaos_master *master, unsigned member, bool active);

/* Reports whether its marker says that a restart keeps all. It says no where the master rejoined
 * while its append-only file was rewritten. */
bool chaos_master_is_marked_durable(const struct chaos_master *master);

#endif
