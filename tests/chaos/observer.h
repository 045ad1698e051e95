/* Stands between pawld and the masters, and writes down what each master did, in the order in which
 * it did so. Each script call goes to its master in one transaction with two looks at the state of
 * the master: one before the call, one after it. No other command comes in between.
 *
 * The file has a record for each call: a line with the number of the member, the port of its
 * server, and the lengths of what follows; the call, the first look, the reply and the last look,
 * all in Redis' protocol. A call whose server died over it has no reply. Records of several masters
 * stand in an order that no message contradicts: a reply is passed on after its record.
 *
 * Each master has a thread, which has one call executed at a time. */
#ifndef TESTS_CHAOS_OBSERVER_H
#define TESTS_CHAOS_OBSERVER_H

#include <stdint.h>

struct observer;

/* Writes to the file @path. */
struct observer *observer_new(const char *path);

/* The port by which pawld reaches the server at 127.0.0.1:@upstream, which is member @member. The
 * thread of the stage. */
uint16_t observer_port(struct observer *observer, unsigned member, uint16_t upstream);

/* All servers have ended before. NULL is fine. */
void observer_free(struct observer *observer);

#endif
