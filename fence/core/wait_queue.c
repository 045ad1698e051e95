#include "fence/core/wait_queue.h"

#include "fence/base/mutant.h"
#include "fence/protocol/name.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

int fence_wait_queues_init(struct fence_wait_queues *lines, uint32_t capacity, unsigned long seed)
{
    assert(capacity > 0 && (capacity & (capacity - 1)) == 0);
    lines->capacity = capacity;
    lines->seed = seed;
    lines->buckets = calloc(capacity, sizeof(*lines->buckets));
    lines->lines = calloc(capacity, sizeof(*lines->lines));
    lines->places = calloc(capacity, sizeof(*lines->places));
    if (!lines->buckets || !lines->lines || !lines->places) {
        fence_wait_queues_fini(lines);
        return FENCE_ENOMEM;
    }
    lines->free = 0;
    for (uint32_t i = 0; i < capacity; i++) {
        lines->buckets[i] = FENCE_NOBODY;
        lines->places[i].line = FENCE_NOBODY;
        lines->lines[i].next = i + 1 < capacity ? i + 1 : FENCE_NOBODY;
    }
    return 0;
}

void fence_wait_queues_fini(struct fence_wait_queues *lines)
{
    free(lines->buckets);
    free(lines->lines);
    free(lines->places);
    *lines = (struct fence_wait_queues){0};
}

static uint32_t *line_bucket_of(const struct fence_wait_queues *lines, const char *resource)
{
    unsigned long hash = fence_hash(resource, strlen(resource), lines->seed);
    return &lines->buckets[hash & (lines->capacity - 1)];
}

static uint32_t find_line(const struct fence_wait_queues *lines, const char *resource)
{
    uint32_t at = *line_bucket_of(lines, resource);
    while (at != FENCE_NOBODY && strcmp(lines->lines[at].resource, resource) != 0)
        at = lines->lines[at].next;
    return at;
}

static uint32_t open_line(struct fence_wait_queues *lines, const char *resource)
{
    uint32_t at = lines->free;
    assert(at != FENCE_NOBODY); /* there are as many lines as callers */
    struct fence_wait_queue *line = &lines->lines[at];
    lines->free = line->next;

    size_t len = strlen(resource);
    assert(len <= FENCE_RESOURCE_MAX);
    memcpy(line->resource, resource, len + 1);
    fence_holder_hint_clear(&line->seen);
    line->first = FENCE_NOBODY;
    line->last = FENCE_NOBODY;
    line->length = 0;
    line->askers = 0;
    line->own_ids = 0;
    uint32_t *bucket = line_bucket_of(lines, resource);
    line->next = *bucket;
    *bucket = at;
    return at;
}

static void close_line(struct fence_wait_queues *lines, uint32_t at)
{
    struct fence_wait_queue *line = &lines->lines[at];
    uint32_t *link = line_bucket_of(lines, line->resource);
    while (*link != at)
        link = &lines->lines[*link].next;
    *link = line->next;
    line->next = lines->free;
    lines->free = at;
}

struct fence_wait_queue *fence_wait_queues_join(struct fence_wait_queues *lines, uint32_t who,
                                                const char *resource)
{
    assert(who < lines->capacity && lines->places[who].line == FENCE_NOBODY);
    uint32_t at = find_line(lines, resource);
    if (at == FENCE_NOBODY)
        at = open_line(lines, resource);
    struct fence_wait_queue *line = &lines->lines[at];
    lines->places[who] =
        (struct fence_wait_place){.line = at, .before = line->last, .after = FENCE_NOBODY};
    if (line->last == FENCE_NOBODY)
        line->first = who;
    else
        lines->places[line->last].after = who;
    line->last = who;
    line->length++;
    return line;
}

uint32_t fence_wait_queues_leave(struct fence_wait_queues *lines, uint32_t who)
{
    struct fence_wait_place *place = &lines->places[who];
    assert(who < lines->capacity && place->line != FENCE_NOBODY);
    struct fence_wait_queue *line = &lines->lines[place->line];
    bool was_first = line->first == who;
    if (was_first)
        line->first = place->after;
    else
        lines->places[place->before].after = place->after;
    if (line->last == who)
        line->last = place->before;
    else
        lines->places[place->after].before = place->before;
    if (--line->length == 0)
        close_line(lines, place->line);
    uint32_t next = FENCE_MUTANT(LAST_SERVED_FIRST) ? line->last : place->after;
    place->line = FENCE_NOBODY;
    return was_first ? next : FENCE_NOBODY;
}

uint32_t fence_wait_queues_before(const struct fence_wait_queues *lines, uint32_t who)
{
    assert(who < lines->capacity && lines->places[who].line != FENCE_NOBODY);
    return lines->places[who].before;
}

uint32_t fence_wait_queues_behind(const struct fence_wait_queues *lines, uint32_t who)
{
    assert(who < lines->capacity && lines->places[who].line != FENCE_NOBODY);
    return lines->places[who].after;
}

struct fence_wait_queue *fence_wait_queues_of(const struct fence_wait_queues *lines, uint32_t who)
{
    assert(who < lines->capacity);
    uint32_t at = lines->places[who].line;
    return at == FENCE_NOBODY ? NULL : &lines->lines[at];
}

struct fence_wait_queue *fence_wait_queues_find(const struct fence_wait_queues *lines,
                                                const char *resource)
{
    uint32_t at = find_line(lines, resource);
    return at == FENCE_NOBODY ? NULL : &lines->lines[at];
}
