/* `pawl fleet`: which masters vote, and why others do not. */
#include "server/cli/common.h"
#include "server/cli/fleet_words.h"
#include "server/system/options.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <jansson.h>

#define GREEN "\033[32m"
#define RED   "\033[31m"
#define PLAIN "\033[0m"

static error_t parse_fleet(int key, char *text, struct argp_state *state)
{
    struct cli_globals **globals = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        cli_init_verb(state, *globals);
        return 0;
    case ARGP_KEY_ARG:
        return server_options_error("takes no argument: '%s'", text);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* A line for each thing that is wrong. */
static void print_trouble(void *context, const char *sentence)
{
    (void)context;
    (void)puts(sentence);
}

static void print_summary(const json_t *fleet)
{
    const bool colours = isatty(STDOUT_FILENO) == 1 && getenv("NO_COLOR") == NULL;
    const char *colour = cli_fleet_is_ready(fleet) ? GREEN : RED;
    char votes[CLI_FLEET_SENTENCE_MAX];
    cli_fleet_votes(fleet, votes);
    (void)printf("%s%s%s: %s\n", colours ? colour : "", cli_fleet_verdict(fleet),
                 colours ? PLAIN : "", votes);
}

static void print_fleet(const json_t *fleet)
{
    struct cli_table *table = cli_fleet_table(fleet, CLI_TABLE_ROWS_MAX - 1);
    if (table == NULL)
        return;
    print_summary(fleet);
    cli_table_print(table);
    cli_table_free(table);
    cli_fleet_troubles(fleet, print_trouble, NULL);
}

int cli_fleet(struct cli_globals *globals, int argc, char **argv)
{
    static const struct argp parser = {
        .parser = parse_fleet,
        .doc = "Shows which masters vote, and the problems of the other masters.\vExit code 1: no "
               "lock can be granted now.",
        .children = cli_globals_children,
    };
    json_t *fleet = NULL;
    const int wrong = cli_parse(&parser, argc, argv, &globals);
    int code = wrong != 0 ? wrong : cli_get(globals, "/v1/fleet", NULL, &fleet);
    if (code == CLI_EXIT_DONE && !cli_fleet_is_ready(fleet))
        code = CLI_EXIT_NOT_READY;
    assert(fleet == NULL || code == CLI_EXIT_DONE || code == CLI_EXIT_NOT_READY);
    if (fleet != NULL && globals->json)
        cli_print_json(json_incref(fleet));
    else if (fleet != NULL)
        print_fleet(fleet);
    json_decref(fleet);
    return code;
}
