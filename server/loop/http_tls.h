/* The certificates of the service and of its clients: the operator's settings, and their files. */
#ifndef SERVER_LOOP_HTTP_TLS_H
#define SERVER_LOOP_HTTP_TLS_H

#include "fence/protocol/error.h"

#include <stdbool.h>

struct api_tls;

enum server_tls_client {
    SERVER_TLS_REQUIRED, /* with an authority of clients, each client shows a certificate */
    SERVER_TLS_OPTIONAL,
};

/* NULL: not given. Borrowed. */
struct server_tls_options {
    const char *cert, *key;
    const char *client_ca;
    const char *priorities;
    int client; /* enum server_tls_client */
};

/* Reads the files. Without --tls-cert *@ret_tls is NULL. Returns 0, or the exit status: one
 * sentence is on stderr then. */
FENCE_CHECKED int server_http_tls_open(const struct server_tls_options *options,
                                       struct api_tls **ret_tls);

/* Reads them again: connections that come later have the new, and none is dropped. False: one of
 * them cannot be used, and all stay as they are; that is logged. NULL is fine: true. Any thread. */
bool server_http_tls_reload(struct api_tls *tls);

#endif
