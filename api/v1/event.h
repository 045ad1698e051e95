/* One event of GET /v1/events, and its text (server-sent events, HTML standard, section 9.2.6):
 *
 *     event: granted
 *     data: {"at":"2026-11-27T14:03:05.123Z","server":"db1:7380","resource":"orders/42",...}
 *     id: 5f0c...-17
 *
 * No event has a lock id. */
#ifndef API_V1_EVENT_H
#define API_V1_EVENT_H

#include "fence/protocol/limits.h"

#include <stddef.h>
#include <stdint.h>
#include <time.h>

enum api_event_kind {
    API_EVENT_GRANTED, /* @token, @owner, @validity_ms; also an extension that became a new grant */
    API_EVENT_EXTENDED, /* @token, @validity_ms */
    API_EVENT_RELEASED, /* released by its holder */
    API_EVENT_EXPIRED,  /* the lease ended, and this server saw no release or extension */
    API_EVENT_LOST,     /* the holder was told that it lost the lock; @reason: "lock-lost" or
                         * "lock-broken" */
    API_EVENT_BROKEN,   /* broken by an operator; @token is that of the grant */
    API_EVENT_WAITING,  /* an acquire began to wait; @owner */
    API_EVENT_REFUSED,  /* an acquire was refused; @owner, @reason, and @holder if the lock is
                         * held */
    API_EVENT_MASTER,   /* @master, @address, @state, @reason */
    API_EVENT_FLEET,    /* @state: "ready" or "not-ready" */
    API_EVENT_GAP,      /* events are missing before this; @reason, @missed */
    API_EVENTS,         /* how many there are */
};

/* Members that a kind does not have are NULL or 0, and are left out. */
struct api_event {
    enum api_event_kind kind;
    struct timespec at; /* CLOCK_REALTIME */
    const char *server;
    const char *resource;
    int64_t token;
    const char *owner;
    const char *holder;
    uint64_t validity_ms;
    unsigned master; /* from 1 on */
    const char *address;
    const char *state;
    const char *reason;
    uint64_t missed;
};

enum {
    API_EVENT_SERVER_MAX = 96, /* bytes of the name of a server, terminated */
    /* Bytes of the text of an event. A control character of an owner becomes six bytes. */
    API_EVENT_TEXT_MAX = 1024 + FENCE_RESOURCE_MAX + 12 * FENCE_OWNER_MAX,
    API_EVENT_ID_MAX = 40, /* bytes of an id, terminated */
};

/* Writes the lines of an event but its id. Returns the length, and in *@ret_name_at where the
 * resource stands in the text; 0: the event has none. */
size_t api_event_write(const struct api_event *event, char ret_text[static API_EVENT_TEXT_MAX],
                       size_t *ret_name_at);

/* Writes the line that ends an event: its id, and the empty line behind it. Returns the length. */
size_t api_event_write_id(const char *id, char ret_text[static API_EVENT_ID_MAX + 8]);

#endif
