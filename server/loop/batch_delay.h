/* Decides when to send the requests that are ready for the masters: at once, or after a short delay
 * that fills the batch.
 *
 * Calls come in bursts: a client that just got an answer often calls again at once. A script call
 * with more requests costs less for each request, most of all if it ends in an fsync. So requests
 * are held back while such calls come in, and the sockets are read without sleeping. A single
 * client is never delayed: the delay needs other clients that just got an answer. */
#ifndef SERVER_LOOP_BATCH_DELAY_H
#define SERVER_LOOP_BATCH_DELAY_H

#include <stdbool.h>
#include <stdint.h>

enum {
    SERVER_BATCH_DELAY_US = 5000,     /* longest delay: since the first of those answers, and for
                                       * each request */
    SERVER_BATCH_DELAY_FRUITLESS = 8, /* turns without a call, after which the delay ends */
};

/* All zero: no call was answered yet. */
struct server_batch_delay {
    unsigned owed;      /* clients that got an answer, and may call again at once */
    uint64_t since_us;  /* when the first of them got its answer */
    bool holds;         /* requests are held back */
    uint64_t holds_us;  /* since when requests are held back */
    unsigned asked;     /* calls that arrived in this turn */
    unsigned fruitless; /* consecutive turns without a call */
};

/* A client was answered; a call came. */
void server_batch_delay_answered(struct server_batch_delay *delay, uint64_t now_us);
void server_batch_delay_asked(struct server_batch_delay *delay);

/* Ends a turn. @could_send: there are requests to send, and a master that takes them. Returns true
 * if the requests must wait for a later turn: do not sleep before it. */
bool server_batch_delay_waits(struct server_batch_delay *delay, bool could_send, uint64_t now_us);

#endif
