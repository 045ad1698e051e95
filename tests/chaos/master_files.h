/* Accidents of the files of a redis-server, and how its operator mends them. */
#ifndef TESTS_CHAOS_MASTER_FILES_H
#define TESTS_CHAOS_MASTER_FILES_H

#include "tests/chaos/master.h"

#include <stddef.h>

/* While it is down: its disk is empty. */
void chaos_master_empty(struct chaos_master *master);

/* While it is down: the newest part of its append-only file lost its last @bytes; all of the part,
 * if it has no more. */
void chaos_master_cut_tail(struct chaos_master *master, size_t bytes);

/* How long the newest part of the append-only file is; 0 if there is none. */
size_t chaos_master_tail(const struct chaos_master *master);

/* While it is down: the last @bytes of that part, or all of it, are zeros. So a file system leaves
 * a file that grew just before the power failed. Redis then refuses to start. */
void chaos_master_damage_tail(struct chaos_master *master, size_t bytes);

/* While it is down: redis-check-aof --fix, as Redis' own message advises. Every command from the
 * damaged one on is lost. */
void chaos_master_mend(struct chaos_master *master);

/* Copies its data folder. The copy is the folder's path with ".copy" appended; an older one is
 * replaced. */
void chaos_master_copy(const struct chaos_master *master);

/* The same, with the process stopped meanwhile: as a snapshot of its machine's disk. */
void chaos_master_snapshot(const struct chaos_master *master);

/* While it is down: the copy takes the place of its data folder. */
void chaos_master_put_back(struct chaos_master *master);

#endif
