/* The fate of a lock, as the answer to a call says it: the one place that turns answers into
 * happenings. The audit log and the events of clients listen, and each says it in its own words. */
#ifndef SERVER_LOOP_HAPPENED_H
#define SERVER_LOOP_HAPPENED_H

#include "api/http/request.h"
#include "fence/protocol/message.h"

enum server_happening {
    SERVER_HAPPENED_GRANT,      /* a new token */
    SERVER_HAPPENED_FOUND,      /* a retry was given the lock that it has */
    SERVER_HAPPENED_REGRANT,    /* an extension became a new grant */
    SERVER_HAPPENED_UNANSWERED, /* a new token, whose client had gone before the answer. The lock of
                                 * an acquire is released */
    SERVER_HAPPENED_EXTENSION,  /* under the old token */
    SERVER_HAPPENED_RELEASE,    /* its holder gave it up */
    SERVER_HAPPENED_LOSS,       /* its holder was told that it is lost */
    SERVER_HAPPENED_BREAK,      /* an operator had masters end it, whatever was answered */
    SERVER_HAPPENED_REFUSAL,    /* an acquire got nothing */
    SERVER_HAPPENED_WAIT,       /* an acquire began to wait */
};

/* All of it lives for the call. */
struct server_happened {
    enum server_happening what;
    const struct api_request *request; /* by which it came about */
    const char *resource;
    const char *lock_id;               /* "": not known. No listener tells it to anybody */
    int64_t token;                     /* 0: not known */
    const char *owner;                 /* the label of the lock's client; "": none, or not known */
    const struct fence_answer *answer; /* NULL: there is none yet */
};

/* The listener. */
struct server_listening {
    bool (*listens)(const void *context); /* true if anything is to be told now */
    void (*happened)(void *context, const struct server_happened *happened);
    void *context;
};

enum {
    SERVER_HAPPENED_LISTENERS = 2,
};

struct server_happened_listeners {
    struct server_listening each[SERVER_HAPPENED_LISTENERS];
};

/* Keeps with the request of @call what its happenings will need. Before the call is made. */
void server_happened_call(const struct server_happened_listeners *listeners,
                          const struct fence_call *call);

/* Reports whether what was answered about @resource is to be told and counted. Of the parts of a
 * writer's call only the first seat is. */
bool server_happened_stands(const struct api_request *request, const char *resource);

/* Tells what @answer says of locks. Before its request is answered. @left: its client has gone, so
 * no client is told what was granted or lost. */
void server_happened_answer(const struct server_happened_listeners *listeners,
                            const struct fence_answer *answer, bool left);

/* The call of @client, an acquire of @resource, began to wait. */
void server_happened_waits(const struct server_happened_listeners *listeners, uint64_t client,
                           const char *resource);

#endif
