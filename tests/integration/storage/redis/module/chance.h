/* Random acts on a master: what the test of likeness plays on two servers. */
#ifndef TESTS_INTEGRATION_STORAGE_REDIS_MODULE_CHANCE_H
#define TESTS_INTEGRATION_STORAGE_REDIS_MODULE_CHANCE_H

#include "fence/protocol/message.h"

#include <stddef.h>
#include <stdint.h>

enum {
    CHANCE_TTL_MS = 40000, /* leases last this long or twice as long: no token is near that */
    CHANCE_COMMAND_MAX = 512,
};

/* The same @seed gives the same acts. */
struct chance {
    uint64_t state;
    struct fence_group group; /* group of the last request */
};

struct chance chance_new(uint64_t seed);

/* A number below @bound. */
unsigned chance_below(struct chance *chance, unsigned bound);

/* A request that pawld might make; it points into @chance until the next one. */
struct fence_request chance_request(struct chance *chance);

/* A command of somebody else: a lock that is imported, ends, or was written by hand; a counter that
 * is used up. As words with a space between. */
void chance_harm(struct chance *chance, long long now_ms,
                 char ret_command[static CHANCE_COMMAND_MAX]);

#endif
