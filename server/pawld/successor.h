/* The pawld that takes the place of this one, when it comes: server/pawld/handover.h. All functions
 * belong to the loop of the first worker, and its thread. */
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

/* Before the workers are given the listeners. FENCE_EIO: errno says why; drop what was kept. */
FENCE_CHECKED int pawld_sockets_keep(const struct server_listeners *listeners,
                                     struct pawld_sockets *ret_sockets);
void pawld_sockets_drop(struct pawld_sockets *sockets);

struct pawld_successor_config {
    uv_loop_t *loop;
    const char *path;
    const struct pawld_sockets *sockets; /* borrowed */
    uint32_t most_ms;                    /* that this process takes to end */

    /* The other one is there: this one is to let no client in any more, and to end. Once. */
    void (*leave)(void *context, int pid);
    void *context;
};

/* The caller's memory, until the end and until the loop has run once more after it. */
struct pawld_successor {
    struct pawld_successor_config config;
    int listen_fd, fd; /* -1: none */
    int pid;
    bool asked;    /* it has the sockets */
    bool leaving;  /* it was told so */
    bool speaking; /* the handle is in use, or not yet closed */
    dev_t device;  /* device of the file at the path */
    ino_t inode;
    uv_poll_t knocks, speaks;
};

/* Listens at config.path from now on, in the place of whatever listened there. A path where that
 * cannot be is logged, and no process can take our place then. */
void pawld_successor_await(struct pawld_successor *successor,
                           const struct pawld_successor_config *config);

/* Removes the socket, unless another pawld has its place. The connection to one that takes our
 * place stays until the close: its end tells that this process has ended. */
void pawld_successor_end(struct pawld_successor *successor);
void pawld_successor_close(struct pawld_successor *successor);

#endif
