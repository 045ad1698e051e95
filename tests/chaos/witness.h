/* Calls that are written down: each in a line of the history, or in one for each lock that it is
 * about, with one write(), so that the process may be stopped or killed at any moment.
 *
 * An answer that no client may get ends the process, with 1. */
#ifndef TESTS_CHAOS_WITNESS_H
#define TESTS_CHAOS_WITNESS_H

#include "tests/chaos/call.h"
#include "tests/chaos/client.h"

struct witness_text {
    char bytes[64];
};

/* How the resource of the name @name is called, and how the client calls itself in this turn. */
struct witness_text witness_resource(unsigned name);
struct witness_text witness_owner(const struct client *client, const struct hold *hold);

/* Asks for all that @hold wants, and returns the status, 0 for no answer. If it was granted the
 * tokens and the lock id are in @hold. */
int witness_acquire(const struct client *client, struct hold *hold,
                    const struct call_request *request);

/* Sends @request, of another @kind, about lock @at of @hold. The caller gives the answer back with
 * call_answer_fini(). */
struct call_answer witness_call(const struct client *client, enum history_kind kind,
                                const struct hold *hold, unsigned at,
                                const struct call_request *request);

/* Sends @request, which takes @values of the counter @name, or reads it. */
void witness_count(const struct client *client, unsigned name, unsigned values,
                   const struct call_request *request);

/* The client gives lock @at of @hold up, from now on. */
void witness_leave(const struct client *client, const struct hold *hold, unsigned at);

#endif
