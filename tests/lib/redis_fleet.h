/* N real redis-server processes on loopback, in a folder of their own, and their accidents. */
#ifndef TESTS_LIB_REDIS_FLEET_H
#define TESTS_LIB_REDIS_FLEET_H

#include "fence/protocol/limits.h"

#include <stdbool.h>
#include <stdint.h>

#include <hiredis/hiredis.h>

struct process;

enum redis_persistence {
    REDIS_ALWAYS,   /* appendonly yes, appendfsync always: nothing acknowledged is lost */
    REDIS_EVERYSEC, /* appendonly yes, appendfsync everysec: the last second may be */
    REDIS_VOLATILE, /* nothing is kept */
};

/* A script that takes the end away from the lock of KEYS[1]: its expiry, or its lease, which the
 * module keeps (storage/redis/module/value.h). */
#define REDIS_FLEET_PERSIST                                                                        \
    "local lock = redis.call('TYPE', KEYS[1]).ok == 'string' and "                                 \
    "string.match(redis.call('GET', KEYS[1]), '^=%d+=(.*)$') "                                     \
    "return lock and redis.call('SET', KEYS[1], lock) or redis.call('PERSIST', KEYS[1])"

struct redis_master {
    uint16_t port;
    char *url;               /* redis://127.0.0.1:PORT */
    char *socket;            /* the path of its Unix socket */
    char *dir;               /* its folder: data and log */
    struct process *process; /* NULL while it is down */
};

struct redis_fleet {
    unsigned n;
    enum redis_persistence persistence;
    uint32_t modules; /* the set of masters that load the module of Pawl when they start */
    bool attached;    /* redis_fleet_attach() */
    char *dir; /* remove nothing in it but through this file; good for the files of a test too */
    struct redis_master master[FENCE_MASTERS_MAX];
};

/* Starts @n masters (1 .. FENCE_MASTERS_MAX), without RDB snapshots; all accept connections when
 * this returns. Where PAWL_TEST_MODULE is set in the environment, all load the module of Pawl:
 * that of the build, or of PAWL_TEST_MODULE_FILE. The
 * caller ends the fleet with redis_fleet_free(). */
struct redis_fleet *redis_fleet_new(unsigned n, enum redis_persistence persistence);

/* The same, where the masters of the set @modules load the module, and no others. */
struct redis_fleet *redis_fleet_new_mixed(unsigned n, enum redis_persistence persistence,
                                          uint32_t modules);

/* Masters that run already, and are somebody else's, at @ports on loopback. Commands reach them;
 * what needs their processes or folders does not. */
struct redis_fleet *redis_fleet_attach(unsigned n, const uint16_t ports[]);

/* Reports whether master @i runs, as far as this fleet knows. */
bool redis_fleet_runs(const struct redis_fleet *fleet, unsigned i);

/* Kills all masters and removes the folder. NULL is fine. Before process_kill_all(), if both. */
void redis_fleet_free(struct redis_fleet *fleet);

/* SIGKILL: a crash. The connections to it end; its data on disk stay. */
void redis_fleet_kill(struct redis_fleet *fleet, unsigned i);

/* Starts master @i, which is down, on its port again: with the data it left, or with none. It
 * accepts connections when this returns. */
void redis_fleet_restart(struct redis_fleet *fleet, unsigned i, bool keep_data);

/* SIGSTOP: it accepts connections (the kernel does) and answers nothing. SIGCONT: it goes on. */
void redis_fleet_pause(struct redis_fleet *fleet, unsigned i);
void redis_fleet_resume(struct redis_fleet *fleet, unsigned i);

/* Has master @i reached at @url (copied) by the programs started from now on: over its Unix socket,
 * with a password, or wrongly. */
void redis_fleet_readdress(struct redis_fleet *fleet, unsigned i, const char *url);

/* Runs one command on master @i over a connection of its own and returns the reply, which the
 * caller frees with freeReplyObject(). @format is hiredis'. Fails the test if there is no reply, or
 * an error. */
redisReply *redis_fleet_command(struct redis_fleet *fleet, unsigned i, const char *format, ...);

/* The same for a command that answers with an integer. */
long long redis_fleet_integer(struct redis_fleet *fleet, unsigned i, const char *format, ...);

#endif
