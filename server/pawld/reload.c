#include "server/pawld/reload.h"

#include "server/system/log.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum {
    NAMES_MAX = 256, /* bytes of all names */
};

void pawld_reload_add(struct pawld_reloads *reloads, const struct pawld_reload *part)
{
    assert(reloads->count < PAWLD_RELOADS_MAX);
    assert(part->load != NULL);
    reloads->parts[reloads->count++] = *part;
}

/* The names of @parts, a set; "nothing" without any. */
static void list_names(const struct pawld_reloads *reloads, unsigned parts,
                       char ret_names[static NAMES_MAX])
{
    size_t len = 0;
    (void)snprintf(ret_names, NAMES_MAX, "nothing");
    for (unsigned i = 0; i < reloads->count; i++) {
        if ((parts >> i & 1) == 0 || len >= NAMES_MAX)
            continue;
        len += (size_t)snprintf(ret_names + len, NAMES_MAX - len, "%s%s", len > 0 ? ", " : "",
                                reloads->parts[i].name);
    }
}

bool pawld_reload_all(struct pawld_reloads *reloads)
{
    unsigned loaded = 0;
    unsigned failed = 0;
    char done[NAMES_MAX];
    char kept[NAMES_MAX];
    for (unsigned i = 0; i < reloads->count; i++) {
        const bool success = reloads->parts[i].load(reloads->parts[i].context);
        loaded |= (unsigned)success << i;
        failed |= (unsigned)!success << i;
    }
    atomic_store(&reloads->loaded, loaded);
    list_names(reloads, loaded, done);
    list_names(reloads, failed, kept);
    if (failed == 0)
        server_log(SERVER_LOG_INFO, "reloaded: %s", done);
    else
        server_log(SERVER_LOG_ERROR, "reloaded: %s; not reloaded: %s", done, kept);
    return failed == 0;
}

void pawld_reload_take(const struct pawld_reloads *reloads, unsigned index)
{
    const unsigned loaded = atomic_load(&reloads->loaded);
    for (unsigned i = 0; i < reloads->count; i++)
        if (loaded >> i & 1 && reloads->parts[i].take != NULL)
            reloads->parts[i].take(reloads->parts[i].context, index);
}
