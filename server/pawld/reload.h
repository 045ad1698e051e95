/* SIGHUP has a running pawld read these parts again. Each part has a name and a function. The parts
 * are added at the start, and reloaded in that order.
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

    /* Reads the part again, on the main thread. Returns false if it cannot be read: the function
     * has logged why, and the old content stays in force. */
    bool (*load)(void *context);

    /* Has worker @index use the part, on the worker's thread, after a load that succeeded. NULL:
     * workers do not need to know. */
    void (*take)(void *context, unsigned index);
    void *context;
};

/* Zeroed, it has no parts. */
struct pawld_reloads {
    struct pawld_reload parts[PAWLD_RELOADS_MAX];
    atomic_uint loaded; /* bit i: the last reload read part i; workers read it after that */
    unsigned count;
};

/* Adds a part: *@part is copied, its context is borrowed. Call it before the workers run. */
void pawld_reload_add(struct pawld_reloads *reloads, const struct pawld_reload *part);

/* Loads all parts, and logs one line: "reloaded: keys, certificates; not reloaded: audit log".
 * Returns true if none failed. The main thread. */
bool pawld_reload_all(struct pawld_reloads *reloads);

/* Has worker @index use the parts that were loaded last. */
void pawld_reload_take(const struct pawld_reloads *reloads, unsigned index);

#endif
