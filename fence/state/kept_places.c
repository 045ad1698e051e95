#include "fence/state/kept_places.h"

#include "fence/base/keyed.h"
#include "fence/base/minmax.h"
#include "fence/protocol/limits.h"
#include "fence/protocol/owner.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    EXPIRED_A_TIME = 2, /* places that may be dropped each time: more than are added */
};

int core_kept_places_init(struct core_kept_places *kept, uint32_t capacity, uint64_t seed)
{
    kept->seed = seed;
    kept->oldest = FENCE_NOBODY;
    kept->newest = FENCE_NOBODY;
    kept->places = calloc(capacity, sizeof(*kept->places));
    if (!fence_pool_init(&kept->pool, capacity) || !fence_table_init(&kept->table, capacity) ||
        !kept->places) {
        core_kept_places_fini(kept);
        return FENCE_ENOMEM;
    }
    return 0;
}

void core_kept_places_fini(struct core_kept_places *kept)
{
    fence_pool_fini(&kept->pool);
    fence_table_fini(&kept->table);
    free(kept->places);
    *kept = (struct core_kept_places){0};
}

/* ---- whose ----------------------------------------------------------------------------------- */

static uint64_t hash_text(const char *text, uint64_t seed, uint64_t also)
{
    return fence_keyed_hash(text, strlen(text), (const uint64_t[2]){seed, also});
}

static uint64_t hash_lock(const struct core_kept_places *kept, const char *resource,
                          const char *lock_id)
{
    return hash_text(lock_id, kept->seed, hash_text(resource, kept->seed, 0));
}

static uint64_t hash_key(const struct core_kept_places *kept, const char *owner)
{
    const char *separator = strchr(owner, FENCE_OWNER_SEPARATOR);
    return separator ? hash_text(separator + 1, kept->seed, 0) : 0;
}

static uint32_t find(const struct core_kept_places *kept, uint64_t lock, uint64_t key)
{
    uint32_t at = fence_table_first(&kept->table, lock);
    while (at != FENCE_TABLE_NONE && (kept->places[at].lock != lock || kept->places[at].key != key))
        at = fence_table_next(&kept->table, at);
    return at;
}

/* ---- those whose waiters are away ------------------------------------------------------------ */

static void go_away(struct core_kept_places *kept, uint32_t at, uint64_t now_us)
{
    struct core_kept_place *place = &kept->places[at];
    place->until_us = now_us + FENCE_PLACE_KEPT_US;
    place->older = kept->newest;
    place->newer = FENCE_NOBODY;
    if (kept->newest == FENCE_NOBODY)
        kept->oldest = at;
    else
        kept->places[kept->newest].newer = at;
    kept->newest = at;
    kept->away++;
}

static void come_back(struct core_kept_places *kept, uint32_t at)
{
    const struct core_kept_place *place = &kept->places[at];
    assert(kept->away > 0 && place->present == 0);
    if (kept->oldest == at)
        kept->oldest = place->newer;
    else
        kept->places[place->older].newer = place->newer;
    if (kept->newest == at)
        kept->newest = place->older;
    else
        kept->places[place->newer].older = place->older;
    kept->away--;
}

static void drop(struct core_kept_places *kept, uint32_t at)
{
    come_back(kept, at);
    fence_table_remove(&kept->table, kept->places[at].lock, at);
    fence_pool_give(&kept->pool, at);
}

static void drop_expired(struct core_kept_places *kept, uint64_t now_us)
{
    for (unsigned k = 0; k < EXPIRED_A_TIME && kept->oldest != FENCE_NOBODY; k++)
        if (kept->places[kept->oldest].until_us <= now_us)
            drop(kept, kept->oldest);
}

/* ---- what the queues call -------------------------------------------------------------------- */

/* Returns the place that is kept for @owner, whose waiter is back; FENCE_NOBODY: there is none, or
 * it has expired. */
static uint32_t find_kept(struct core_kept_places *kept, const struct core_kept_place *owner,
                          uint64_t now_us)
{
    const uint32_t at = find(kept, owner->lock, owner->key);
    if (at == FENCE_NOBODY || kept->places[at].present > 0)
        return at;
    const struct core_kept_place *place = &kept->places[at];
    if (place->granted || place->until_us <= now_us) {
        drop(kept, at);
        return FENCE_NOBODY;
    }
    come_back(kept, at);
    return at;
}

static struct core_kept_place make_place(const struct core_kept_places *kept,
                                         const struct core_place_owner *owner, uint64_t rank)
{
    return (struct core_kept_place){
        .lock = hash_lock(kept, owner->resource, owner->lock_id),
        .key = hash_key(kept, owner->owner),
        .rank = rank,
    };
}

static uint32_t add(struct core_kept_places *kept, const struct core_kept_place *fresh)
{
    const uint32_t at = fence_pool_take(&kept->pool);
    assert(at != FENCE_POOL_NONE);
    kept->places[at] = *fresh;
    fence_table_add(&kept->table, fresh->lock, at);
    return at;
}

uint32_t core_kept_places_come(struct core_kept_places *kept, const struct core_place_owner *owner,
                               uint64_t rank, uint64_t now_us, uint32_t away_max)
{
    const struct core_kept_place fresh = make_place(kept, owner, rank);
    uint32_t at = find_kept(kept, &fresh, now_us);
    core_kept_places_bound(kept, away_max);
    if (at == FENCE_NOBODY)
        at = add(kept, &fresh);
    struct core_kept_place *place = &kept->places[at];
    if (place->granted) { /* and another waiter of the place is still there */
        place->granted = false;
        place->rank = rank;
        place->ticket = 0;
    }
    place->present++;
    return at;
}

int64_t core_kept_places_ticket(struct core_kept_places *kept, uint32_t place, int64_t ticket)
{
    struct core_kept_place *of = &kept->places[place];
    assert(of->present > 0);
    if (of->ticket == 0)
        of->ticket = ticket;
    return of->ticket;
}

bool core_kept_places_leave(struct core_kept_places *kept, uint32_t place, bool granted,
                            uint64_t now_us)
{
    struct core_kept_place *left = &kept->places[place];
    assert(left->present > 0);
    left->granted |= granted;
    const bool is_kept = --left->present == 0 && !left->granted;
    if (left->present == 0)
        go_away(kept, place, now_us);
    drop_expired(kept, now_us);
    return is_kept;
}

uint32_t core_kept_places_told(struct core_kept_places *kept, const struct core_place_owner *owner,
                               uint64_t rank, int64_t ticket, uint64_t now_us, uint32_t away_max)
{
    assert(ticket > 0 && away_max > 0);
    struct core_kept_place fresh = make_place(kept, owner, rank);
    const uint32_t at = find(kept, fresh.lock, fresh.key);
    if (at == FENCE_NOBODY) {
        fresh.ticket = ticket;
        core_kept_places_bound(kept, away_max - 1);
        go_away(kept, add(kept, &fresh), now_us);
        return FENCE_NOBODY;
    }
    struct core_kept_place *place = &kept->places[at];
    if (place->granted)
        return FENCE_NOBODY;
    place->rank = fence_min(place->rank, rank);
    if (place->ticket == 0 || place->ticket > ticket)
        place->ticket = ticket;
    return place->present > 0 ? at : FENCE_NOBODY;
}

void core_kept_places_declined(struct core_kept_places *kept, uint32_t place, const char *resource,
                               const char *lock_id)
{
    if (kept->places[place].lock == hash_lock(kept, resource, lock_id))
        kept->places[place].granted = false;
}

void core_kept_places_bound(struct core_kept_places *kept, uint32_t away_max)
{
    while (kept->away > away_max)
        drop(kept, kept->oldest);
}
