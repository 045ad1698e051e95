#include "fence/listing/names.h"

#include "fence/base/set.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

static void keep(struct fence_listing_names *names, size_t from)
{
    names->name[names->count] = names->name[from];
    names->holder[names->count] = names->holder[from];
    names->count++;
}

/* ---- in their order, each once --------------------------------------------------------------- */

static bool is_before(const struct fence_lock_name *one, const struct fence_lock_name *other)
{
    return strcmp(one->text, other->text) < 0;
}

static void swap(struct fence_lock_name *one, struct fence_lock_name *other)
{
    struct fence_lock_name was = *one;
    *one = *other;
    *other = was;
}

/* Repairs a heap of @count names, in which only the name at @at may be smaller than its children.
 */
static void sift_down(struct fence_lock_name *name, size_t at, size_t count)
{
    for (size_t below = 2 * at + 1; below < count; below = 2 * at + 1) {
        if (below + 1 < count && is_before(&name[below], &name[below + 1]))
            below++;
        if (!is_before(&name[at], &name[below]))
            return;
        swap(&name[at], &name[below]);
        at = below;
    }
}

/* Heapsort: its time is bounded, and it needs no memory. */
static void sort(struct fence_lock_name *name, size_t count)
{
    for (size_t at = count / 2; at > 0; at--)
        sift_down(name, at - 1, count);
    for (size_t left = count; left > 1; left--) {
        swap(&name[0], &name[left - 1]);
        sift_down(name, 0, left - 1);
    }
}

/* A scan may return a name twice, for instance while a table is being resized. */
static void drop_repeated(struct fence_listing_names *names)
{
    size_t found = names->count;
    names->count = 0;
    for (size_t i = 0; i < found; i++)
        if (i == 0 || is_before(&names->name[names->count - 1], &names->name[i]))
            keep(names, i);
}

int fence_listing_names_take(struct fence_listing_names *names, const struct fence_found *found)
{
    assert(names->count == 0);
    if (found->count > FENCE_LISTING_NAMES_MAX)
        return FENCE_EIO;
    for (size_t k = 0; k < found->count; k++) {
        const char *text = found->names[k];
        if (!text)
            continue;
        memcpy(names->name[names->count].text, text, strlen(text) + 1);
        names->holder[names->count++] = (struct fence_listing_holders){{0}};
    }
    sort(names->name, names->count);
    drop_repeated(names);
    return 0;
}

/* ---- what was listed already ----------------------------------------------------------------- */

void fence_listing_names_drop_through(struct fence_listing_names *names, const char *name)
{
    size_t found = names->count;
    names->count = 0;
    for (size_t i = 0; i < found; i++)
        if (strcmp(names->name[i].text, name) > 0)
            keep(names, i);
}

static bool is_known(const struct fence_listing_holders *holder, uint32_t walked, unsigned walking)
{
    for (unsigned i = 0; i < FENCE_MASTERS_MAX; i++)
        if (fence_set_has(walked, i) && holder->on[i] != 0 && holder->on[i] == holder->on[walking])
            return true;
    return false;
}

void fence_listing_names_drop_known(struct fence_listing_names *names, uint32_t walked,
                                    unsigned walking)
{
    size_t found = names->count;
    names->count = 0;
    for (size_t i = 0; i < found; i++)
        if (!is_known(&names->holder[i], walked, walking))
            keep(names, i);
}
