/* Explains why a call failed, in the words of the command line. A server speaks of headers, paths
 * and members of JSON; a user of `pawl` knows options and verbs. */
#ifndef SERVER_CLI_PROBLEM_H
#define SERVER_CLI_PROBLEM_H

#include "api/client/pawl.h"

enum {
    CLI_HOLDER_MAX = 320,  /* bytes of who has a lock, terminated; longer ones are cut */
    CLI_REASON_MAX = 1024, /* bytes of a sentence, terminated; longer ones are cut */
};

/* Writes the sentence for the last call of @client, which failed. If `pawl` knows the type of the
 * problem, the words are pawl's; otherwise the server's. "": there is none. @key_source tells where
 * the key is from, for instance "in PAWL_KEY"; NULL: none was sent. */
void cli_problem_reason(const pawl_client *client, const char *key_source,
                        char ret_reason[static CLI_REASON_MAX]);

#endif
