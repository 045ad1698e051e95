/* The data of `pawl top`: the state of the fleet, the locks that are held, and the last events.
 * Threads that call the server write it, and the thread that draws reads it: under @mutex. */
#ifndef SERVER_CLI_TOP_MODEL_H
#define SERVER_CLI_TOP_MODEL_H

#include "api/client/pawl.h"
#include "server/cli/problem.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

enum {
    CLI_TOP_LOCKS_MAX = 1000, /* a page of a listing */
    CLI_TOP_EVENTS_MAX = 200, /* events of each list; the newest are kept */
    CLI_TOP_KIND_MAX = 16,    /* bytes of the name of an event, terminated */
    CLI_TOP_SERVER_MAX = 96,  /* bytes of a server's name, terminated */
    CLI_TOP_DETAIL_MAX = 320, /* bytes, terminated */
};

/* A lock that is held. Times are those of pawl_now_ms(). */
struct cli_top_lock {
    uint64_t hash; /* of @name */
    char name[PAWL_NAME_MAX + 1];
    char owner[PAWL_HOLDER_MAX + 1]; /* "": no label */
    int64_t token;                   /* 0: the masters differ */
    int64_t since_ms;                /* when the grant was made, or first seen */
    bool exact;                      /* @since_ms is when the grant was made */
    int64_t ends_ms;
    int64_t waiters;
    bool listed; /* the last listing has it */
};

struct cli_top_event {
    int64_t at_ms; /* by the server's wall clock, since 1970 */
    char kind[CLI_TOP_KIND_MAX];
    char name[PAWL_NAME_MAX + 1]; /* "": none */
    int64_t token;                /* 0: none */
    char detail[CLI_TOP_DETAIL_MAX];
};

/* The last of them; the next one is written at @count % CLI_TOP_EVENTS_MAX. */
struct cli_top_events {
    uint64_t count;
    struct cli_top_event each[CLI_TOP_EVENTS_MAX];
};

struct cli_top_model {
    pthread_mutex_t mutex;
    int changed_fd; /* an eventfd: written with each change */

    json_t *fleet;                   /* answer of GET /v1/fleet; NULL: none yet */
    int64_t heard_s;                 /* when that was answered, in seconds since 1970 */
    char silent[CLI_REASON_MAX];     /* why it is not answered now; "": it is */
    bool live;                       /* events are coming, */
    char server[CLI_TOP_SERVER_MAX]; /* from this server; "": no event came yet */

    struct cli_top_lock locks[CLI_TOP_LOCKS_MAX];
    size_t count;
    bool complete;                 /* all held locks are listed */
    char unlisted[CLI_REASON_MAX]; /* why locks cannot be listed; "": they can */

    struct cli_top_events all;
    struct cli_top_events trouble; /* lost, broken and refused locks */
};

/* Negative: errno says why. */
int cli_top_model_init(struct cli_top_model *model) __attribute__((warn_unused_result));

/* Each of these takes the mutex, and tells of the change. */

/* Takes over @fleet. NULL: it was not answered, and @reason says why. */
void cli_top_set_fleet(struct cli_top_model *model, json_t *fleet, const char *reason);

/* Events are coming, or no longer. */
void cli_top_set_live(struct cli_top_model *model, bool live);

/* Begin a listing; add its pages; end it. Locks that it does not have are dropped. */
void cli_top_begin_listing(struct cli_top_model *model);
void cli_top_add_page(struct cli_top_model *model, const json_t *locks);
void cli_top_end_listing(struct cli_top_model *model, bool complete, const char *reason);

/* Something happened. */
void cli_top_add_event(struct cli_top_model *model, const struct pawl_event *event);

#endif
