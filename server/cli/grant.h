/* A grant that outlives the process that acquired it: how it is shown, and how it is named again.
 */
#ifndef SERVER_CLI_GRANT_H
#define SERVER_CLI_GRANT_H

#include "api/client/pawl.h"

#include <stdbool.h>

/* Prints @lock: a table, JSON, or lines for a shell. */
void cli_grant_print(const pawl_lock *lock, bool json, bool shell);

/* The tokens of @lock as an object of JSON, by name. free() it. NULL: memory is short. */
char *cli_grant_tokens(const pawl_lock *lock);

/* Lines for a shell that has no grant: eval ends with @code, and nothing of an earlier one stays.
 */
void cli_grant_print_none(int code);

/* The grant that a verb is about. Words that are missing on the command line come from the
 * environment: PAWL_RESOURCE, PAWL_LOCK_ID and PAWL_TOKEN, as `pawl lock` and `pawl acquire
 * --shell` set them.
 */
struct cli_grant {
    const char *names[PAWL_NAMES_MAX];
    size_t name_count;
    const char *lock_id;
    const char *token;
};

/* Completes @grant from the environment. False: something is missing, and that was printed. */
bool cli_grant_complete(struct cli_grant *grant, bool needs_token);

#endif
