/* When to send what waits for the masters: at once, or when those who were just answered have asked
 * again.
 *
 * What clients ask comes in bursts: as many answers as went out a moment ago, so many calls come
 * back. A script call that carries more costs less a request, most of all where it ends in an
 * fsync. So what is to be sent waits while they come in, and the sockets are looked at without
 * sleeping. It does not wait for those who take their time, nor where nobody else was answered: the
 * call of a client that is alone goes out as it comes. */
#ifndef SERVER_LOOP_BATCH_DELAY_H
#define SERVER_LOOP_BATCH_DELAY_H

#include <stdbool.h>
#include <stdint.h>

enum {
    SERVER_GATHERING_US = 5000,     /* since the first of those answers: what waits at most */
    SERVER_GATHERING_FRUITLESS = 8, /* turns in a row without a call, after which it is given up */
};

/* All zero: nobody was answered yet. */
struct server_gathering {
    unsigned owed;      /* clients that were answered, and may ask again at once */
    uint64_t since_us;  /* when the first of them was */
    unsigned asked;     /* calls that came in this turn */
    unsigned fruitless; /* turns in a row in which none did */
};

/* A client was answered; a call came. */
void server_gathering_answered(struct server_gathering *gathering, uint64_t now_us);
void server_gathering_asked(struct server_gathering *gathering);

/* A turn ends. @could_send: there is something to send, and a master that takes it. True: send it
 * in a later turn, and do not sleep before. */
bool server_gathering_waits(struct server_gathering *gathering, bool could_send, uint64_t now_us);

#endif
