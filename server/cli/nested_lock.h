/* A lock that the command runs under already: a pawl lock started it. */
#ifndef SERVER_CLI_NESTED_LOCK_H
#define SERVER_CLI_NESTED_LOCK_H

#include "server/cli/common.h"

/* Reports whether the pawl lock that started this program holds one of @names, so that a wait
 * without end would have none. Returns CLI_EXIT_ERROR then, and the reason was printed; else
 * CLI_EXIT_DONE. */
int cli_own_check(const struct cli_globals *globals, pawl_client *client, const char *const *names,
                  size_t name_count);

#endif
