/* `pawl watch`: prints a line for each change of a lock, without taking it. */
#include "server/cli/common.h"
#include "server/system/options.h"

#include <stdio.h>
#include <string.h>

#include <jansson.h>

enum {
    OPTION_UNTIL = 256,
};

/* The state that ends the watch. */
enum until {
    UNTIL_SIGNAL,
    UNTIL_FREE,
    UNTIL_HELD,
};

struct watch_options {
    struct cli_globals *globals;
    const char *name;
    enum until until;
};

static const struct argp_option watch_described[] = {
    {"until", OPTION_UNTIL, "STATE", 0, "Exit when the lock is in STATE, which is 'free' or 'held'",
     0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static error_t take_until(const char *text, enum until *ret_until)
{
    if (strcmp(text, "free") == 0)
        *ret_until = UNTIL_FREE;
    else if (strcmp(text, "held") == 0)
        *ret_until = UNTIL_HELD;
    else
        return server_options_error("--until must be free or held, not '%s'", text);
    return 0;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): argp's type */
static error_t parse_watch(int key, char *text, struct argp_state *state)
{
    struct watch_options *options = state->input;
    switch (key) {
    case OPTION_UNTIL:
        return take_until(text, &options->until);
    default:
        return cli_parse_one_name(key, text, state, options->globals,
                                  "watches one name; start one pawl watch for each",
                                  &options->name);
    }
}

static void print_line(const char *name, const struct pawl_state *state)
{
    if (!state->held)
        (void)printf("%s: free\n", name);
    else if (state->owner[0] == '\0')
        (void)printf("%s: held under token %lld\n", name, (long long)state->token);
    else
        (void)printf("%s: held under token %lld by %s\n", name, (long long)state->token,
                     state->owner);
}

static void print_object(const char *name, const struct pawl_state *state)
{
    json_t *object = json_pack("{s:s, s:b}", "resource", name, "held", state->held);
    if (state->held) {
        (void)json_object_set_new(object, "token", json_integer(state->token));
        (void)json_object_set_new(object, "owner", json_string(state->owner));
    }
    cli_print_json(object);
}

static bool ends_watch(enum until until, const struct pawl_state *state)
{
    return until == (state->held ? UNTIL_HELD : UNTIL_FREE);
}

/* Ends only at the state of --until, or if retrying does not help. */
static int print_changes(const struct watch_options *options, pawl_client *client)
{
    struct pawl_state state = {.known = false};
    for (;;) {
        const int error = pawl_watch(client, options->name, PAWL_WAIT, &state);
        if (error < 0)
            return cli_failed(options->globals, client, error);
        if (options->globals->json)
            print_object(options->name, &state);
        else
            print_line(options->name, &state);
        if (!cli_printed())
            return CLI_EXIT_ERROR;
        if (ends_watch(options->until, &state))
            return CLI_EXIT_DONE;
    }
}

int cli_watch(struct cli_globals *globals, int argc, char **argv)
{
    static const struct argp parser = {
        .options = watch_described,
        .parser = parse_watch,
        .args_doc = "NAME",
        .doc = "Prints the holder of the lock NAME, and a line for each change, until a signal "
               "ends pawl. Acquires no lock.\vIf several changes come within half a second, pawl "
               "watch may print only the last change. While no server answers, pawl watch retries.",
        .children = cli_globals_children,
    };
    struct watch_options options = {.globals = globals};
    const int wrong = cli_parse(&parser, argc, argv, &options);
    if (wrong != 0)
        return wrong;
    pawl_client *client = cli_client(globals);
    if (client == NULL)
        return CLI_EXIT_ERROR;
    const int code = print_changes(&options, client);
    pawl_client_free(client);
    return code;
}
