/* `pawl`: locks from a command line. Options for all verbs stand before the verb. */
#include "server/cli/common.h"
#include "server/system/options.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPTION_SERVER = 256,
};

const char *argp_program_version = "pawl " PAWL_VERSION;

static const struct {
    const char *name;
    int (*run)(const struct cli_globals *globals, int argc, char **argv);
} verbs[] = {
    {"lock", cli_lock},
};

struct input {
    struct cli_globals globals;
    char *verb;
    int at; /* where the verb's own words begin */
};

static error_t parse_globals(int key, char *text, struct argp_state *state)
{
    struct input *input = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        server_options_init(state);
        return 0;
    case OPTION_SERVER:
        if (input->globals.server_count == PAWL_SERVERS_MAX)
            return server_options_error("there are more than %d servers", PAWL_SERVERS_MAX);
        input->globals.servers[input->globals.server_count++] = text;
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
    static const struct argp_option described[] = {
        {"server", OPTION_SERVER, "URL", 0,
         "A pawld; several times: the next one is tried (PAWL_SERVER, or " PAWL_SERVER_DEFAULT ")",
         0},
        {NULL, 0, NULL, 0, NULL, 0},
    };
    static const struct argp parser = {
        described,
        parse_globals,
        "VERB [ARG...]",
        "Locks with fencing tokens, from a pawld.\v"
        "  pawl lock NAME -- COMMAND    runs COMMAND while it holds the lock\n",
        NULL,
        NULL,
        NULL};
    static char name[64];
    struct input input = {.verb = NULL};

    server_options_streams();
    (void)signal(SIGCHLD, SIG_DFL); /* whoever ignores it gets no exit status */
    if (argp_parse(&parser, argc, argv, ARGP_IN_ORDER, NULL, &input) != 0)
        return CLI_EXIT_ERROR;
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        if (strcmp(input.verb, verbs[i].name) != 0)
            continue;
        (void)snprintf(name, sizeof(name), "pawl %s", input.verb);
        argv[input.at - 1] = name;
        return verbs[i].run(&input.globals, argc - input.at + 1, argv + input.at - 1);
    }
    return cli_say("there is no verb '%s'; see pawl --help", input.verb);
}
