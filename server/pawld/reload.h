/* SIGHUP has a running pawld read these again. Each part has a name and a function; the parts are
 * added at the start, and reloaded in that order.
 *
 *     struct pawld_reloads reloads = {.count = 0};
 *     pawld_reload_add(&reloads, &(struct pawld_reload){"keys", load_keys, take_keys, &keys});
 *     ...
 *     pawld_reload_all(&reloads);        the main thread
 *     pawld_reload_take(&reloads, i);    then the thread of each worker i */
#ifndef SERVER_PAWLD_RELOAD_H
#define SERVER_PAWLD_RELOAD_H

#include <stdatomic.h>
#include <stdbool.h>

enum {
    PAWLD_RELOADS_MAX = 8, /* parts */
};

struct pawld_reload {
    const char *name; /* as in "reloaded: keys" */

    /* Reads it again, on the main thread. False: it could not be read, and what was in force stays
     * so. The function has logged why. */
    bool (*load)(void *context);

    /* Takes it up in worker @index, on its thread, after a load that succeeded. NULL: the workers
     * need not know. */
    void (*take)(void *context, unsigned index);
    void *context;
};

/* Zeroed, it has no parts. */
struct pawld_reloads {
    struct pawld_reload parts[PAWLD_RELOADS_MAX];
    atomic_uint loaded; /* bit i: part i, by the last reload; workers read it after that */
    unsigned count;
};

/* *@part is copied, its context is borrowed. Before the workers run. */
void pawld_reload_add(struct pawld_reloads *reloads, const struct pawld_reload *part);

/* Loads all parts, and logs one line: "reloaded: keys, certificates; not reloaded: audit log".
 * Returns true if none failed. The main thread. */
bool pawld_reload_all(struct pawld_reloads *reloads);

/* Has worker @index take up what was loaded last. */
void pawld_reload_take(const struct pawld_reloads *reloads, unsigned index);

#endif
