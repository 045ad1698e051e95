/* A listing, page by page: of locks, or of counters. */
#ifndef SERVER_CLI_LIST_H
#define SERVER_CLI_LIST_H

#include "server/cli/common.h"
#include "server/cli/table.h"

#include <jansson.h>

struct cli_listing {
    const char *path;   /* "/v1/locks" */
    const char *member; /* member of a page: "locks" */
    const char *prefix; /* prefix of the names; NULL: all */
    size_t columns;
    const char *const *heading;
    void (*add_row)(struct cli_table *table, const json_t *entry);
};

/* Prints a table, or a line of JSON for each entry. Returns an exit code. */
int cli_list_pages(const struct cli_globals *globals, const struct cli_listing *listing);

#endif
