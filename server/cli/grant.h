/* A grant that outlives the process that acquired it: prints it, and identifies it again later. */
#ifndef SERVER_CLI_GRANT_H
#define SERVER_CLI_GRANT_H

#include "api/client/pawl.h"

#include <stdbool.h>

/* Prints @lock: a table, JSON, or lines for a shell. */
void cli_grant_print(const pawl_lock *lock, bool json, bool shell);

/* The tokens of @lock as an object of JSON, by name. free() it. NULL: memory is short. */
char *cli_grant_tokens(const pawl_lock *lock);

/* Prints lines for a shell that got no grant: eval ends with @code, and the variables of an earlier
 * grant are removed. */
void cli_grant_print_none(int code);

/* The grant that a verb is about. Words that the command line lacks come from the environment:
 * PAWL_RESOURCE, PAWL_LOCK_ID and PAWL_TOKEN, as `pawl lock` and `pawl acquire --shell` set
 * them. */
struct cli_grant {
    const char *names[PAWL_NAMES_MAX];
    size_t name_count;
    const char *lock_id;
    const char *token;
};

/* Completes @grant from the environment. Returns false if something is missing; the reason was
 * printed. */
bool cli_grant_complete(struct cli_grant *grant, bool needs_token);

#endif
