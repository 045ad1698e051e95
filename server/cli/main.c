/* `pawl`: locks from a command line. Options for all verbs stand before the verb. */
#include "server/cli/common.h"
#include "server/cli/signals.h"
#include "server/system/options.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *argp_program_version = "pawl " PAWL_VERSION;

static const struct {
    const char *name;
    int (*run)(struct cli_globals *globals, int argc, char **argv);
} verbs[] = {
    {"acquire", cli_acquire}, {"break", cli_break}, {"counter", cli_counter},
    {"extend", cli_extend},   {"fleet", cli_fleet}, {"guard", cli_guard},
    {"key", cli_key},         {"list", cli_list},   {"lock", cli_lock},
    {"release", cli_release}, {"show", cli_show},
};

struct input {
    struct cli_globals globals;
    char *verb;
    int at; /* where the verb's own words begin */
};

static error_t parse_words(int key, char *text, struct argp_state *state)
{
    struct input *input = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        cli_init_verb(state, &input->globals);
        return 0;
    case ARGP_KEY_ARG:
        input->verb = text;
        input->at = state->next;
        state->next = state->argc;
        return 0;
    case ARGP_KEY_END:
        return input->verb != NULL ? 0 : server_options_error("says no verb; see pawl --help");
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int main(int argc, char **argv)
{
    static const struct argp parser = {
        .parser = parse_words,
        .args_doc = "VERB [ARG...]",
        .doc = "Locks with fencing tokens, from a pawld.\v"
               "  pawl lock NAME -- COMMAND    runs COMMAND while it holds the lock\n"
               "  pawl acquire NAME...         acquires it, and leaves it held\n"
               "  pawl extend [NAME]           extends its lease\n"
               "  pawl release [NAME...]       releases it\n"
               "  pawl break NAME              gives it free, whoever holds it\n"
               "  pawl show NAME               who holds it\n"
               "  pawl list [PREFIX]           the locks that are held\n"
               "  pawl fleet                   which masters vote, and why others do not\n"
               "  pawl counter next NAME       a number that nobody else gets; also show, list\n"
               "  pawl key new                 a key for callers, and its line of a key file\n"
               "  pawl guard sql DATABASE      the guard of a database, to be installed there\n"
               "  pawl guard check DATABASE    a query: is the guard there intact?\n\n"
               "pawl VERB --help says more.",
        .children = cli_globals_children,
    };
    static char name[64];
    struct input input = {.verb = NULL};

    server_options_streams();
    cli_signals_obey_as_init();
    (void)signal(SIGCHLD, SIG_DFL); /* whoever ignores it gets no exit status */
    if (argp_parse(&parser, argc, argv, ARGP_IN_ORDER, NULL, &input) != 0)
        return CLI_EXIT_ERROR;
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        if (strcmp(input.verb, verbs[i].name) != 0)
            continue;
        (void)snprintf(name, sizeof(name), "pawl %s", input.verb);
        argv[input.at - 1] = name;
        const int code = verbs[i].run(&input.globals, argc - input.at + 1, argv + input.at - 1);
        return !cli_printed() && code == CLI_EXIT_DONE ? CLI_EXIT_ERROR : code;
    }
    return cli_say("there is no verb '%s'; see pawl --help", input.verb);
}
