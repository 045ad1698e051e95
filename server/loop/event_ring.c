#include "server/loop/event_ring.h"

#include "fence/protocol/decimal.h"
#include "server/system/clock.h"
#include "server/system/random.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    EPOCH_LEN = 16, /* hexadecimal digits that distinguish this process from all others */
};

struct slot {
    uint64_t at;      /* position of the text; increases, and wraps only in the buffer */
    uint32_t len;     /* length of the text */
    uint16_t name_at; /* position of the resource in the text; 0: none */
    uint16_t name_len;
};

struct server_event_ring {
    pthread_mutex_t mutex;
    atomic_bool records;
    atomic_uint_least64_t next; /* the number of the next event */
    uint64_t first;             /* the number of the oldest event that is kept */
    uint64_t end;               /* end of the texts, as slot.at */
    unsigned readers;
    uint64_t unread_since_us; /* when the last reader left */
    char epoch[EPOCH_LEN + 1];
    struct slot *slots; /* NULL: no reader so far */
    char *texts;
};

int server_event_ring_new(struct server_event_ring **ret_ring)
{
    struct server_random random = {0};
    struct server_event_ring *ring = calloc(1, sizeof(*ring));
    if (!ring)
        return FENCE_ENOMEM;
    const int failed = pthread_mutex_init(&ring->mutex, NULL);
    assert(!failed);
    (void)snprintf(ring->epoch, sizeof(ring->epoch), "%016" PRIx64, server_random_u64(&random));
    *ret_ring = ring;
    return 0;
}

void server_event_ring_free(struct server_event_ring *ring)
{
    if (!ring)
        return;
    assert(ring->readers == 0);
    (void)pthread_mutex_destroy(&ring->mutex);
    free(ring->slots);
    free(ring->texts);
    free(ring);
}

bool server_event_ring_records(const struct server_event_ring *ring)
{
    return atomic_load_explicit(&ring->records, memory_order_relaxed);
}

uint64_t server_event_ring_next(const struct server_event_ring *ring)
{
    return atomic_load_explicit(&ring->next, memory_order_acquire);
}

static struct slot *ring_slot(const struct server_event_ring *ring, uint64_t number)
{
    return &ring->slots[number % SERVER_EVENTS_KEPT];
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Makes room for @len bytes in one piece: drops the events that are in the way. */
static char *take_room(struct server_event_ring *ring, uint64_t next, size_t len)
{
    const uint64_t left = SERVER_EVENTS_BYTES - ring->end % SERVER_EVENTS_BYTES;
    assert(len <= SERVER_EVENTS_BYTES);
    if (len > left)
        ring->end += left;
    while (ring->first < next &&
           (next - ring->first >= SERVER_EVENTS_KEPT ||
            ring_slot(ring, ring->first)->at + SERVER_EVENTS_BYTES < ring->end + len))
        ring->first++;
    return ring->texts + ring->end % SERVER_EVENTS_BYTES;
}

static void append_text(struct server_event_ring *ring, const char *text, size_t len,
                        size_t name_at, size_t name_len)
{
    char id[API_EVENT_ID_MAX];
    char tail[API_EVENT_ID_MAX + 8];
    const uint64_t next = atomic_load_explicit(&ring->next, memory_order_relaxed);
    server_event_ring_id(ring, next, id);
    const size_t tail_len = api_event_write_id(id, tail);
    char *room = take_room(ring, next, len + tail_len);
    memcpy(room, text, len);
    memcpy(room + len, tail, tail_len);
    *ring_slot(ring, next) = (struct slot){
        .at = ring->end,
        .len = (uint32_t)(len + tail_len),
        .name_at = (uint16_t)name_at,
        .name_len = (uint16_t)name_len,
    };
    ring->end += len + tail_len;
    atomic_store_explicit(&ring->next, next + 1, memory_order_release);
}

void server_event_ring_add(struct server_event_ring *ring, const struct api_event *event)
{
    char text[API_EVENT_TEXT_MAX];
    size_t name_at = 0;
    if (!server_event_ring_records(ring))
        return;
    const size_t len = api_event_write(event, text, &name_at);
    (void)pthread_mutex_lock(&ring->mutex);
    if (ring->readers == 0 && server_clock_us() - ring->unread_since_us > SERVER_EVENTS_AFTER_US)
        atomic_store_explicit(&ring->records, false, memory_order_relaxed);
    else
        append_text(ring, text, len, name_at, name_at > 0 ? strlen(event->resource) : 0);
    (void)pthread_mutex_unlock(&ring->mutex);
}

/* ---- readers --------------------------------------------------------------------------------- */

static int make_memory(struct server_event_ring *ring)
{
    if (ring->slots)
        return 0;
    ring->slots = calloc(SERVER_EVENTS_KEPT, sizeof(*ring->slots));
    ring->texts = malloc(SERVER_EVENTS_BYTES);
    if (ring->slots && ring->texts)
        return 0;
    free(ring->slots);
    free(ring->texts);
    ring->slots = NULL;
    ring->texts = NULL;
    return FENCE_ENOMEM;
}

/* Earlier events were not recorded. One number is skipped, so that each older id counts as the id
 * of an event that is no longer kept. */
static void begin_recording(struct server_event_ring *ring)
{
    const uint64_t next = atomic_load_explicit(&ring->next, memory_order_relaxed) + 1;
    ring->first = next;
    atomic_store_explicit(&ring->next, next, memory_order_release);
    atomic_store_explicit(&ring->records, true, memory_order_relaxed);
}

int server_event_ring_join(struct server_event_ring *ring)
{
    (void)pthread_mutex_lock(&ring->mutex);
    const int result = make_memory(ring);
    if (result == 0 && !server_event_ring_records(ring))
        begin_recording(ring);
    ring->readers += result == 0;
    (void)pthread_mutex_unlock(&ring->mutex);
    return result;
}

void server_event_ring_leave(struct server_event_ring *ring)
{
    (void)pthread_mutex_lock(&ring->mutex);
    assert(ring->readers > 0);
    ring->readers--;
    ring->unread_since_us = server_clock_us();
    (void)pthread_mutex_unlock(&ring->mutex);
}

void server_event_ring_id(const struct server_event_ring *ring, uint64_t number,
                          char ret_id[static API_EVENT_ID_MAX])
{
    (void)snprintf(ret_id, API_EVENT_ID_MAX, "%s-%" PRIu64, ring->epoch, number);
}

/* FENCE_ENOENT: @id is not an id of this process. */
static int parse_id(const struct server_event_ring *ring, const char *id, uint64_t *ret_number)
{
    if (strncmp(id, ring->epoch, EPOCH_LEN) != 0 || id[EPOCH_LEN] != '-')
        return FENCE_ENOENT;
    const char *digits = id + EPOCH_LEN + 1;
    return fence_decimal_read(digits, strlen(digits), INT64_MAX, ret_number) ? 0 : FENCE_ENOENT;
}

int server_event_ring_find(struct server_event_ring *ring, const char *id, uint64_t *ret_number)
{
    uint64_t number = 0;
    int result = parse_id(ring, id, &number);
    if (result != 0)
        return result;
    (void)pthread_mutex_lock(&ring->mutex);
    if (number + 1 < ring->first || number >= server_event_ring_next(ring))
        result = FENCE_ENOENT;
    (void)pthread_mutex_unlock(&ring->mutex);
    if (result == 0)
        *ret_number = number + 1;
    return result;
}

static bool is_for(const struct server_event_ring *ring, const struct slot *slot,
                   const char *prefix, size_t prefix_len)
{
    const char *text = ring->texts + slot->at % SERVER_EVENTS_BYTES;
    return slot->name_at == 0 ||
           (slot->name_len >= prefix_len && memcmp(text + slot->name_at, prefix, prefix_len) == 0);
}

uint64_t server_event_ring_look(struct server_event_ring *ring, uint64_t *cursor,
                                void (*look)(void *context, const char *name, size_t len,
                                             uint64_t number),
                                void *context)
{
    (void)pthread_mutex_lock(&ring->mutex);
    const uint64_t next = server_event_ring_next(ring);
    const uint64_t missed = *cursor < ring->first ? ring->first - *cursor : 0;
    *cursor += missed;
    for (unsigned looks = 0; *cursor < next && looks < SERVER_EVENTS_LOOK; looks++, ++*cursor) {
        const struct slot *slot = ring_slot(ring, *cursor);
        look(context, ring->texts + slot->at % SERVER_EVENTS_BYTES + slot->name_at, slot->name_len,
             *cursor);
    }
    (void)pthread_mutex_unlock(&ring->mutex);
    return missed;
}

size_t server_event_ring_read(struct server_event_ring *ring, uint64_t *cursor, const char *prefix,
                              char *buffer, size_t size, uint64_t *ret_missed)
{
    const size_t prefix_len = strlen(prefix);
    size_t len = 0;
    (void)pthread_mutex_lock(&ring->mutex);
    const uint64_t next = server_event_ring_next(ring);
    *ret_missed = *cursor < ring->first ? ring->first - *cursor : 0;
    *cursor += *ret_missed;
    for (unsigned looks = 0; *ret_missed == 0 && *cursor < next && looks < SERVER_EVENTS_LOOK;
         looks++) {
        const struct slot *slot = ring_slot(ring, *cursor);
        if (is_for(ring, slot, prefix, prefix_len)) {
            if (slot->len > size - len)
                break;
            memcpy(buffer + len, ring->texts + slot->at % SERVER_EVENTS_BYTES, slot->len);
            len += slot->len;
        }
        ++*cursor;
    }
    (void)pthread_mutex_unlock(&ring->mutex);
    return len;
}
