/* The lock of an outer pawl lock that started this command. */
#ifndef SERVER_CLI_NESTED_LOCK_H
#define SERVER_CLI_NESTED_LOCK_H

#include "server/cli/common.h"

/* Reports whether the pawl lock that started this program holds one of @names: then an unlimited
 * wait would never end. If so, prints the reason and returns CLI_EXIT_ERROR; else returns
 * CLI_EXIT_DONE. */
int cli_own_check(const struct cli_globals *globals, pawl_client *client, const char *const *names,
                  size_t name_count);

#endif
