/* The options that all programs with an HTTP server share, as a child of their argp parser:
 *
 *     static const struct argp_child children[] = {{&server_http_argp, 0, NULL, 0}, {0}};
 *
 *     case ARGP_KEY_INIT:
 *         state->child_inputs[0] = &options->http;
 */
#ifndef SERVER_LOOP_HTTP_OPTIONS_H
#define SERVER_LOOP_HTTP_OPTIONS_H

#include "api/http/http.h"

#include <argp.h>

enum {
    SERVER_HOSTS_MAX = 16, /* names of one service */
};

struct server_http_options {
    uint32_t head_ms, body_ms; /* 0: API_HTTP_WAIT_MS */
    uint32_t idle_s;           /* 0: API_HTTP_IDLE_S */
    const char *hosts[SERVER_HOSTS_MAX];
    unsigned hosts_count;
};

/* Its input is a struct server_http_options, all zero before. */
extern const struct argp server_http_argp;

/* Copies them into @config, which borrows @options. */
void server_http_options_apply(const struct server_http_options *options,
                               struct api_http_config *config);

#endif
