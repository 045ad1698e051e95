/* `pawl`: locks from a command line. Options for all verbs stand before the verb. */
#include "server/cli/common.h"
#include "server/cli/signals.h"
#include "server/cli/suggest_verb.h"
#include "server/system/options.h"

#include <assert.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *argp_program_version = "pawl " PAWL_VERSION;

static const char *const names[] = {"acquire", "break",     "counter", "extend", "fleet",
                                    "guard",   "key",       "list",    "lock",   "release",
                                    "rwlock",  "semaphore", "show",    "top",    "watch"};

enum {
    VERBS = sizeof(names) / sizeof(names[0]),
};

/* In the order of @names. */
static int (*const verbs[VERBS])(struct cli_globals *globals, int argc, char **argv) = {
    cli_acquire, cli_break,   cli_counter, cli_extend,    cli_fleet, cli_guard, cli_key,   cli_list,
    cli_lock,    cli_release, cli_rwlock,  cli_semaphore, cli_show,  cli_top,   cli_watch,
};

struct input {
    struct cli_globals globals;
    char *verb;
    int at; /* index of the verb's own words */
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
        return input->verb != NULL ? 0
                                   : server_options_error("the verb is missing; see pawl --help");
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp parser = {
    .parser = parse_words,
    .args_doc = "VERB [ARG...]",
    .doc = "Locks with fencing tokens, from a pawld.\v"
           "  pawl lock NAME -- COMMAND    runs COMMAND while pawl holds the lock\n"
           "  pawl rwlock read|write NAME  runs COMMAND as a reader or as the only writer\n"
           "  pawl semaphore NAME ...      runs COMMAND while pawl holds one of N seats\n"
           "  pawl acquire NAME...         acquires a lock, and leaves it held\n"
           "  pawl extend [NAME]           extends a lock\n"
           "  pawl release [NAME...]       releases a lock\n"
           "  pawl break NAME              force-releases a lock\n"
           "  pawl show NAME               shows the holder of a lock\n"
           "  pawl watch NAME              shows the holder, and each change\n"
           "  pawl list [PREFIX]           lists the held locks\n"
           "  pawl fleet                   shows the masters, and why some do not vote\n"
           "  pawl top [PREFIX]            shows the fleet and its locks, live\n"
           "  pawl counter next NAME       returns a unique number; also show, list\n"
           "  pawl key new                 creates a key for callers\n"
           "  pawl guard sql DATABASE      prints the guard to install in a database\n"
           "  pawl guard check DATABASE    prints a query that checks the guard\n"
           "  pawl help [VERB]             shows this text, or the help of a verb\n"
           "  pawl version                 shows the version\n\n"
           "pawl VERB --help shows the options of a verb.",
    .children = cli_globals_children,
};

static int find_verb(const char *word)
{
    assert(word != NULL);
    int at = 0;
    while (at < VERBS && strcmp(word, names[at]) != 0)
        at++;
    return at;
}

static int no_such_verb(const char *word)
{
    const char *meant = cli_guess(word, names, VERBS);
    if (meant == NULL)
        return cli_say("there is no verb '%s'; see 'pawl --help'", word);
    return cli_say("there is no verb '%s'. Did you mean pawl %s? See 'pawl --help'", word, meant);
}

static int run_verb(struct cli_globals *globals, int argc, char **argv)
{
    assert(argc >= 1 && argv[argc] == NULL);
    static char name[64];
    const int at = find_verb(argv[0]);
    if (at == VERBS)
        return no_such_verb(argv[0]);
    (void)snprintf(name, sizeof(name), "pawl %s", names[at]);
    argv[0] = name;
    const int code = verbs[at](globals, argc, argv);
    return !cli_printed() && code == CLI_EXIT_DONE ? CLI_EXIT_ERROR : code;
}

/* `pawl help` is `pawl --help`, and `pawl help lock` is `pawl lock --help`. */
static int help(struct input *input, char *word)
{
    static char option[] = "--help";
    static char program[] = "pawl";
    if (word != NULL && word[0] != '-')
        return run_verb(&input->globals, 2, (char *[]){word, option, NULL});
    return cli_parse(&parser, 2, (char *[]){program, option, NULL}, input);
}

/* Makes output to a closed standard output fail: a grant that is not printed is released. The
 * command of `pawl lock` then has /dev/null as its standard output. */
static void open_streams(void)
{
    const bool is_closed = fcntl(STDOUT_FILENO, F_GETFD) < 0;
    server_options_streams();
    FILE *const full = is_closed ? fopen("/dev/full", "we") : NULL;
    if (full != NULL)
        stdout = full;
}

int main(int argc, char **argv)
{
    struct input input = {.verb = NULL};

    open_streams();
    cli_signals_obey_as_init();
    (void)signal(SIGCHLD, SIG_DFL); /* a process that ignores it gets no exit status */
    if (cli_parse(&parser, argc, argv, &input) != 0)
        return CLI_EXIT_ERROR;
    if (strcmp(input.verb, "help") == 0)
        return help(&input, argv[input.at]);
    if (strcmp(input.verb, "version") == 0) {
        (void)puts(argp_program_version);
        return cli_printed() ? CLI_EXIT_DONE : CLI_EXIT_ERROR;
    }
    return run_verb(&input.globals, argc - input.at + 1, argv + input.at - 1);
}
