/* One real redis-server: its life and its wall clock. The faults of its files, its settings and its
 * data is in master_files.h, master_settings.h and master_replica.h. */
#ifndef TESTS_CHAOS_MASTER_H
#define TESTS_CHAOS_MASTER_H

#include "tests/lib/redis_fleet.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct chaos_clock;

enum {
    CHAOS_CHILDREN_MAX = 4,
};

struct chaos_master {
    uint16_t port;
    enum redis_persistence persistence;
    char *dir;        /* data and log */
    char *clock_path; /* outlives the data */
    struct chaos_clock *clock;
    struct process *process; /* NULL while it is down */
};

/* Makes the folder @name in @dir, and starts a master in it; it may not be up yet when this
 * returns. @shim: the path of the preloaded clock. Ended by chaos_master_fini(), which leaves the
 * folder. */
void chaos_master_init(struct chaos_master *master, const char *dir, const char *name,
                       enum redis_persistence persistence, const char *shim);
void chaos_master_fini(struct chaos_master *master);

/* Waits until it accepts connections. */
void chaos_master_wait_up(struct chaos_master *master);

/* SIGKILL, to it and its children. Data that it did not hand to the kernel yet are lost. Nothing
 * happens while it is down. */
void chaos_master_kill(struct chaos_master *master);

/* The processes that write a file for it now. Returns how many. */
size_t chaos_master_children(const struct chaos_master *master,
                             pid_t ret_children[CHAOS_CHILDREN_MAX]);

/* Starts it, after a kill, with what is on its disk; as chaos_master_init(). */
void chaos_master_start(struct chaos_master *master, const char *shim);

/* From now on its wall clock is @offset_us ahead, and goes too fast by @rate_ppm. */
void chaos_master_set_clock(struct chaos_master *master, int64_t offset_us, int64_t rate_ppm);

#endif
