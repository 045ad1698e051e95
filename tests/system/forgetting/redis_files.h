/* The files of a Redis master, and what careless operators do with them. A master's data are in its
 * folder "appendonlydir". */
#ifndef TESTS_SYSTEM_FORGETTING_REDIS_FILES_H
#define TESTS_SYSTEM_FORGETTING_REDIS_FILES_H

#include "tests/lib/redis_fleet.h"

#include <sys/types.h>

/* Copies the data files of master @i to @to, a folder that is not there yet. The master may run, or
 * be stopped by SIGSTOP. */
void redis_files_keep(const struct redis_fleet *fleet, unsigned i, const char *to);

/* Replaces the data files of master @i, which is down, by those in the folder @from. */
void redis_files_put_back(const struct redis_fleet *fleet, unsigned i, const char *from);

/* The bytes in the file that master @i appends to. */
off_t redis_files_tail_size(const struct redis_fleet *fleet, unsigned i);

/* A power loss: what master @i, which is down, appended beyond @size is gone. The loss tears one
 * write: a few bytes of it stay. */
void redis_files_cut_tail(const struct redis_fleet *fleet, unsigned i, off_t size);

/* A bad block: the bytes that master @i, which is down, appended beyond @size are not readable. */
void redis_files_damage_tail(const struct redis_fleet *fleet, unsigned i, off_t size);

/* `redis-check-aof --fix` on the file that master @i appends to, answered with "y". */
void redis_files_fix(const struct redis_fleet *fleet, unsigned i);

/* Redis @follower becomes a replica of master @i of @fleet; all is copied when this returns. */
void redis_follow(struct redis_fleet *follower, unsigned follower_i, struct redis_fleet *fleet,
                  unsigned i);

/* Has master @i, which was a replica and is none any more, forget which master it followed. Redis
 * does so an hour after its last replica left. */
void redis_free_backlog(struct redis_fleet *fleet, unsigned i);

/* Waits until master @i has another replication id than @id. */
void redis_wait_other_id(struct redis_fleet *fleet, unsigned i, const char *id);

/* Waits until master @i rewrites no append-only file. A replica that was copied to does so at
 * first, and until it is done a restart finds it empty. */
void redis_wait_rewritten(struct redis_fleet *fleet, unsigned i);

/* Has the next rewrite of master @i's append-only file take many seconds. */
void redis_slow_rewrite(struct redis_fleet *fleet, unsigned i);

/* The same of a master that listens at @port, for whom syncs are set up already. */
void redis_follow_port(struct redis_fleet *follower, unsigned follower_i, uint16_t port);

/* Waits until replica @i has a copy of what it follows. */
void redis_wait_in_sync(struct redis_fleet *fleet, unsigned i);

/* Waits until master @i has a replica that has its copy, and says so. */
void redis_wait_replica(struct redis_fleet *fleet, unsigned i);

/* SIGKILL for master @i and for the process that rewrites its append-only file. */
void redis_kill_with_rewrite(struct redis_fleet *fleet, unsigned i);

#endif
