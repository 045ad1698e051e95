#include "tests/sim/world/heap.h"

#include <assert.h>

static bool sooner(const struct sim_event *a, const struct sim_event *b)
{
    return a->at_us != b->at_us ? a->at_us < b->at_us : a->order < b->order;
}

static void insert(struct sim_heap *heap, const struct sim_event *event)
{
    assert(heap->count < SIM_HEAP_MAX);
    uint32_t at = heap->count++;
    while (at > 0) {
        uint32_t parent = (at - 1) / 2;
        if (!sooner(event, &heap->items[parent]))
            break;
        heap->items[at] = heap->items[parent];
        at = parent;
    }
    heap->items[at] = *event;
}

void sim_heap_init(struct sim_heap *heap)
{
    heap->count = 0;
    heap->scheduled = 0;
}

void sim_heap_push(struct sim_heap *heap, const struct sim_event *event)
{
    struct sim_event copy = *event;
    copy.order = heap->scheduled++;
    insert(heap, &copy);
}

void sim_heap_put_off(struct sim_heap *heap, const struct sim_event *event, uint64_t at_us)
{
    assert(at_us > event->at_us);
    struct sim_event copy = *event;
    copy.at_us = at_us;
    insert(heap, &copy);
}

bool sim_heap_pop(struct sim_heap *heap, struct sim_event *ret_event)
{
    if (heap->count == 0)
        return false;
    *ret_event = heap->items[0];
    struct sim_event last = heap->items[--heap->count];
    uint32_t at = 0;
    for (uint32_t child = 1; child < heap->count; child = 2 * at + 1) {
        if (child + 1 < heap->count && sooner(&heap->items[child + 1], &heap->items[child]))
            child++;
        if (!sooner(&heap->items[child], &last))
            break;
        heap->items[at] = heap->items[child];
        at = child;
    }
    heap->items[at] = last;
    return true;
}
