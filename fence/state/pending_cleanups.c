#include "fence/state/pending_cleanups.h"

#include "fence/base/set.h"

#include <assert.h>
#include <stdlib.h>

enum {
    LOOKED_AT_A_TIME = 64, /* slots that the round of sending again passes over in one step */
};

int core_cleanups_init(struct core_cleanups *cleanups, uint32_t capacity)
{
    *cleanups = (struct core_cleanups){.serials = 0};
    cleanups->cleanups = calloc(capacity, sizeof(*cleanups->cleanups));
    if (!fence_pool_init(&cleanups->pool, capacity) || !cleanups->cleanups) {
        core_cleanups_fini(cleanups);
        return FENCE_ENOMEM;
    }
    return 0;
}

void core_cleanups_fini(struct core_cleanups *cleanups)
{
    fence_pool_fini(&cleanups->pool);
    free(cleanups->cleanups);
    *cleanups = (struct core_cleanups){0};
}

static void close_cleanup(struct core_cleanups *cleanups, struct core_cleanup *cleanup)
{
    assert(cleanup->serial != 0);
    cleanup->serial = 0;
    fence_pool_give(&cleanups->pool, (uint32_t)(cleanup - cleanups->cleanups));
}

/* A master that never returns must not fill the table forever. */
static void reclaim_expired(struct core_cleanups *cleanups, uint64_t now_us)
{
    for (unsigned looked = 0; looked < LOOKED_AT_A_TIME; looked++) {
        cleanups->reclaim = (cleanups->reclaim + 1) % cleanups->pool.capacity;
        struct core_cleanup *cleanup = &cleanups->cleanups[cleanups->reclaim];
        if (cleanup->serial != 0 && now_us >= cleanup->expires_us)
            close_cleanup(cleanups, cleanup);
    }
}

uint32_t core_cleanups_open(struct core_cleanups *cleanups, const struct core_cleanup *cleanup,
                            uint64_t now_us)
{
    assert(cleanup->owed != 0 && (cleanup->told & ~cleanup->owed) == 0);
    if (fence_pool_full(&cleanups->pool))
        reclaim_expired(cleanups, now_us);
    uint32_t index = fence_pool_take(&cleanups->pool);
    if (index == CORE_NO_CLEANUP)
        return CORE_NO_CLEANUP;
    struct core_cleanup *opened = &cleanups->cleanups[index];
    *opened = *cleanup;
    opened->serial = ++cleanups->serials;
    opened->next_of_group = CORE_NO_CLEANUP;
    return index;
}

void core_cleanups_join(struct core_cleanups *cleanups, uint32_t before, uint32_t index)
{
    assert(cleanups->cleanups[index].serial == cleanups->cleanups[before].serial + 1);
    cleanups->cleanups[before].next_of_group = index;
}

static struct core_cleanup *find_cleanup(const struct core_cleanups *cleanups, uint32_t index,
                                         uint64_t serial)
{
    if (index >= cleanups->pool.capacity || serial == 0 ||
        cleanups->cleanups[index].serial != serial)
        return NULL;
    return &cleanups->cleanups[index];
}

static void settle_cleanup(struct core_cleanups *cleanups, struct core_cleanup *cleanup,
                           uint32_t master)
{
    cleanup->owed &= ~master;
    cleanup->told &= cleanup->owed;
    if (cleanup->owed == 0)
        close_cleanup(cleanups, cleanup);
}

/* Returns the next clean-up that master @i got in the same request. Only the first request to a
 * master has all clean-ups of a group. */
static uint32_t next_told(const struct core_cleanup *cleanup, unsigned i)
{
    return fence_set_has(cleanup->alone, i) ? CORE_NO_CLEANUP : cleanup->next_of_group;
}

/* Clean-ups of one group have consecutive serials. */
void core_cleanups_settle(struct core_cleanups *cleanups, uint32_t index, uint64_t serial,
                          unsigned i)
{
    for (struct core_cleanup *cleanup; (cleanup = find_cleanup(cleanups, index, serial));
         serial++) {
        index = next_told(cleanup, i);
        settle_cleanup(cleanups, cleanup, fence_set_of(i));
    }
}

void core_cleanups_lose(struct core_cleanups *cleanups, uint32_t index, uint64_t serial, unsigned i)
{
    for (struct core_cleanup *cleanup; (cleanup = find_cleanup(cleanups, index, serial));
         serial++) {
        index = next_told(cleanup, i);
        cleanup->told &= ~fence_set_of(i);
    }
}

void core_cleanups_tell_again(struct core_cleanups *cleanups)
{
    cleanups->cursor = 0;
    cleanups->telling = cleanups->pool.used > 0;
}

struct core_cleanup *core_cleanups_next(struct core_cleanups *cleanups, uint32_t active,
                                        uint64_t now_us, uint32_t *ret_set)
{
    assert(cleanups->telling);
    for (unsigned looked = 0; looked < LOOKED_AT_A_TIME; looked++) {
        if (cleanups->cursor == cleanups->pool.capacity || cleanups->pool.used == 0) {
            cleanups->telling = false;
            return NULL;
        }
        struct core_cleanup *cleanup = &cleanups->cleanups[cleanups->cursor++];
        if (cleanup->serial == 0)
            continue;
        uint32_t set = cleanup->owed & ~cleanup->told & active;
        if (now_us >= cleanup->expires_us) {
            close_cleanup(cleanups, cleanup);
        } else if (set != 0) {
            cleanup->told |= set;
            cleanup->alone |= set;
            *ret_set = set;
            return cleanup;
        }
    }
    return NULL;
}
