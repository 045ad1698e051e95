#include "server/loop/listing_names.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
    const struct fence_lock_name *one = a;
    const struct fence_lock_name *other = b;
    return strcmp(one->text, other->text);
}

static void keep(struct server_listing_names *names, size_t from)
{
    names->name[names->count] = names->name[from];
    names->holder[names->count] = names->holder[from];
    names->count++;
}

/* SCAN may give a name twice while a table is being resized. */
static void sort_each_once(struct server_listing_names *names)
{
    size_t found = names->count;
    qsort(names->name, found, sizeof(names->name[0]), compare);
    names->count = 0;
    for (size_t i = 0; i < found; i++)
        if (i == 0 || compare(&names->name[i], &names->name[names->count - 1]) != 0)
            keep(names, i);
}

int server_listing_names_take(struct server_listing_names *names, const struct fence_found *found)
{
    assert(names->count == 0 && !names->name);
    if (found->count > SERVER_LISTING_NAMES_MAX)
        return FENCE_EIO;
    if (found->count == 0)
        return 0;
    names->name = calloc(found->count, sizeof(names->name[0]));
    names->holder = calloc(found->count, sizeof(names->holder[0]));
    if (!names->name || !names->holder) {
        server_listing_names_clear(names);
        return FENCE_ENOMEM;
    }
    for (size_t k = 0; k < found->count; k++) {
        const char *text = found->names[k];
        if (text)
            memcpy(names->name[names->count++].text, text, strlen(text) + 1);
    }
    sort_each_once(names);
    return 0;
}

void server_listing_names_clear(struct server_listing_names *names)
{
    free(names->name);
    free(names->holder);
    memset(names, 0, sizeof(*names));
}

void server_listing_names_drop_through(struct server_listing_names *names, const char *name)
{
    size_t found = names->count;
    names->count = 0;
    for (size_t i = 0; i < found; i++)
        if (strcmp(names->name[i].text, name) > 0)
            keep(names, i);
}

static bool is_known(const struct server_listing_holders *holder, uint32_t walked, unsigned walking)
{
    for (unsigned i = 0; i < FENCE_MASTERS_MAX; i++)
        if ((walked >> i & 1) && holder->on[i] != 0 && holder->on[i] == holder->on[walking])
            return true;
    return false;
}

void server_listing_names_drop_known(struct server_listing_names *names, uint32_t walked,
                                     unsigned walking)
{
    size_t found = names->count;
    names->count = 0;
    for (size_t i = 0; i < found; i++)
        if (!is_known(&names->holder[i], walked, walking))
            keep(names, i);
}
