/* Clients that keep a service busy with little work of their own, for pawl-bench-attack:
 *
 *     slow   sends the head of a request a byte a second
 *     deaf   asks for 128 long answers at once, then for one a second, and reads none
 *     idle   has had an answer, and says nothing
 *
 * A connection that the service ended is opened anew. One thread. */
#ifndef SCRIPTS_BENCH_D_PROGRAMS_LAZY_H
#define SCRIPTS_BENCH_D_PROGRAMS_LAZY_H

#include <stdint.h>

enum {
    LAZY_MAX = 20000, /* of each kind */
    LAZY_TICKS = 100, /* of a second */
};

struct lazy_counts {
    unsigned slow, deaf, idle;
};

/* Opens all connections. Ends the program, saying why, where that cannot be. */
void lazy_begin(uint16_t port, const struct lazy_counts *counts);

/* To be called LAZY_TICKS times a second, with @tick from 0 to LAZY_TICKS - 1 over and over: sends
 * what is to be sent, and opens anew what the service ended. Each client has its turn once a
 * second, at a tick of its own: clients that know nothing of each other keep no common beat. */
void lazy_tick(unsigned tick);

/* How many connections were opened anew, and how many the service holds now. */
unsigned lazy_reopened(void);
unsigned lazy_held(void);

#endif
