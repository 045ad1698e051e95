/* pawl guard sql DATABASE: the guard of a database, as SQL. The same text is a file of the package.
 */
#include "server/cli/common.h"
#include "server/system/options.h"
#include "storage/guard/mariadb/pawl_guard.sql.h"
#include "storage/guard/postgresql/pawl_guard.sql.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *database;
    const char *sql;
} guards[] = {
    {"postgresql", storage_guard_postgresql_pawl_guard},
    {"mariadb", storage_guard_mariadb_pawl_guard},
};

struct guard_options {
    struct cli_globals *globals;
    char *words[2];
    unsigned count;
};

static error_t parse_guard(int key, char *text, struct argp_state *state)
{
    struct guard_options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        cli_init_verb(state, options->globals);
        return 0;
    case ARGP_KEY_ARG:
        if (options->count == 2)
            return server_options_error("takes two words: sql, and a database");
        options->words[options->count++] = text;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int print_sql(const char *database)
{
    for (size_t i = 0; i < sizeof(guards) / sizeof(guards[0]); i++)
        if (strcmp(guards[i].database, database) == 0)
            return fputs(guards[i].sql, stdout) >= 0 ? CLI_EXIT_DONE : CLI_EXIT_ERROR;
    return cli_say("there is no guard for '%s'; see pawl guard --help", database);
}

int cli_guard(struct cli_globals *globals, int argc, char **argv)
{
    static const struct argp parser = {
        .parser = parse_guard,
        .args_doc = "sql DATABASE",
        .doc =
            "Prints what installs the guard of a database.\v"
            "DATABASE is postgresql or mariadb:\n\n"
            "  pawl guard sql postgresql | psql orders\n"
            "  pawl guard sql mariadb | mariadb orders\n\n"
            "It is installed once in each database, by the role that is to own it. Installing it "
            "again keeps what the guard has seen.",
        .children = cli_globals_children,
    };
    struct guard_options options = {.globals = globals};
    const int wrong = cli_parse(&parser, argc, argv, &options);
    if (wrong != 0)
        return wrong;
    if (options.count != 2 || strcmp(options.words[0], "sql") != 0)
        return cli_say("guard takes the word sql and a database; see pawl guard --help");
    return print_sql(options.words[1]);
}
