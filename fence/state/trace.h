/* Traces the decisions of the core, one line each:
 *
 *     orders/42: acquire is called
 *     orders/42: take is sent to 1 2
 *     orders/42: master 1 replies number 7
 *     orders/42: 1 2 are frozen, token 8, attempt 5
 *     orders/42: confirm is sent to 1 2
 *     orders/42: acquire is answered: success, token 8
 *
 * Masters are numbered from 1, as in all text for people. By default nothing is traced; then a
 * decision costs one comparison. */
#ifndef FENCE_STATE_TRACE_H
#define FENCE_STATE_TRACE_H

#include "fence/protocol/message.h"

struct fence_core;

enum fence_trace_kind {
    FENCE_TRACE_CALLED,    /* a client asks @call of the core */
    FENCE_TRACE_ADMITTING, /* @call waits for admission: the masters owe too many answers */
    FENCE_TRACE_SENT,      /* @request goes to @masters */
    FENCE_TRACE_REPLIED,   /* master @master gave @reply, with @number if the reply has one */
    FENCE_TRACE_LATE,      /* the reply of @master came for a round that is over, or too late */
    FENCE_TRACE_HEDGED,    /* @masters are asked, because other masters are late */
    FENCE_TRACE_FROZEN,    /* only the numbers of @masters count from now on; the token is
                            * @number */
    FENCE_TRACE_OUTDATED,  /* the view of the round is outdated */
    FENCE_TRACE_PAUSED,    /* @call does nothing for up to @number microseconds */
    FENCE_TRACE_WAITS,     /* @call, of @client, begins to wait */
    FENCE_TRACE_RELEASED,  /* the server heard that the lock was released */
    FENCE_TRACE_ANSWERED,  /* @call is answered with @error, and with @number: the token or the
                            * value */
};

struct fence_trace {
    enum fence_trace_kind kind;
    enum fence_call_kind call;
    uint64_t client;      /* WAITS: as in struct fence_call */
    const char *resource; /* the name in the call; borrowed until the line is traced */
    uint64_t attempt;     /* FROZEN: the attempt that got the numbers */
    uint32_t masters;     /* a set: bit i is master i */
    unsigned master;
    enum fence_request_kind request;
    enum fence_reply_kind reply;
    int error;
    int64_t number; /* 0: none */
};

struct fence_tracer {
    /* Takes one line, during the step. NULL: nothing is traced. */
    void (*line)(void *context, const struct fence_trace *trace);
    void *context;
};

/* Sets the tracer, which is copied. Call it in the thread of @core. */
void fence_core_trace(struct fence_core *core, struct fence_tracer tracer);

enum {
    FENCE_TRACE_TEXT_MAX = FENCE_RESOURCE_MAX + 256, /* bytes of a line, with its end */
};

/* Writes the text of a line, without a newline. Any thread. */
void fence_trace_text(const struct fence_trace *trace, char ret_text[static FENCE_TRACE_TEXT_MAX]);

#endif
