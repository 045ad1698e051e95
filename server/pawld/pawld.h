/* pawld's parts: its command line, and what it does. */
#ifndef SERVER_PAWLD_PAWLD_H
#define SERVER_PAWLD_PAWLD_H

#include "fence/protocol/ask.h"
#include "fence/protocol/limits.h"
#include "server/loop/http_options.h"
#include "server/loop/masters.h"
#include "server/loop/worker.h"
#include "server/system/log.h"
#include "storage/redis/tls.h"
#include "storage/redis/url.h"

#include <stdbool.h>

enum {
    PAWLD_SETTINGS_ROOM = 128, /* for where each setting came from */
    PAWLD_GIVEN_LABEL_MAX = 128,
    PAWLD_FILE_DEADLINE_MS = 2000, /* deadline of the master in a file: there is no other master
                                    * to ask */
};

#define PAWLD_CONFIG_VARIABLE "PAWL_CONFIG"

/* The source of a setting. */
struct pawld_given {
    int layer;                         /* enum pawld_layer */
    char label[PAWLD_GIVEN_LABEL_MAX]; /* for people; may be cut */
};

struct pawld_options {
    const char *config;                            /* the file of settings; NULL: none */
    bool checks;                                   /* serve: only check the settings */
    bool samples;                                  /* serve: only print a sample of the
                                                    * configuration file */
    bool routes;                                   /* serve: only print the routes */
    struct pawld_given given[PAWLD_SETTINGS_ROOM]; /* for each row of the table of settings */
    struct server_http_options http;
    struct storage_redis_url masters[FENCE_MASTERS_MAX];
    unsigned masters_count;
    struct storage_redis_url from[FENCE_MASTERS_MAX]; /* move: masters of the fleet that is moved */
    unsigned from_count;
    const char *data;          /* folder of the embedded master; NULL: the masters are Redis */
    const char *password_file; /* password of masters whose URLs have no password; NULL: none */
    struct storage_tls_files tls_files; /* for rediss:// */
    struct storage_tls
        *tls;             /* made of these where a master needs it; lives as long as the process */
    unsigned workers;     /* serve: 1 .. SERVER_WORKERS_MAX */
    unsigned deadline_ms; /* serve: silence after which a master counts as down; 0 until settled */
    unsigned probe_ms;    /* serve: between two probes of a master */
    bool refuses_module;  /* serve: scripts carry requests, even if a master has the module */
    enum fence_ask ask;   /* serve: which masters a call asks first */
    bool moves;           /* move: --data or --from, and --master */
    uint32_t waiters_max; /* serve: calls that may wait */
    uint32_t connections_max; /* serve: of clients */
    uint32_t counters_max;    /* serve: limit of named counters */
    uint32_t ttl_max_ms;      /* init; 0: not given */
    uint32_t extensions_max;  /* the same */
    uint32_t readers;         /* the same */
    bool is_new;              /* init --new */
    int64_t token_floor;      /* init, move: --token-floor; negative: not given */

    const char *hand_over; /* serve: path where another pawld may replace this one; NULL: none */

    const char *audit_log;           /* serve: a file, "-" for stderr; NULL: none */
    enum server_log_form log_form;   /* serve */
    enum server_log_level log_level; /* serve: the lowest level that is written */
    const char *trace_lock; /* serve: the only lock to trace; NULL: all, if @log_level is trace */

    /* serve: how a worker ends */
    struct server_worker_ends ends;
};

/* Read the command lines of "pawld", "pawld init" and "pawld move". Return 0, or the exit status
 * after one sentence on stderr. */
int pawld_read_serve_options(int argc, char **argv, struct pawld_options *ret_options);
int pawld_read_init_options(int argc, char **argv, struct pawld_options *ret_options);
int pawld_read_move_options(int argc, char **argv, struct pawld_options *ret_options);

/* Opens the masters that @options name. Opens the store of an embedded master: close the store of
 * *@ret_addresses at the end. Returns 0, or the exit status after one sentence on stderr. */
int pawld_addresses_open(const struct pawld_options *options, bool takes_over,
                         struct server_addresses *ret_addresses);

/* Makes a new fleet of @addresses. Returns 0, or the exit status, as above. */
int pawld_make_fleet(const struct server_addresses *addresses, const struct pawld_options *options);

/* Serve until a stop signal; make or continue a fleet. They return the exit status. */
int pawld_serve(const struct pawld_options *options);
int pawld_init(const struct pawld_options *options);
int pawld_move(const struct pawld_options *options);
int pawld_move_file(const struct pawld_options *options); /* the part of pawld_move for --data */

/* Reports whether an earlier run finished the move that @options ask for. If so, prints that to
 * stdout. Writes to no master. The second function is for a file that is open. */
struct storage_file;
bool pawld_move_was_done(const struct pawld_options *options);
bool pawld_file_move_was_done(const struct pawld_options *options, const struct storage_file *file);

#endif
