/* The calls of a client at pawld, each time at either. */
#ifndef TESTS_CHAOS_LOCKS_H
#define TESTS_CHAOS_LOCKS_H

#include "tests/chaos/client.h"

#include <stdbool.h>

/* Draws what the client wants in its next turn, and asks for it. Under its own lock id it asks
 * once more, so many times, while no answer says what became of it; and sometimes though it was
 * told. False: it has nothing, as far as it knows. */
bool locks_acquire(struct client *client, struct hold *ret_hold);

enum locks_extended {
    LOCKS_NOT_EXTENDED, /* or the result is unknown */
    LOCKS_EXTENDED,
    LOCKS_ANEW, /* granted again, and another may have had it in between: its token is in the hold
                 */
};

/* Extends lock @at of @hold; gives it up. */
enum locks_extended locks_extend(struct client *client, struct hold *hold, unsigned at);
void locks_release(struct client *client, const struct hold *hold, unsigned at);

#endif
