/* The certificates of the service and the CA certificates for its clients: the operator's settings,
 * and their files. */
#ifndef SERVER_LOOP_HTTP_TLS_H
#define SERVER_LOOP_HTTP_TLS_H

#include "fence/protocol/error.h"

#include <stdbool.h>

struct api_tls;

enum server_tls_client {
    SERVER_TLS_REQUIRED, /* if there is a CA for clients, each client must present a certificate */
    SERVER_TLS_OPTIONAL,
};

/* NULL: not given. Borrowed. */
struct server_tls_options {
    const char *cert, *key;
    const char *client_ca;
    const char *priorities;
    int client; /* enum server_tls_client */
};

/* Reads the files. Without --tls-cert *@ret_tls is NULL. Returns 0, or the exit status after one
 * sentence on stderr. */
FENCE_CHECKED int server_http_tls_open(const struct server_tls_options *options,
                                       struct api_tls **ret_tls);

/* Reads the files again: later connections use the new ones, and no connection is dropped. If one
 * file is not usable, returns false, logs why, and keeps all old ones. NULL is fine: true. Any
 * thread. */
bool server_http_tls_reload(struct api_tls *tls);

#endif
