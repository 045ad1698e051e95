/* `pawl list`: the locks that are held. */
#include "server/cli/list.h"

#include "server/system/options.h"

#include <assert.h>
#include <stdio.h>

enum {
    CURSOR_MAX = 1024, /* bytes of a cursor */
};

/* ---- pages ----------------------------------------------------------------------------------- */

static void print_page(const struct cli_globals *globals, const struct cli_listing *listing,
                       struct cli_table *table, const json_t *entries)
{
    for (size_t i = 0; i < json_array_size(entries) && i < CLI_TABLE_ROWS_MAX - 1; i++) {
        json_t *entry = json_array_get(entries, i);
        if (globals->json)
            cli_print_json(json_incref(entry));
        else
            listing->add_row(table, entry);
    }
    cli_table_print(table);
}

/* The path of the next page; the prefix comes last, since pawl_get() encodes it. */
static void page_path(const struct cli_listing *listing, const char *cursor, char *ret_path,
                      size_t size)
{
    (void)snprintf(ret_path, size, "%s?limit=%d%s%s%s", listing->path, CLI_TABLE_ROWS_MAX - 1,
                   cursor[0] != '\0' ? "&cursor=" : "", cursor,
                   listing->prefix != NULL ? "&prefix=" : "");
}

int cli_list_pages(const struct cli_globals *globals, const struct cli_listing *listing)
{
    assert(listing->path[0] == '/' && listing->heading != NULL && listing->add_row != NULL);
    char cursor[CURSOR_MAX] = "";
    char path[CURSOR_MAX + 128];
    int code = CLI_EXIT_DONE;
    struct cli_table *table = cli_table_new(listing->columns);
    if (table == NULL)
        return CLI_EXIT_ERROR;
    if (!globals->json)
        cli_table_row(table, listing->heading);
    do {
        json_t *page = NULL;
        page_path(listing, cursor, path, sizeof(path));
        code = cli_get(globals, path, listing->prefix, &page);
        if (code == CLI_EXIT_DONE)
            print_page(globals, listing, table, json_object_get(page, listing->member));
        const char *next = json_string_value(json_object_get(page, "next_cursor"));
        (void)snprintf(cursor, sizeof(cursor), "%s", next != NULL ? next : "");
        json_decref(page);
    } while (code == CLI_EXIT_DONE && cursor[0] != '\0');
    cli_table_free(table);
    return code;
}

/* ---- locks ----------------------------------------------------------------------------------- */

struct list_options {
    struct cli_globals *globals;
    const char *prefix;
};

/* NOLINTNEXTLINE(readability-non-const-parameter): argp's type */
static error_t parse_list(int key, char *text, struct argp_state *state)
{
    struct list_options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        cli_init_verb(state, options->globals);
        return 0;
    case ARGP_KEY_ARG:
        if (options->prefix != NULL)
            return server_options_error("takes one prefix");
        options->prefix = text;
        return cli_check_prefix(text);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void add_held_lock(struct cli_table *table, const json_t *lock)
{
    char token[32], left[32], holder[CLI_HOLDER_MAX];
    cli_holder_text(lock, "", holder);
    cli_json_number(lock, "token", token, sizeof(token));
    cli_time_text(json_integer_value(json_object_get(lock, "remaining_ms")), left, sizeof(left));
    cli_table_row(table, (const char *const[]){json_string_value(json_object_get(lock, "resource")),
                                               token, left, holder});
}

int cli_list(struct cli_globals *globals, int argc, char **argv)
{
    static const char *const heading[] = {"NAME", "TOKEN", "LEFT", "HELD BY"};
    static const struct argp parser = {
        .parser = parse_list,
        .args_doc = "[PREFIX]",
        .doc = "Lists all held locks, or only the held locks whose names begin with PREFIX.",
        .children = cli_globals_children,
    };
    struct list_options options = {.globals = globals};
    const int wrong = cli_parse(&parser, argc, argv, &options);
    if (wrong != 0)
        return wrong;
    return cli_list_pages(globals, &(struct cli_listing){.path = "/v1/locks",
                                                         .member = "locks",
                                                         .prefix = options.prefix,
                                                         .columns = 4,
                                                         .heading = heading,
                                                         .add_row = add_held_lock});
}
