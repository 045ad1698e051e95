/* `pawl acquire`: a lock that stays after this process. */
#include "fence/protocol/limits.h"
#include "server/cli/common.h"
#include "server/cli/grant.h"
#include "server/cli/nested_lock.h"
#include "server/cli/signals.h"
#include "server/cli/waiting.h"
#include "server/system/options.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
    OPTION_TTL = 256,
    OPTION_WHY,
    OPTION_SHELL,
};

struct acquire_options {
    struct cli_globals *globals;
    const char *names[PAWL_NAMES_MAX];
    size_t name_count;
    int64_t wait_ms;
    int64_t ttl_ms;
    const char *why;
    bool shell;
};

static const struct argp_option acquire_described[] = {
    {"wait", 'w', "TIME", 0, "Maximum wait (default: forever)", 0},
    {"nonblock", 'n', NULL, 0, "Do not wait", 0},
    {"ttl", OPTION_TTL, "TIME", 0, "The lease (30s)", 0},
    {"why", OPTION_WHY, "TEXT", 0, "Label shown to waiters (user@host)", 0},
    {"shell", OPTION_SHELL, NULL, 0,
     "For eval: print shell lines that set PAWL_TOKEN and other variables", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static error_t parse_acquire(int key, char *text, struct argp_state *state)
{
    struct acquire_options *options = state->input;
    assert(options->name_count <= PAWL_NAMES_MAX);
    switch (key) {
    case ARGP_KEY_INIT:
        cli_init_verb(state, options->globals);
        return 0;
    case 'w':
        return cli_take_time(text, "wait", 0, &options->wait_ms);
    case 'n':
        options->wait_ms = 0;
        return 0;
    case OPTION_TTL:
        return cli_take_time(text, "ttl", FENCE_TTL_MIN_MS, &options->ttl_ms);
    case OPTION_WHY:
        return cli_take_label(text, &options->why);
    case OPTION_SHELL:
        options->shell = true;
        return 0;
    case ARGP_KEY_ARG:
        if (options->name_count > 0 && state->next - 1 == state->quoted)
            return server_options_error("pawl acquire runs no command, but '%s' follows '--': use "
                                        "pawl lock NAME -- COMMAND",
                                        text);
        return cli_take_name(text, options->names, &options->name_count);
    case ARGP_KEY_END:
        return options->name_count > 0
                   ? 0
                   : server_options_error("the lock name is missing; see '%s --help'", state->name);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Prints the grant. Returns an exit code. */
static int show_grant(const struct acquire_options *options, pawl_client *client, pawl_lock *lock,
                      int error)
{
    assert((lock != NULL) == (error == 0));
    const int code = error < 0 ? cli_failed(options->globals, client, error) : CLI_EXIT_DONE;
    if (error == 0)
        cli_grant_print(lock, options->globals->json, options->shell);
    else if (options->shell)
        cli_grant_print_none(code);
    if (error < 0 || cli_printed())
        return code;
    (void)pawl_release(client, lock, NULL); /* no caller would know the lock id */
    return CLI_EXIT_ERROR;
}

int cli_acquire(struct cli_globals *globals, int argc, char **argv)
{
    static const struct argp parser = {
        .options = acquire_described,
        .parser = parse_acquire,
        .args_doc = "NAME...",
        .doc = "Acquires the lock NAME, or several locks together, and leaves them held until the "
               "lease ends.\vKeep the lock id, which pawl extend and pawl release need. Exit code "
               "124: another caller holds the lock.",
        .children = cli_globals_children,
    };
    struct acquire_options options = {.globals = globals, .wait_ms = -1};
    char label[PAWL_OWNER_MAX + 1];
    const int wrong = cli_parse(&parser, argc, argv, &options);
    if (wrong != 0)
        return wrong;
    if (globals->json && options.shell)
        return cli_refuse_json("--shell prints lines for eval");
    struct cli_signals signals;
    if (cli_signals_block(&signals) < 0)
        return cli_say("cannot wait for signals: %s", strerror(errno));
    pawl_client *client = cli_client(globals);
    if (client == NULL)
        return CLI_EXIT_ERROR;
    if (options.wait_ms < 0 &&
        cli_own_check(globals, client, options.names, options.name_count) != CLI_EXIT_DONE) {
        pawl_client_free(client);
        return CLI_EXIT_ERROR;
    }
    if (options.why == NULL)
        cli_label(label);
    pawl_lock *lock = NULL;
    int ended_by = 0;
    assert(options.name_count >= 1);
    const int error = cli_wait(client,
                               &(struct pawl_request){
                                   .names = options.names,
                                   .name_count = options.name_count,
                                   .ttl_ms = options.ttl_ms,
                                   .wait_ms = cli_wait_ms(options.wait_ms),
                                   .owner = options.why != NULL ? options.why : label,
                               },
                               &signals, &lock, &ended_by);
    const int code =
        ended_by != 0 ? CLI_EXIT_SIGNAL + ended_by : show_grant(&options, client, lock, error);
    if (ended_by != 0 && options.shell)
        cli_grant_print_none(code);
    pawl_lock_free(lock);
    pawl_client_free(client);
    if (ended_by != 0 && cli_printed())
        cli_signals_die(ended_by);
    return code;
}
