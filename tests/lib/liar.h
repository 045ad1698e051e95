/* A liar in front of a real Redis: a TCP proxy that hands on what is asked, and may say something
 * else than what is answered. It has its own thread. */
#ifndef TESTS_LIB_LIAR_H
#define TESTS_LIB_LIAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LIAR_ASKED_MAX = 32768,       /* bytes of a question that are shown */
    LIAR_SAYS_MAX = 1024 * 1024,  /* bytes that replace an answer */
    LIAR_ENDLESS_MAX = 256 << 20, /* bytes after which even an endless lie ends */
};

/* Bytes from the Redis on one connection. */
struct liar_heard {
    const char *asked; /* the beginning of what was asked last there; terminated */
    bool listener;     /* true if it subscribed to something */
    const char *bytes;
    size_t len;
};

/* The words instead. As given to a liar_fn, it is the truth. */
struct liar_lie {
    char *bytes; /* room for LIAR_SAYS_MAX bytes */
    size_t len;
    unsigned delay_ms; /* before that */
    size_t piece;      /* sent so many bytes at a time, 1 ms apart; 0: at once */
    bool endless;      /* the bytes are said again and again, until the reader stops */
    bool hang_up;      /* the connection ends after that */
};

/* Decides what is said. Called on the liar's thread. */
typedef void liar_fn(void *context, const struct liar_heard *heard, struct liar_lie *lie);

struct liar;

/* Listens on a free port of 127.0.0.1 in front of @target. The caller ends it with liar_stop(). */
struct liar *liar_start(uint16_t target, liar_fn *tells, void *context);
uint16_t liar_port(const struct liar *liar);

/* From here on it says what @tells says, with @context; when this returns, the function before is
 * not running any more. NULL: the truth. */
void liar_tells(struct liar *liar, liar_fn *tells, void *context);

/* Bytes that endless lies could say, until the client stopped reading: the most in one of them. */
size_t liar_longest(struct liar *liar);

/* Ends all connections and the thread. NULL is fine. */
void liar_stop(struct liar *liar);

#endif
