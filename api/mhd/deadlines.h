/* The deadlines of connections; each waits for one thing at a time. All waits of one kind have the
 * same limit, so a list in the order of their begin is also in the order of their deadlines. Pure:
 * the caller has the clock. */
#ifndef API_MHD_DEADLINES_H
#define API_MHD_DEADLINES_H

#include <stdint.h>

enum {
    API_CONNECTION_LINGER_MS = 1000, /* time for a refused client to read the reason */
    API_CONNECTION_END_MS = 50,      /* an answered client that is silent for so long may have
                                      * disconnected */
};

/* The limited times of a connection. */
enum api_connection_wait {
    API_CONNECTION_HEAD, /* also for its first byte */
    API_CONNECTION_BODY,
    API_CONNECTION_LINGER,
    API_CONNECTION_END,   /* for a next request; then the connection checks whether the client
                           * has ended */
    API_CONNECTION_IDLE,  /* for a next request, until libmicrohttpd's limit */
    API_CONNECTION_WAITS, /* how many there are */
    API_CONNECTION_FREE = API_CONNECTION_WAITS,
};

struct api_deadline {
    struct api_deadline *prev, *next; /* in the list of its wait */
    uint64_t since_ms;                /* when the wait began; CLOCK_MONOTONIC */
    uint8_t wait;                     /* enum api_connection_wait */
};

struct api_deadlines {
    struct {
        struct api_deadline *first, *last; /* the longest wait first */
        uint32_t limit_ms;
    } waits[API_CONNECTION_WAITS];
};

void api_deadlines_init(struct api_deadlines *deadlines, uint32_t head_ms, uint32_t body_ms);

/* A deadline that waits for nothing, before its first use. */
void api_deadline_init(struct api_deadline *deadline);

/* Begins a wait at @now_ms, and ends any other wait of @deadline. */
void api_deadline_set(struct api_deadlines *deadlines, struct api_deadline *deadline,
                      enum api_connection_wait wait, uint64_t now_ms);

/* Ends the wait of @deadline. */
void api_deadline_clear(struct api_deadlines *deadlines, struct api_deadline *deadline);

/* The longest @wait if it has lasted for at least @ms, or NULL. */
struct api_deadline *api_deadlines_older(const struct api_deadlines *deadlines,
                                         enum api_connection_wait wait, uint64_t ms,
                                         uint64_t now_ms);

/* The longest @wait if its time is up, or NULL. */
struct api_deadline *api_deadlines_due(const struct api_deadlines *deadlines,
                                       enum api_connection_wait wait, uint64_t now_ms);

/* How long until the next time is up; -1: never. */
int api_deadlines_timeout_ms(const struct api_deadlines *deadlines, uint64_t now_ms);

#endif
