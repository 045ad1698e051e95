/* Doors: the sockets that a server listens on, and their kinds. */
#ifndef API_MHD_DOOR_H
#define API_MHD_DOOR_H

#include <stdbool.h>

struct api_tls;

enum {
    API_DOORS_MAX = 16, /* in one server */
};

struct api_door {
    int fd;              /* a listening, non-blocking socket, opened by anybody */
    struct api_tls *tls; /* NULL: plain HTTP; borrowed for the life of the server */
    bool metrics_only;   /* serves nothing but /metrics, /livez and /readyz */
    bool shared;         /* other servers of this process accept from the same socket */
    bool stays; /* another process has the socket open too. A server that leaves stops accepting
                 * at once: the next process accepts the clients */
};

#endif
