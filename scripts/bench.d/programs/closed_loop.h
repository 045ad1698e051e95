/* A closed loop of load: K keep-alive HTTP connections, of which each asks for a lock, waits for
 * the answer, releases it, waits, and begins again. One thread, one epoll, nothing allocated in the
 * loop. How a lock is asked for differs from service to service; the rest is the same for all that
 * are compared. */
#ifndef SCRIPTS_BENCH_D_PROGRAMS_CLOSED_LOOP_H
#define SCRIPTS_BENCH_D_PROGRAMS_CLOSED_LOOP_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LOOP_CONNECTIONS_MAX = 4096,
    LOOP_PORTS_MAX = 16,
    LOOP_REQUEST_MAX = 1024,
    LOOP_ID_MAX = 128,
};

struct loop_options {
    unsigned ports; /* the connections are spread over them */
    uint16_t port[LOOP_PORTS_MAX];
    unsigned connections;
    unsigned names; /* 0: as many as connections */
    double seconds;
    double warmup_s;
    uint64_t pairs; /* stop after so many; 0: only by time */
    bool tls;
};

/* The lock that a connection is about to ask for, or holds. */
struct loop_lock {
    unsigned connection;
    unsigned name;
    char id[LOOP_ID_MAX + 1]; /* what the service gave with it, for the release */
};

/* How one kind of service is spoken to. Both writers write a request of at most LOOP_REQUEST_MAX
 * bytes, and return its length. */
struct loop_service {
    int granted;           /* the status of the answer that grants a lock; a release's is 200 */
    const char *id_member; /* of that answer: what the release has to name */
    size_t (*write_acquire)(void *context, const struct loop_lock *lock, char *ret_request);
    size_t (*write_release)(void *context, const struct loop_lock *lock, char *ret_request);

    /* Called with each connection once it is open, before any load; it may send and receive on the
     * blocking socket @fd. NULL: there is nothing to prepare. */
    void (*prepare)(void *context, unsigned connection, int fd);
    void *context;
};

/* The options that all such programs share: an argp to be the child of a program's own, whose
 * parser gives it the struct loop_options as its input. */
extern const struct argp loop_argp;

/* Writes what @options leave open: see loop_argp for the defaults. */
void loop_options_init(struct loop_options *ret_options);

/* Runs the load, and prints the line of JSON (scripts/bench.d/programs/tally.h). Ends the program
 * with a sentence if the service cannot be reached, or does not speak as @service says. */
void loop_run(const struct loop_options *options, const struct loop_service *service);

#endif
