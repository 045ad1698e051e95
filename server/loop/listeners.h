/* The addresses of a program: from the operator's text to the sockets of each worker.
 *
 *     127.0.0.1:7380  [::1]:7380  :7380  localhost:7380   see api/wire/listen.h
 *     locks.example.com:7380   looked up once, at the start: all addresses of the name
 *     unix:/run/pawl/pawld.sock   see api/wire/socket_file.h; always without TLS
 *     http://127.0.0.1:7381   without TLS, even if other listeners have TLS
 *     https://...   with TLS; an error without certificates
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
    SERVER_LISTEN_MAX = 320,       /* bytes of an address, terminated */
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
    bool shared;                  /* the workers share one socket */
    char name[SERVER_LISTEN_MAX]; /* the name in the log */
    bool metrics_only;
    bool speaks_tls;
    bool is_file; /* a socket of the Unix domain that this process made */
    struct api_socket_file file;
    unsigned sockets;                 /* number of distinct sockets: those of the first workers */
    int fd[SERVER_LISTENERS_WORKERS]; /* a socket for each worker; -1: the worker owns it */
};

struct server_listeners {
    struct api_tls *tls; /* NULL: none; borrowed */
    bool waited_at;      /* another process opened the sockets before: clients may already wait
                          * there */
    unsigned count;
    unsigned workers;
    struct server_listener listener[API_DOORS_MAX];
};

/* Reports whether the host of @address is a name that has to be looked up; copies the name to
 * @ret_name. */
bool server_listen_name(const char *address, char ret_name[static API_HOST_NAME_MAX + 1]);

/* Opens all of @listens for @workers workers. @tls is for the listeners with TLS; NULL: none has
 * TLS. At a network address each worker gets a separate socket. All workers share the socket of a
 * file. Returns 0, or the exit status after the reason on stderr; then nothing is open. */
FENCE_CHECKED int server_listeners_open(const struct server_listens *listens, struct api_tls *tls,
                                        unsigned workers, struct server_listeners *ret_listeners);

/* Checks whether @listens are valid addresses, without opening them; @tls as above. Returns 0, or
 * the exit status after the reason on stderr. */
FENCE_CHECKED int server_listeners_check(const struct server_listens *listens,
                                         const struct api_tls *tls);

/* The protocol at a listener. */
struct server_listener_kind {
    bool speaks_tls;
    bool metrics_only;
};

/* Adds @count listening sockets of one address, which another process opened and the caller still
 * owns. Each worker accepts from one of them; if there are fewer sockets than workers, some workers
 * share one. If there are more, all workers accept from each of the remaining sockets. @name is the
 * name in the log. TLS needs listeners with certificates. FENCE_EIO: errno says why. FENCE_EBUSY:
 * there would be more than API_DOORS_MAX. After a failure, close the listeners. */
FENCE_CHECKED int server_listeners_add(struct server_listeners *listeners, const int fds[],
                                       unsigned count, const char *name,
                                       const struct server_listener_kind *kind);

/* Returns the listeners of worker @worker, for its struct api_http_config. The worker owns the
 * descriptors once its server exists: call server_listeners_given() then. */
void server_listeners_of(const struct server_listeners *listeners, unsigned worker,
                         struct api_door ret_listeners[static API_DOORS_MAX]);
void server_listeners_given(struct server_listeners *listeners, unsigned worker);

/* Logs "listening on HOST:PORT" for each listener, with the real port. Scripts wait for this
 * line. */
void server_listeners_announce(const struct server_listeners *listeners);

/* Closes the sockets that no worker owns, and removes the files. */
void server_listeners_close(struct server_listeners *listeners);

#endif
