/* `pawl break`: an operator releases a lock for its holder. */
#include "server/cli/common.h"
#include "server/cli/table.h"
#include "server/system/options.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

enum {
    OPTION_TOKEN = 256,
    REPLY_MAX = 64, /* bytes of an answer on the terminal */
};

struct break_options {
    struct cli_globals *globals;
    const char *name;
    int64_t token; /* 0: the token of the current holder */
    bool yes;
};

static const struct argp_option break_described[] = {
    {"token", OPTION_TOKEN, "TOKEN", 0, "Break only the grant with this token", 0},
    {"yes", 'y', NULL, 0, "Do not ask for confirmation", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static error_t take_token(const char *text, int64_t *ret_token)
{
    char *end = NULL;
    const long long token = strtoll(text, &end, 10);
    if (!isdigit((unsigned char)text[0]) || *end != '\0' || token < 1 ||
        token > (INT64_C(1) << 53) - 1)
        return server_options_error("--token must be a whole number from 1 to 9007199254740991");
    *ret_token = token;
    return 0;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): argp's type */
static error_t parse_break(int key, char *text, struct argp_state *state)
{
    struct break_options *options = state->input;
    switch (key) {
    case OPTION_TOKEN:
        return take_token(text, &options->token);
    case 'y':
        options->yes = true;
        return 0;
    default:
        return cli_parse_one_name(key, text, state, options->globals,
                                  "breaks one lock: give one name", &options->name);
    }
}

/* ---- asking ---------------------------------------------------------------------------------- */

/* Prints to standard error, so that JSON output stays valid. */
static void show_holder(const struct break_options *options, const json_t *lock)
{
    assert(options->name != NULL && options->token >= 1);
    char left[32];
    char holder[CLI_HOLDER_MAX];
    cli_holder_text(lock, "a holder without a label", holder);
    cli_time_text(json_integer_value(json_object_get(lock, "remaining_ms")), left, sizeof(left));
    (void)fprintf(stderr, "%s is held by %s, with token %lld, for %s unless extended.\n",
                  options->name, holder, (long long)options->token, left);
    (void)fprintf(stderr, "After a break, the holder works on until its next extension fails. "
                          "Until then, only a guard rejects its writes.\n");
}

/* Returns true if the person at the terminal types yes. */
static bool person_agrees(void)
{
    char reply[REPLY_MAX];
    (void)fprintf(stderr, "Break it? Type yes: ");
    (void)fflush(stderr);
    if (fgets(reply, sizeof(reply), stdin) == NULL)
        return false;
    reply[strcspn(reply, "\r\n")] = '\0';
    return strcmp(reply, "yes") == 0;
}

/* Asks whether to go on: an exit code other than CLI_EXIT_DONE tells why not. */
static int ask_person(const struct break_options *options, const json_t *lock)
{
    if (options->yes)
        return CLI_EXIT_DONE;
    if (!isatty(STDIN_FILENO))
        return cli_say("not a terminal: confirm with --yes");
    show_holder(options, lock);
    return person_agrees() ? CLI_EXIT_DONE : cli_say("nothing was broken");
}

/* ---- breaking -------------------------------------------------------------------------------- */

/* Chooses the current holder. If a token was named, it must be the holder's. */
static int choose_grant(struct break_options *options, const json_t *lock)
{
    assert(options->name != NULL && options->token >= 0);
    const json_t *token = json_object_get(lock, "token");
    if (!json_is_true(json_object_get(lock, "held"))) {
        (void)cli_say("%s is not held", options->name);
        return CLI_EXIT_LOST;
    }
    if (options->token == 0 && !json_is_integer(token))
        return cli_say("the masters report different tokens for %s: retry, or use --token",
                       options->name);
    if (options->token != 0 && json_is_integer(token) &&
        json_integer_value(token) != options->token)
        return cli_say("%s is held under token %lld, not %lld, so nothing was broken",
                       options->name, (long long)json_integer_value(token),
                       (long long)options->token);
    if (options->token == 0)
        options->token = json_integer_value(token);
    return CLI_EXIT_DONE;
}

static int break_chosen(const struct break_options *options)
{
    assert(options->name != NULL && options->token >= 1);
    bool broken = false;
    pawl_client *client = cli_client(options->globals);
    if (client == NULL)
        return CLI_EXIT_ERROR;
    const int error = pawl_break(client, options->name, options->token, &broken);
    int code = error < 0 ? cli_failed(options->globals, client, error) : CLI_EXIT_DONE;
    if (error == 0 && !broken) {
        (void)cli_say("%s is not held", options->name);
        code = CLI_EXIT_LOST;
    }
    if (error == 0 && options->globals->json)
        (void)printf("{\"released\":%s,\"token\":%lld}\n", broken ? "true" : "false",
                     (long long)options->token);
    else if (error == 0 && broken)
        (void)printf("broke %s, token %lld\n", options->name, (long long)options->token);
    pawl_client_free(client);
    return code;
}

int cli_break(struct cli_globals *globals, int argc, char **argv)
{
    static const struct argp parser = {
        .options = break_described,
        .parser = parse_break,
        .args_doc = "NAME",
        .doc = "Force-releases the lock NAME. Shows the holder, and asks for confirmation.\vThe "
               "old holder's next extension fails, and the next holder has a higher token. Exit "
               "code 123: the lock was not held. It is safe to repeat the command.",
        .children = cli_globals_children,
    };
    struct break_options options = {.globals = globals};
    int code = cli_parse(&parser, argc, argv, &options);
    if (code != 0)
        return code;
    json_t *lock = NULL;
    code = cli_get(globals, "/v1/locks/", options.name, &lock);
    if (code == CLI_EXIT_DONE)
        code = choose_grant(&options, lock);
    if (code == CLI_EXIT_DONE)
        code = ask_person(&options, lock);
    if (code == CLI_EXIT_DONE)
        code = break_chosen(&options);
    json_decref(lock);
    return code;
}
