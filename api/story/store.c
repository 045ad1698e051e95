#include "api/story/store.h"

#include "fence/master/merging.h"

#include <assert.h>
#include <string.h>

/* ---- locks ----------------------------------------------------------------------------------- */

static struct story_kept *find_named_lock(struct story_memory *memory, const char *resource)
{
    struct story_kept *unused = NULL;
    for (unsigned k = 0; k < STORY_LOCKS; k++) {
        struct story_kept *kept = &memory->kept[k];
        if (strcmp(kept->resource, resource) == 0)
            return kept;
        if (!unused && kept->resource[0] == '\0')
            unused = kept;
    }
    assert(unused && "the story has no other names");
    story_text_copy(unused->resource, sizeof(unused->resource), resource);
    return unused;
}

static struct story_kept *kept_of(void *context, const char *resource)
{
    return find_named_lock(((struct story_turn *)context)->memory, resource);
}

static uint64_t clock_of(const void *context)
{
    return ((const struct story_turn *)context)->rules.now_ms;
}

static void story_find_lock(void *context, const char *resource, struct fence_stored_lock *ret_lock)
{
    *ret_lock = kept_of(context, resource)->lock;
    if (!ret_lock->present || ret_lock->expires_ms <= clock_of(context))
        *ret_lock = (struct fence_stored_lock){0};
}

static void story_put_lock(void *context, const char *resource,
                           const struct fence_stored_lock *lock)
{
    kept_of(context, resource)->lock = *lock;
}

static void story_drop_lock(void *context, const char *resource)
{
    kept_of(context, resource)->lock.present = false;
}

/* ---- counters --------------------------------------------------------------------------------
 * All names of the story have one counter, and none has a counter by name. */

static int64_t story_counter(void *context, uint16_t slot)
{
    const struct story_memory *memory = ((struct story_turn *)context)->memory;
    return memory->slot == slot ? memory->counter : 0;
}

static void story_put_counter(void *context, uint16_t slot, int64_t number)
{
    struct story_memory *memory = ((struct story_turn *)context)->memory;
    assert(memory->counter == 0 || memory->slot == slot);
    memory->slot = slot;
    memory->counter = number;
}

static int64_t story_named(void *context, const char *name)
{
    (void)context;
    (void)name;
    return 0;
}

static void story_put_named(void *context, const char *name, int64_t number)
{
    (void)context;
    (void)name;
    (void)number;
    assert(false && "nothing counts by name");
}

static uint64_t story_names(void *context)
{
    (void)context;
    return 0;
}

static int64_t story_highest(void *context)
{
    return ((struct story_turn *)context)->memory->counter;
}

/* ---- waiting --------------------------------------------------------------------------------- */

static void story_wait(void *context, const char *resource, uint64_t until_ms, int64_t ticket)
{
    struct story_kept *kept = kept_of(context, resource);
    const int64_t lowest = kept->waited_until_ms > clock_of(context) ? kept->waited_ticket : 0;
    kept->waited_until_ms = until_ms;
    kept->waited_ticket = lowest > 0 && (ticket == 0 || lowest < ticket) ? lowest : ticket;
}

static int64_t story_notify(void *context, const char *resource, const char *lock_id)
{
    struct story_turn *turn = context;
    struct story_kept *kept = kept_of(context, resource);
    const bool waits = kept->waited_until_ms > clock_of(context);
    kept->waited_until_ms = 0;
    if (!waits)
        return 0;
    turn->done.released = true;
    story_text_copy(turn->done.which.resource, sizeof(turn->done.which.resource), resource);
    story_text_copy(turn->done.which.lock_id, sizeof(turn->done.which.lock_id), lock_id);
    return kept->waited_ticket;
}

static int64_t story_next(void *context, const char *resource, uint64_t *ret_until_ms)
{
    const struct story_kept *kept = kept_of(context, resource);
    *ret_until_ms = kept->next_until_ms;
    return kept->next_until_ms > clock_of(context) ? kept->next_ticket : 0;
}

static void story_put_next(void *context, const char *resource, int64_t ticket, uint64_t until_ms)
{
    struct story_kept *kept = kept_of(context, resource);
    kept->next_ticket = ticket;
    kept->next_until_ms = until_ms;
}

/* ---- breaking: nobody breaks a lock in the story --------------------------------------------- */

static int64_t story_broken(void *context, const char *resource, const char *lock_id, char *ret_by)
{
    (void)context;
    (void)resource;
    (void)lock_id;
    ret_by[0] = '\0';
    return 0;
}

static void story_put_broken(void *context, const struct fence_request *request, uint64_t until_ms)
{
    (void)context;
    (void)request;
    (void)until_ms;
    assert(false && "nobody breaks a lock");
}

/* ---- rejoins --------------------------------------------------------------------------------- */

static uint64_t story_clear(void *context, bool disowns, uint64_t cursor)
{
    struct story_memory *memory = ((struct story_turn *)context)->memory;
    (void)cursor; /* all at once */
    for (unsigned k = 0; k < STORY_LOCKS; k++) {
        struct fence_stored_lock *lock = &memory->kept[k].lock;
        lock->present = lock->present && disowns;
        lock->imported = true;
        lock->from = 0;
    }
    return 0;
}

static void write_locks(struct story_turn *turn)
{
    struct story_page *page = turn->page;
    for (unsigned k = 0; k < STORY_LOCKS; k++) {
        const struct story_kept *kept = &turn->memory->kept[k];
        if (!kept->lock.present || kept->lock.expires_ms <= turn->rules.now_ms)
            continue;
        story_text_copy(page->locks[page->count].resource, sizeof(page->locks[0].resource),
                        kept->resource);
        page->locks[page->count].lock = kept->lock;
        page->locks[page->count].left_ms = kept->lock.expires_ms - turn->rules.now_ms;
        page->count++;
    }
}

static bool story_read_page(void *context, const struct fence_rejoin_request *request,
                            struct fence_rejoin_reply *reply)
{
    struct story_turn *turn = context;
    memset(turn->page, 0, sizeof(*turn->page));
    if (request->part == FENCE_REJOIN_COUNTERS) {
        turn->page->floor = turn->rules.marker.floor;
        turn->page->slot = turn->memory->slot;
        turn->page->counter = turn->memory->counter;
    } else {
        write_locks(turn);
    }
    reply->page = (struct fence_page){(const char *)turn->page, sizeof(*turn->page)};
    reply->cursor = 0;
    return true;
}

static void story_merge_page(void *context, const struct fence_page *page, unsigned source)
{
    struct story_turn *turn = context;
    struct story_page read;
    assert(page->len == sizeof(read));
    memcpy(&read, page->bytes, sizeof(read));
    fence_merge_floor(&turn->rules, read.floor);
    if (read.counter > 0)
        fence_merge_counter(&turn->rules, read.slot, read.counter);
    for (unsigned k = 0; k < read.count; k++)
        fence_merge_lock(&turn->rules, read.locks[k].resource, &read.locks[k].lock,
                         read.locks[k].left_ms, source);
}

const struct fence_master_store story_store = {
    .lock = story_find_lock,
    .put_lock = story_put_lock,
    .drop_lock = story_drop_lock,
    .counter = story_counter,
    .put_counter = story_put_counter,
    .named = story_named,
    .put_named = story_put_named,
    .names = story_names,
    .highest = story_highest,
    .wait = story_wait,
    .notify = story_notify,
    .next = story_next,
    .put_next = story_put_next,
    .broken = story_broken,
    .put_broken = story_put_broken,
    .clear = story_clear,
    .read_page = story_read_page,
    .merge_page = story_merge_page,
};
