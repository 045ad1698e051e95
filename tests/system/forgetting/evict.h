/* Another user of master 0 whose keys fill its memory, so that locks have to go. */
#ifndef TESTS_SYSTEM_FORGETTING_EVICT_H
#define TESTS_SYSTEM_FORGETTING_EVICT_H

enum {
    EVICT_ROOM = 512 * 1024, /* bytes that are free under the limit at first */
};

/* Sets a limit of @room bytes more than is used now, and the policy. */
void evict_from(long long room, const char *policy);

/* Fills the memory under a limit until the lock "forgetting/held" was evicted, and lifts the limit.
 * The marker is still there. */
void evict_locks(void);

/* No limit, and the policy noeviction. */
void evict_no_more(void);

#endif
