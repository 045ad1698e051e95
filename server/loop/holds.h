/* How long locks are held: when this worker granted what it is asked to release. For a bounded
 * number of grants: a later one may take the place of an earlier one, and then the earlier one's
 * hold is not known. For metrics only: no decision may use it. */
#ifndef SERVER_LOOP_HOLDS_H
#define SERVER_LOOP_HOLDS_H

#include <stdbool.h>
#include <stdint.h>

enum {
    SERVER_HOLDS = 4096, /* places, a power of 2 */
};

/* All zero to begin with. */
struct server_holds {
    struct {
        uint64_t key; /* hash of lock id and resource; 0: free */
        uint64_t granted_us;
    } places[SERVER_HOLDS];
};

/* A hash for a lock id and a resource; never 0. */
uint64_t server_hold_key(const char *lock_id, const char *resource);

void server_holds_granted(struct server_holds *holds, const char *lock_id, const char *resource,
                          uint64_t now_us);

/* The lock ends. True, and for how long it was held, if its grant is still known; then it is
 * forgotten. */
bool server_holds_ended(struct server_holds *holds, const char *lock_id, const char *resource,
                        uint64_t now_us, uint64_t *ret_held_us);

#endif
