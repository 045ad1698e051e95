/* The options that all programs with an HTTP server share, as a child of their argp parser:
 *
 *     static const struct argp_child children[] = {{&server_http_argp, 0, NULL, 0}, {0}};
 *
 *     case ARGP_KEY_INIT:
 *         state->child_inputs[0] = &options->http;
 */
#ifndef SERVER_LOOP_HTTP_OPTIONS_H
#define SERVER_LOOP_HTTP_OPTIONS_H

#include "api/mhd/server.h"
#include "server/loop/http_tls.h"
#include "server/loop/listeners.h"

#include <argp.h>
#include <stdbool.h>

enum {
    SERVER_HOSTS_MAX = 16, /* names of one service */
};

#define SERVER_TLS_CERT_HELP                                                                       \
    "Serve TLS with the certificate in FILE, in PEM. The CA certificates that signed this "        \
    "certificate can follow in the same file. SIGHUP reloads the file without closing connections"
#define SERVER_TLS_KEY_HELP "The private key of --tls-cert, in PEM, not encrypted"
#define SERVER_TLS_CLIENT_CA_HELP                                                                  \
    "Ask clients for certificates, and trust certificates from the CAs in FILE, in PEM"
#define SERVER_TLS_CLIENT_HELP                                                                     \
    "With --tls-client-ca: 'required' refuses clients without a certificate, and 'optional' "      \
    "accepts clients without a certificate"
#define SERVER_TLS_PRIORITIES_HELP                                                                 \
    "Protocols and ciphers, as a GnuTLS priority string. The string must not allow TLS before "    \
    "1.2 (default: TLS 1.3 and 1.2, ECDHE, AES-GCM and ChaCha20-Poly1305)"

#define SERVER_CORS_HELP                                                                           \
    "Allow CORS from this origin, such as https://app.example.com. Can be given up to 16 times. "  \
    "By default, web pages of other sites cannot call the service"
#define SERVER_CORS_MUST                                                                           \
    "an origin as a browser writes it, such as https://app.example.com or http://localhost:3000"

/* "required", "optional", NULL. */
extern const char *const server_tls_client_words[];

struct server_http_options {
    uint32_t head_ms, body_ms; /* 0: API_HTTP_WAIT_MS */
    uint32_t idle_s;           /* 0: API_HTTP_IDLE_S */
    const char *hosts[SERVER_HOSTS_MAX];
    unsigned hosts_count;
    const char *keys;              /* the key file; NULL: none */
    bool open;                     /* --open: listens on public addresses even without keys */
    struct server_listens listens; /* without --listen: the defaults that the program set before */
    bool listens_given;
    struct server_tls_options tls;
    const char *origins[API_ORIGINS_MAX];
    unsigned origins_count;
    /* Names of --listen; clients send them as Host. */
    char listen_names[SERVER_LISTENS_MAX][API_HOST_NAME_MAX + 1];
    const char *known[SERVER_HOSTS_MAX + SERVER_LISTENS_MAX]; /* the names of --host, and
                                                               * @listen_names */
    unsigned known_count;
};

/* The input is a struct server_http_options, all zero except for the listeners. */
extern const struct argp server_http_argp;

/* Finds the names that requests may have as Host. Call it after all options are read. */
void server_http_options_settle(struct server_http_options *options);

/* Copies the options into @config, which borrows @options. Does not copy the listeners. */
void server_http_options_apply(const struct server_http_options *options,
                               struct api_http_config *config);

#endif
