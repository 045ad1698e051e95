/* The pawld that replaces this one: server/pawld/handover.h. All functions belong to the loop of
 * the first worker, and its thread. */
#ifndef SERVER_PAWLD_SUCCESSOR_H
#define SERVER_PAWLD_SUCCESSOR_H

#include "server/loop/listeners.h"

#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

/* Copies of the listening sockets: the workers own theirs. */
struct pawld_sockets {
    unsigned count;
    struct {
        char name[SERVER_LISTEN_MAX];
        bool speaks_tls, metrics_only, stays, is_file;
        struct api_socket_file file;
        unsigned sockets;
        int fd[SERVER_LISTENERS_WORKERS];
    } listener[API_DOORS_MAX];
};

/* Keeps copies of the sockets, before the workers get the listeners. FENCE_EIO: errno says why;
 * drop the copies. */
FENCE_CHECKED int pawld_sockets_keep(const struct server_listeners *listeners,
                                     struct pawld_sockets *ret_sockets);
void pawld_sockets_drop(struct pawld_sockets *sockets);

struct pawld_successor_config {
    uv_loop_t *loop;
    const char *path;
    const struct pawld_sockets *sockets; /* borrowed */
    uint32_t most_ms;                    /* the time that this process takes to end */

    /* The successor is ready: this process must accept no more clients, and end. Called once. */
    void (*leave)(void *context, int pid);
    void *context;
};

/* The caller's memory: until pawld_successor_end(), and until the loop has run once more. */
struct pawld_successor {
    struct pawld_successor_config config;
    int listen_fd, fd; /* -1: none */
    int pid;
    bool asked;    /* the successor has the sockets */
    bool leaving;  /* the successor sent "leave" */
    bool speaking; /* the handle is in use, or not yet closed */
    dev_t device;  /* device of the file at the path */
    ino_t inode;
    uv_poll_t knocks, speaks;
};

/* Listens at config.path, and replaces any listener there. If the path is not usable, that is
 * logged, and no process can replace this one. */
void pawld_successor_await(struct pawld_successor *successor,
                           const struct pawld_successor_config *config);

/* Removes the socket, unless another pawld has replaced it. The connection to a successor stays
 * open until pawld_successor_close(): its end shows that this process has ended. */
void pawld_successor_end(struct pawld_successor *successor);
void pawld_successor_close(struct pawld_successor *successor);

#endif
