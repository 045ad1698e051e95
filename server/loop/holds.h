/* Measures how long locks are held: remembers when this worker granted each lock. The number of
 * grants is bounded: a later grant may replace an earlier one, and then the hold of the earlier one
 * is not known. For metrics only: no decision may use it. */
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

/* Returns a hash of a lock id and a resource; never 0. */
uint64_t server_hold_key(const char *lock_id, const char *resource);

void server_holds_granted(struct server_holds *holds, const char *lock_id, const char *resource,
                          uint64_t now_us);

/* Notes the end of a lock. Returns true and how long the lock was held, if its grant is known; the
 * grant is then forgotten. */
bool server_holds_ended(struct server_holds *holds, const char *lock_id, const char *resource,
                        uint64_t now_us, uint64_t *ret_held_us);

#endif
