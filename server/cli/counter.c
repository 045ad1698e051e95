/* `pawl counter`: unique numbers. */
#include "server/cli/common.h"
#include "server/cli/list.h"
#include "server/system/options.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum {
    COUNT_MAX = 1000000, /* values that one call takes */
};

struct counter_options {
    struct cli_globals *globals;
    const char *word[2]; /* the act, and the name */
    size_t words;
    int64_t count;
};

static const struct argp_option counter_described[] = {
    {"count", 'c', "N", 0,
     "For pawl counter next: take N values (1), and print the first and last value", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static error_t parse_counter(int key, char *text, struct argp_state *state)
{
    struct counter_options *options = state->input;
    assert(options->words <= 2);
    switch (key) {
    case ARGP_KEY_INIT:
        cli_init_verb(state, options->globals);
        return 0;
    case 'c':
        if (!server_options_number(text, 1, COUNT_MAX, &options->count))
            return server_options_error("--count must be 1 to %d, not '%s'", COUNT_MAX, text);
        return 0;
    case ARGP_KEY_ARG:
        if (options->words == 2)
            return server_options_error("takes one name");
        options->word[options->words++] = text;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- what it does ---------------------------------------------------------------------------- */

static int counter_next(const struct counter_options *options)
{
    assert(options->word[1] != NULL && options->count >= 1);
    pawl_client *client = cli_client(options->globals);
    int64_t last = 0;
    if (client == NULL)
        return CLI_EXIT_ERROR;
    const int error = pawl_counter_next(client, options->word[1], options->count, &last);
    const int code = error < 0 ? cli_failed(options->globals, client, error) : CLI_EXIT_DONE;
    pawl_client_free(client);
    if (error < 0)
        return code;
    if (options->globals->json)
        cli_print_json(json_pack("{s:s, s:I, s:I}", "name", options->word[1], "value",
                                 (json_int_t)last, "count", (json_int_t)options->count));
    else if (options->count > 1)
        (void)printf("%lld %lld\n", (long long)(last - options->count + 1), (long long)last);
    else
        (void)printf("%lld\n", (long long)last);
    return CLI_EXIT_DONE;
}

static int counter_show(const struct counter_options *options)
{
    assert(options->word[1] != NULL);
    char value[32];
    json_t *counter = NULL;
    const int code = cli_get(options->globals, "/v1/counters/", options->word[1], &counter);
    if (code == CLI_EXIT_DONE && options->globals->json) {
        cli_print_json(json_incref(counter));
    } else if (code == CLI_EXIT_DONE) {
        cli_json_number(counter, "value", value, sizeof(value));
        (void)puts(value);
    }
    json_decref(counter);
    return code;
}

static void add_counter(struct cli_table *table, const json_t *counter)
{
    char value[32];
    cli_json_number(counter, "value", value, sizeof(value));
    cli_table_row(
        table, (const char *const[]){json_string_value(json_object_get(counter, "name")), value});
}

static int counter_list(const struct counter_options *options)
{
    static const char *const heading[] = {"NAME", "VALUE"};
    return cli_list_pages(options->globals, &(struct cli_listing){.path = "/v1/counters",
                                                                  .member = "counters",
                                                                  .prefix = options->word[1],
                                                                  .columns = 2,
                                                                  .heading = heading,
                                                                  .add_row = add_counter});
}

int cli_counter(struct cli_globals *globals, int argc, char **argv)
{
    static const struct argp parser = {
        .options = counter_described,
        .parser = parse_counter,
        .args_doc = "next NAME\nshow NAME\nlist [PREFIX]",
        .doc =
            "Takes the next value of the counter NAME, shows its last value, or lists counters.\v"
            "Each value is unique, and values only increase. Gaps are possible.",
        .children = cli_globals_children,
    };
    struct counter_options options = {.globals = globals, .count = 1};
    const int wrong = cli_parse(&parser, argc, argv, &options);
    if (wrong != 0)
        return wrong;
    const char *act = options.word[0] != NULL ? options.word[0] : "";
    if (strcmp(act, "list") == 0)
        return options.word[1] != NULL && cli_check_prefix(options.word[1]) != 0
                   ? CLI_EXIT_ERROR
                   : counter_list(&options);
    const bool next = strcmp(act, "next") == 0;
    if (!next && strcmp(act, "show") != 0)
        return cli_say(
            "counter takes next NAME, show NAME or list [PREFIX]; see 'pawl counter --help'");
    if (options.word[1] == NULL)
        return cli_say("counter %s: the name is missing", act);
    if (cli_check_name(options.word[1], "name of a counter") != 0)
        return CLI_EXIT_ERROR;
    return next ? counter_next(&options) : counter_show(&options);
}
