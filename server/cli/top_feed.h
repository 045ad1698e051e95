/* The two threads that call the server for `pawl top`: one asks for the fleet and the locks again
 * and again, and one follows events. Both write to the model until the process ends. */
#ifndef SERVER_CLI_TOP_FEED_H
#define SERVER_CLI_TOP_FEED_H

#include "server/cli/common.h"
#include "server/cli/top_model.h"

enum {
    CLI_TOP_FLEET_MS = 2000,
    CLI_TOP_LOCKS_MS = 5000, /* longer if a listing took many pages */
};

struct cli_top_feed {
    const struct cli_globals *globals;
    const char *prefix; /* prefix of names; "": all */
    struct cli_top_model *model;
    pawl_client *asks; /* used by one thread each */
    pawl_client *follows;
};

/* Asks for the fleet and the locks once. An exit code; the reason of an error was printed. */
int cli_top_feed_once(struct cli_top_feed *feed);

/* Starts the threads. Negative: errno says why. */
int cli_top_feed_start(struct cli_top_feed *feed) __attribute__((warn_unused_result));

#endif
