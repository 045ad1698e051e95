/* pawld's parts: its command line, and what it does. */
#ifndef SERVER_PAWLD_PAWLD_H
#define SERVER_PAWLD_PAWLD_H

#include "fence/protocol/ask.h"
#include "fence/protocol/limits.h"
#include "server/loop/http_options.h"
#include "storage/redis/url.h"

#include <stdbool.h>

struct pawld_options {
    const char *listen;
    struct server_http_options http;
    struct storage_redis_url masters[FENCE_MASTERS_MAX];
    unsigned masters_count;
    const char *password_file; /* of masters whose URLs have no password; NULL: none */
    unsigned workers;          /* serve: 1 .. SERVER_WORKERS_MAX */
    unsigned probe_ms;         /* serve: from one probe of a master to the next */
    enum fence_ask ask;        /* serve: which masters a call asks first */
    uint32_t waiters_max;      /* serve: calls that may wait */
    uint32_t ttl_max_ms;       /* init; 0: not given */
    bool is_new;               /* init --new */
    int64_t token_floor;       /* init --token-floor; negative: not given */
};

/* Read the command lines of "pawld" and "pawld init". 0, or the exit status: one sentence is on
 * stderr then. */
int pawld_read_serve_options(int argc, char **argv, struct pawld_options *ret_options);
int pawld_read_init_options(int argc, char **argv, struct pawld_options *ret_options);

/* Serve until a stop signal; make a fleet or have one go on. They return the exit status. */
int pawld_serve(const struct pawld_options *options);
int pawld_init(const struct pawld_options *options);

#endif
