/* The state of the fleet, in words and as a table: from GET /v1/fleet. */
#ifndef SERVER_CLI_FLEET_WORDS_H
#define SERVER_CLI_FLEET_WORDS_H

#include "server/cli/table.h"

#include <stdbool.h>

#include <jansson.h>

enum {
    CLI_FLEET_SENTENCE_MAX = 256, /* bytes, terminated */
};

/* Reports whether the server can grant locks now. */
bool cli_fleet_is_ready(const json_t *fleet);

/* Writes the verdict behind the first words, cli_fleet_verdict(): how many masters vote. */
void cli_fleet_votes(const json_t *fleet, char ret_sentence[static CLI_FLEET_SENTENCE_MAX]);

/* "grants locks", or "grants no lock". Static. */
const char *cli_fleet_verdict(const json_t *fleet);

/* Calls @line with each sentence about a problem and its solution: first about masters that do not
 * vote, then about masters that vote. Masters with the same problem share one sentence. */
void cli_fleet_troubles(const json_t *fleet, void (*line)(void *context, const char *sentence),
                        void *context);

/* The masters as a table, at most @most of them. NULL: memory is short, and that was printed. */
struct cli_table *cli_fleet_table(const json_t *fleet, size_t most);

#endif
