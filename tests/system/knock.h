/* Clients that do nothing but call, over and over, and count what becomes of it: some make a
 * connection for each call, others keep theirs for as long as the service does. For what clients
 * see of a service that is replaced. Each a thread. */
#ifndef TESTS_SYSTEM_KNOCK_H
#define TESTS_SYSTEM_KNOCK_H

#include <stdbool.h>
#include <stdint.h>

enum {
    KNOCK_EACH = 4, /* clients of each of the two kinds */
};

struct knock_counts {
    unsigned
        answered; /* with the status that a call wants: 201 for an acquire, 200 for a release */
    unsigned unavailable; /* 503 */
    unsigned stopping;    /* counts answers urn:pawl:stopping */
    unsigned others;      /* another status, or no HTTP */
    unsigned refused;     /* no connection could be made */
    unsigned cut;         /* the connection ended before the answer to a call that had been sent */
    unsigned silent;      /* no answer came for seconds */
    unsigned connections;
    int last_status;   /* of others */
    char last_503[64]; /* the type of the problem */
};

struct knock;

/* Starts the clients, which call the service on 127.0.0.1:@port. Each acquires a lock of its own
 * name, and releases it. */
struct knock *knock_start(uint16_t port);

/* Waits until each client has had @calls more answers; false where that takes longer than
 * @timeout_ms. */
bool knock_wait(const struct knock *knock, unsigned calls, unsigned timeout_ms);

/* Lets each client finish its call, frees @knock, and adds up. */
struct knock_counts knock_stop(struct knock *knock);

/* Fails the test unless each connection was made and each call was answered. A call may have been
 * answered 503. */
void knock_expect_unhurt(const struct knock_counts *counts);

#endif
