/* `pawl show`: who holds one lock. */
#include "server/cli/common.h"
#include "server/cli/table.h"
#include "server/system/options.h"

#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

struct show_options {
    struct cli_globals *globals;
    const char *name;
};

/* NOLINTNEXTLINE(readability-non-const-parameter): argp's type */
static error_t parse_show(int key, char *text, struct argp_state *state)
{
    struct show_options *options = state->input;
    return cli_parse_one_name(key, text, state, options->globals,
                              "shows one name at a time; pawl list shows all locks with a prefix",
                              &options->name);
}

static void print_holder(const json_t *lock)
{
    static const char *const heading[] = {"NAME", "TOKEN", "LEFT", "HELD BY", "WAITING"};
    struct cli_table *table = cli_table_new(sizeof(heading) / sizeof(heading[0]));
    char token[32], left[32], waiters[32], holder[CLI_HOLDER_MAX];
    if (table == NULL)
        return;
    cli_table_row(table, heading);
    const char *name = json_string_value(json_object_get(lock, "resource"));
    if (json_is_true(json_object_get(lock, "held"))) {
        cli_json_number(lock, "token", token, sizeof(token));
        cli_json_number(lock, "waiters", waiters, sizeof(waiters));
        cli_time_text(json_integer_value(json_object_get(lock, "remaining_ms")), left,
                      sizeof(left));
        cli_holder_text(lock, "", holder);
        cli_table_row(table, (const char *const[]){name, token, left, holder, waiters});
    } else {
        cli_table_row(table, (const char *const[]){name, "", "", "nobody", ""});
    }
    cli_table_print(table);
    cli_table_free(table);
}

int cli_show(struct cli_globals *globals, int argc, char **argv)
{
    static const struct argp parser = {
        .parser = parse_show,
        .args_doc = "NAME",
        .doc = "Shows the holder, the token and the remaining lease of the lock NAME.",
        .children = cli_globals_children,
    };
    struct show_options options = {.globals = globals};
    const int wrong = cli_parse(&parser, argc, argv, &options);
    if (wrong != 0)
        return wrong;
    json_t *lock = NULL;
    const int code = cli_get(globals, "/v1/locks/", options.name, &lock);
    if (code == CLI_EXIT_DONE && globals->json)
        cli_print_json(json_incref(lock));
    else if (code == CLI_EXIT_DONE)
        print_holder(lock);
    json_decref(lock);
    return code;
}
