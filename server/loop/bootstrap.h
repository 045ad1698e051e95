/* Carries out a bootstrap (fence/bootstrap/bootstrap.h) on real masters. Blocking, on its own loop,
 * for a program that does this and exits; one thread. */
#ifndef SERVER_LOOP_BOOTSTRAP_H
#define SERVER_LOOP_BOOTSTRAP_H

#include "fence/bootstrap/bootstrap.h"
#include "fence/protocol/error.h"
#include "server/loop/bootstrap_words.h"
#include "server/loop/masters.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    SERVER_BOOTSTRAP_DEADLINE_MS = 2000, /* for each master to connect, and for each answer */
};

struct server_bootstrap_config {
    struct server_addresses addresses;
    struct fence_bootstrap_params params; /* all but @n and @random; @fleet_id "": a new one */

    /* @run now waits for the longest lease, which takes @wait_ms. NULL: no report is wanted. */
    void (*waits)(void *context, const struct fence_bootstrap *run, uint64_t wait_ms);
    void *context;
};

/* Does the run in @config->params. All masters must be reachable. A fleet that continues takes as
 * long as the longest lease.
 *
 * *@ret_done is the state of the run at its end. Returns the errors of fence_bootstrap_error(), and
 * FENCE_ENOMEM. On failure @ret_why is a sentence that says what to do. */
FENCE_CHECKED int server_bootstrap(const struct server_bootstrap_config *config,
                                   struct fence_bootstrap *ret_done,
                                   char ret_why[static SERVER_BOOTSTRAP_WHY_MAX]);

#endif
