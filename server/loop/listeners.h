/* The addresses of a program: from what its operator wrote to the sockets of each of its workers.
 *
 *     127.0.0.1:7380  [::1]:7380  :7380  localhost:7380   see api/wire/listen.h
 *     locks.example.com:7380   looked up once, at the start: all addresses of the name
 *     unix:/run/pawl/pawld.sock   see api/wire/socket_file.h; always without TLS
 *     http://127.0.0.1:7381   without TLS, where others have it
 *     https://...   with TLS, which is not taken for granted
 *
 *     open, or add what others opened --> give to each worker --> announce --> close */
#ifndef SERVER_LOOP_LISTENERS_H
#define SERVER_LOOP_LISTENERS_H

#include "api/http/site.h"
#include "api/mhd/door.h"
#include "api/wire/socket_file.h"
#include "fence/protocol/error.h"

#include <stdbool.h>

enum {
    SERVER_LISTENS_MAX = 8,        /* for each kind; a name can have several addresses */
    SERVER_LISTEN_MAX = 320,       /* bytes of one, terminated */
    SERVER_LISTENERS_WORKERS = 64, /* for one program */
};

/* The operator's text; borrowed. */
struct server_listens {
    const char *address[SERVER_LISTENS_MAX];
    unsigned address_count;
    const char *metrics[SERVER_LISTENS_MAX];
    unsigned metrics_count;
};

/* One address. */
struct server_listener {
    bool stays;                   /* another process has the socket open too */
    bool shared;                  /* workers have one socket together */
    char name[SERVER_LISTEN_MAX]; /* as the log tells it */
    bool metrics_only;
    bool speaks_tls;
    bool is_file; /* a socket of the Unix domain, and made here */
    struct api_socket_file file;
    unsigned sockets;                 /* distinct ones: those of the first so many workers */
    int fd[SERVER_LISTENERS_WORKERS]; /* a socket for each worker; -1: it has it */
};

struct server_listeners {
    struct api_tls *tls; /* NULL: none; borrowed */
    bool waited_at;      /* others opened them before: clients may wait there already */
    unsigned count;
    unsigned workers;
    struct server_listener listener[API_DOORS_MAX];
};

/* The host of @address if it is a name that has to be looked up: copied to @ret_name. */
bool server_listen_name(const char *address, char ret_name[static API_HOST_NAME_MAX + 1]);

/* Opens all of @listens for @workers workers. @tls: for the listeners that speak TLS; NULL: none
 * does. Each worker gets its own socket at an address of a network. All workers share the
 * socket of a file. Returns 0, or the exit status: the reason is on stderr then, and nothing is
 * open. */
FENCE_CHECKED int server_listeners_open(const struct server_listens *listens, struct api_tls *tls,
                                        unsigned workers, struct server_listeners *ret_listeners);

/* Reports whether @listens are addresses, without opening them; @tls as above. Returns 0, or the
 * exit status: the reason is on stderr then. */
FENCE_CHECKED int server_listeners_check(const struct server_listens *listens,
                                         const struct api_tls *tls);

/* The protocol at a listener. */
struct server_listener_kind {
    bool speaks_tls;
    bool metrics_only;
};

/* Adds @count listening sockets of one address, which somebody else opened and the caller still
 * owns. Each worker accepts from one of them; where there are fewer than workers, some share one.
 * If there are more, all workers accept from each of the others. @name is what the log says.
 * Only listeners that have certificates can speak TLS. FENCE_EIO: errno says why. FENCE_EBUSY:
 * there would be more than API_DOORS_MAX. After a failure the listeners are to be closed. */
FENCE_CHECKED int server_listeners_add(struct server_listeners *listeners, const int fds[],
                                       unsigned count, const char *name,
                                       const struct server_listener_kind *kind);

/* The listeners of worker @worker, for its struct api_http_config. It owns the descriptors once its
 * server is made: server_listeners_given() then. */
void server_listeners_of(const struct server_listeners *listeners, unsigned worker,
                         struct api_door ret_listeners[static API_DOORS_MAX]);
void server_listeners_given(struct server_listeners *listeners, unsigned worker);

/* Logs "listening on HOST:PORT" for each, the line that scripts wait for, with the real port. */
void server_listeners_announce(const struct server_listeners *listeners);

/* Closes what no worker has, and removes the files. */
void server_listeners_close(struct server_listeners *listeners);

#endif
