/* What all verbs share: the options before the verb, the client, durations, and exit codes. */
#ifndef SERVER_CLI_COMMON_H
#define SERVER_CLI_COMMON_H

#include "api/client/pawl.h"

#include <argp.h>

/* As timeout(1), env(1) and nohup(1) count, and two of our own. A command's own code goes through;
 * 128 + n where signal n ended it. */
enum cli_exit {
    CLI_EXIT_DONE = 0,
    CLI_EXIT_LOST = 123,         /* the lock was lost while the command ran */
    CLI_EXIT_NOT_ACQUIRED = 124, /* another one holds it */
    CLI_EXIT_ERROR = 125,        /* the reason is on stderr */
    CLI_EXIT_NOT_EXECUTABLE = 126,
    CLI_EXIT_NOT_FOUND = 127,
    CLI_EXIT_SIGNAL = 128,
};

struct cli_globals {
    const char *servers[PAWL_SERVERS_MAX];
    size_t server_count;
};

/* Reads "500ms", "30s", "5m", "2h" or "0". False: it is none, and *@ret_ms is untouched. */
bool cli_duration(const char *text, int64_t *ret_ms);

/* Prints "pawl: <sentence>" to stderr. Returns CLI_EXIT_ERROR. */
int cli_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Parses the options and arguments of one verb. 0, or CLI_EXIT_ERROR. */
int cli_parse(const struct argp *parser, int argc, char **argv, void *input);

/* A client of the servers in @globals. NULL: the reason was printed. */
pawl_client *cli_client(const struct cli_globals *globals);

/* Prints the client's reason. The exit code for @error. */
int cli_failed(const pawl_client *client, int error);

/* Writes the label of a lock where nobody gave one: user@host. */
void cli_label(char ret_label[static PAWL_OWNER_MAX + 1]);

/* Sets PAWL_SERVER for the command. */
void cli_set_servers(const struct cli_globals *globals);

/* The verbs. argv[0] is "pawl VERB". Each returns an exit code. */
int cli_lock(const struct cli_globals *globals, int argc, char **argv);

#endif
