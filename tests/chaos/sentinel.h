/* A real Redis Sentinel. It watches the masters that it is told to, and moves each to a replica. */
#ifndef TESTS_CHAOS_SENTINEL_H
#define TESTS_CHAOS_SENTINEL_H

#include <stdbool.h>
#include <stdint.h>

struct sentinel {
    uint16_t port;
    struct process *process; /* NULL before sentinel_start() */
};

/* Starts it with its files in @dir. It accepts connections when this returns. */
void sentinel_start(struct sentinel *sentinel, const char *dir);
void sentinel_stop(struct sentinel *sentinel);

/* From now on it watches the master on 127.0.0.1:@port, under @name. It fails over by itself, soon
 * after that master went down. */
void sentinel_watch(const struct sentinel *sentinel, const char *name, uint16_t port);

/* It lets @name go, if it watches it. */
void sentinel_forget(const struct sentinel *sentinel, const char *name);

/* True if it knows the server on @port as a replica of @name that it may promote. */
bool sentinel_knows(const struct sentinel *sentinel, const char *name, uint16_t port);

/* SENTINEL FAILOVER: it promotes a replica though the master is well. */
void sentinel_fail_over(const struct sentinel *sentinel, const char *name);

/* The port of the master of @name, as it tells clients; 0 if it does not know. */
uint16_t sentinel_master(const struct sentinel *sentinel, const char *name);

#endif
