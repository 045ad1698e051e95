#include "fence/state/wait_queue.h"

#include "fence/base/keyed.h"
#include "fence/protocol/name.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

int core_wait_queues_init(struct core_wait_queues *queues, uint32_t capacity, uint64_t seed)
{
    queues->capacity = capacity;
    queues->seed[0] = seed;
    queues->queues = calloc(capacity, sizeof(*queues->queues));
    queues->places = calloc(capacity, sizeof(*queues->places));
    if (!fence_pool_init(&queues->pool, capacity) || !fence_table_init(&queues->table, capacity) ||
        !queues->queues || !queues->places) {
        core_wait_queues_fini(queues);
        return FENCE_ENOMEM;
    }
    for (uint32_t i = 0; i < capacity; i++)
        queues->places[i].queue = FENCE_NOBODY;
    return 0;
}

void core_wait_queues_fini(struct core_wait_queues *queues)
{
    fence_pool_fini(&queues->pool);
    fence_table_fini(&queues->table);
    free(queues->queues);
    free(queues->places);
    *queues = (struct core_wait_queues){0};
}

static uint64_t hash_resource(const struct core_wait_queues *queues, const char *resource)
{
    return fence_keyed_hash(resource, strlen(resource), queues->seed);
}

static uint32_t find_queue(const struct core_wait_queues *queues, const char *resource)
{
    uint32_t at = fence_table_first(&queues->table, hash_resource(queues, resource));
    while (at != FENCE_TABLE_NONE && strcmp(queues->queues[at].resource, resource) != 0)
        at = fence_table_next(&queues->table, at);
    return at;
}

static uint32_t open_queue(struct core_wait_queues *queues, const char *resource)
{
    uint32_t at = fence_pool_take(&queues->pool);
    assert(at != FENCE_POOL_NONE); /* there are as many queues as callers */
    struct core_wait_queue *queue = &queues->queues[at];

    size_t len = strlen(resource);
    assert(len <= FENCE_RESOURCE_MAX);
    memcpy(queue->resource, resource, len + 1);
    core_holder_hint_clear(&queue->seen);
    queue->first = FENCE_NOBODY;
    queue->last = FENCE_NOBODY;
    queue->length = 0;
    queue->askers = 0;
    queue->own_ids = 0;
    queue->seats = FENCE_NOBODY;
    queue->first_number = 0;
    queue->number = 0;
    fence_table_add(&queues->table, hash_resource(queues, resource), at);
    return at;
}

static void close_queue(struct core_wait_queues *queues, uint32_t at)
{
    fence_table_remove(&queues->table, hash_resource(queues, queues->queues[at].resource), at);
    fence_pool_give(&queues->pool, at);
}

/* Returns the last call of @queue whose rank is at most @rank; FENCE_NOBODY: all ranks are higher.
 * Searches from both ends. */
static uint32_t last_up_to(const struct core_wait_queues *queues,
                           const struct core_wait_queue *queue, uint64_t rank)
{
    uint32_t back = queue->last;
    uint32_t front = queue->first;
    while (back != FENCE_NOBODY && queues->places[back].rank > rank) {
        if (queues->places[front].rank > rank)
            return queues->places[front].before;
        front = queues->places[front].after;
        back = queues->places[back].before;
    }
    return back;
}

struct core_wait_queue *core_wait_queues_join(struct core_wait_queues *queues, uint32_t who,
                                              const char *resource, uint64_t rank)
{
    assert(who < queues->capacity && queues->places[who].queue == FENCE_NOBODY);
    uint32_t at = find_queue(queues, resource);
    if (at == FENCE_NOBODY)
        at = open_queue(queues, resource);
    struct core_wait_queue *queue = &queues->queues[at];
    const uint32_t before = last_up_to(queues, queue, rank);
    const uint32_t after = before == FENCE_NOBODY ? queue->first : queues->places[before].after;
    queues->places[who] =
        (struct core_wait_place){.queue = at, .before = before, .after = after, .rank = rank};
    if (before == FENCE_NOBODY)
        queue->first = who;
    else
        queues->places[before].after = who;
    if (after == FENCE_NOBODY)
        queue->last = who;
    else
        queues->places[after].before = who;
    queue->length++;
    return queue;
}

uint32_t core_wait_queues_leave(struct core_wait_queues *queues, uint32_t who)
{
    struct core_wait_place *place = &queues->places[who];
    assert(who < queues->capacity && place->queue != FENCE_NOBODY);
    struct core_wait_queue *queue = &queues->queues[place->queue];
    bool was_first = queue->first == who;
    if (was_first)
        queue->first = place->after;
    else
        queues->places[place->before].after = place->after;
    if (queue->last == who)
        queue->last = place->before;
    else
        queues->places[place->after].before = place->before;
    if (--queue->length == 0)
        close_queue(queues, place->queue);
    uint32_t next = place->after;
    place->queue = FENCE_NOBODY;
    return was_first ? next : FENCE_NOBODY;
}

uint32_t core_wait_queues_before(const struct core_wait_queues *queues, uint32_t who)
{
    assert(who < queues->capacity && queues->places[who].queue != FENCE_NOBODY);
    return queues->places[who].before;
}

uint32_t core_wait_queues_behind(const struct core_wait_queues *queues, uint32_t who)
{
    assert(who < queues->capacity && queues->places[who].queue != FENCE_NOBODY);
    return queues->places[who].after;
}

struct core_wait_queue *core_wait_queues_of(const struct core_wait_queues *queues, uint32_t who)
{
    assert(who < queues->capacity);
    uint32_t at = queues->places[who].queue;
    return at == FENCE_NOBODY ? NULL : &queues->queues[at];
}

struct core_wait_queue *core_wait_queues_find(const struct core_wait_queues *queues,
                                              const char *resource)
{
    uint32_t at = find_queue(queues, resource);
    return at == FENCE_NOBODY ? NULL : &queues->queues[at];
}
