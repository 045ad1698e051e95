/* The replies that a connection accepts from a Redis. hiredis 0.14 trusts its input: it asserts
 * that each reply was requested and that each message has its shape, and allocates any announced
 * size. A peer, or a machine in between, could crash or exhaust this process with one line.
 *
 * So this file watches its readers. A reply that was not requested is an error of its connection.
 * So is a reply with a shape or size that no command of Pawl gets. Nothing of such a reply is
 * kept. */
#ifndef STORAGE_REDIS_REPLIES_H
#define STORAGE_REDIS_REPLIES_H

#include <stdbool.h>
#include <stddef.h>

#include <hiredis/async.h>
#include <hiredis/hiredis.h>

/* Bounds of one reply. The largest replies that are asked for: the counters of a master for pawld
 * init (some 33,000 elements), a page of locks (some 400 KB in one string), INFO (some 20 KB). */
enum {
    STORAGE_REPLY_DEPTH_MAX = 4,                /* of arrays in arrays; 2 are asked for */
    STORAGE_REPLY_ELEMENTS_MAX = 128 * 1024,    /* in all its arrays together */
    STORAGE_REPLY_STRING_MAX = 8 * 1024 * 1024, /* bytes of one string, ... */
    STORAGE_REPLY_BYTES_MAX = 16 * 1024 * 1024, /* ... and of all of them */
    STORAGE_REPLY_LINE_MAX = 16 * 1024,         /* bytes of an error, or of a status */
    STORAGE_REPLY_NUMBER_MAX = 32,              /* bytes of a number, or of a length */
    STORAGE_REPLY_ERROR_MAX = 128,              /* for the text that says what came */
};

enum storage_replies_to {
    STORAGE_REPLIES_TO_QUESTIONS, /* one to each command */
    STORAGE_REPLIES_TO_LISTENER,  /* the same until SUBSCRIBE, then messages */
};

/* Lives as long as the context that it watches. Thread of the connection. */
struct storage_replies {
    const redisReader *reader;
    const redisReplyObjectFunctions *makers; /* functions of the reader, before it was watched */
    const redisAsyncContext *async;          /* NULL: a connection that blocks */
    enum storage_replies_to to;
    unsigned owed;   /* replies that may begin in what is being read */
    bool subscribed; /* a listener: SUBSCRIBE was answered */
    bool refused;    /* a listener: it was refused, and nothing may come */

    /* State of the reply under way. */
    bool is_answer; /* to what was asked */
    bool is_message;
    size_t elements;
    size_t bytes;

    char error[STORAGE_REPLY_ERROR_MAX]; /* "", or the text about an unexpected reply */
};

/* Begins to watch the reads of @context, before the first one. @context is of redisConnect*(); it
 * refers to @replies from here on. */
void storage_replies_watch(struct storage_replies *replies, redisContext *context);
void storage_replies_watch_async(struct storage_replies *replies, redisAsyncContext *context,
                                 enum storage_replies_to to);

/* Call it before each read: only commands sent until then can be answered in it. */
void storage_replies_expect(struct storage_replies *replies);

/* Call it after each read: reports whether the incomplete rest may still become a reply. If not,
 * close the connection; storage_replies_wrong() says why. */
bool storage_replies_bounded(struct storage_replies *replies);

/* Returns the fault of the bytes over @context, printable; NULL: none. */
const char *storage_replies_wrong(const redisContext *context);

#endif
