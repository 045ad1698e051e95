/* Turns the answer to a call into an event of its lock, in one place. The audit log and the event
 * stream listen, and each writes the event in its own format. */
#ifndef SERVER_LOOP_LOCK_EVENT_H
#define SERVER_LOOP_LOCK_EVENT_H

#include "api/http/request.h"
#include "fence/protocol/message.h"

enum server_happening {
    SERVER_HAPPENED_GRANT,      /* a new token */
    SERVER_HAPPENED_FOUND,      /* a retry received the lock that it holds */
    SERVER_HAPPENED_REGRANT,    /* an extension became a new grant */
    SERVER_HAPPENED_UNANSWERED, /* a new token whose client left before the answer. The lock of an
                                 * acquire is released */
    SERVER_HAPPENED_EXTENSION,  /* under the old token */
    SERVER_HAPPENED_RELEASE,    /* the holder released the lock */
    SERVER_HAPPENED_LOSS,       /* the holder heard that it lost the lock */
    SERVER_HAPPENED_BREAK,      /* an operator broke the grant, with any answer */
    SERVER_HAPPENED_REFUSAL,    /* an acquire was refused */
    SERVER_HAPPENED_WAIT,       /* an acquire began to wait */
};

/* All strings are borrowed for the call. */
struct server_happened {
    enum server_happening what;
    const struct api_request *request; /* the request that caused the event */
    const char *resource;
    const char *lock_id;               /* "": not known. No listener may publish it */
    int64_t token;                     /* 0: not known */
    const char *owner;                 /* the label of the lock's client; "": none, or not known */
    const struct fence_answer *answer; /* NULL: no answer yet */
};

/* The listener. */
struct server_listening {
    bool (*listens)(const void *context); /* true if the listener wants events now */
    void (*happened)(void *context, const struct server_happened *happened);
    void *context;
};

enum {
    SERVER_HAPPENED_LISTENERS = 2,
};

struct server_happened_listeners {
    struct server_listening each[SERVER_HAPPENED_LISTENERS];
};

/* Stores data for later events of @call with its request. Call it before the call begins. */
void server_happened_call(const struct server_happened_listeners *listeners,
                          const struct fence_call *call);

/* Reports whether the answer about @resource is an event to count. Of a writer's call only the
 * first seat is. */
bool server_happened_stands(const struct api_request *request, const char *resource);

/* Reports the events in @answer, before its request is answered. @left: the client has left, so a
 * new token is unanswered, and a loss is no event. */
void server_happened_answer(const struct server_happened_listeners *listeners,
                            const struct fence_answer *answer, bool left);

/* The call of @client, an acquire of @resource, began to wait. */
void server_happened_waits(const struct server_happened_listeners *listeners, uint64_t client,
                           const char *resource);

#endif
