/* When to send what waits for the masters: at once, or after a short delay that fills the batch.
 *
 * Calls come in bursts: a client that was answered often asks again at once. A script call that
 * carries more requests costs less for each, most of all where it ends in an fsync. So requests are
 * held back while such calls come in, and the sockets are read without sleeping. A single client is
 * never delayed: the delay needs other clients that were just answered. */
#ifndef SERVER_LOOP_BATCH_DELAY_H
#define SERVER_LOOP_BATCH_DELAY_H

#include <stdbool.h>
#include <stdint.h>

enum {
    SERVER_BATCH_DELAY_US = 5000,     /* since the first of those answers, and what waits at most */
    SERVER_BATCH_DELAY_FRUITLESS = 8, /* turns without a call, after which it is abandoned */
};

/* All zero: no call was answered yet. */
struct server_batch_delay {
    unsigned owed;      /* clients that were answered, and may ask again at once */
    uint64_t since_us;  /* when the first of them was */
    bool holds;         /* something waits to be sent, */
    uint64_t holds_us;  /* since then */
    unsigned asked;     /* calls that came in this turn */
    unsigned fruitless; /* turns in a row in which none did */
};

/* A client was answered; a call came. */
void server_batch_delay_answered(struct server_batch_delay *delay, uint64_t now_us);
void server_batch_delay_asked(struct server_batch_delay *delay);

/* A turn ends. @could_send: there is something to send, and a master that takes it. True: send it
 * in a later turn, and do not sleep before. */
bool server_batch_delay_waits(struct server_batch_delay *delay, bool could_send, uint64_t now_us);

#endif
