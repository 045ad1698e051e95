/* pawl guard sql|check DATABASE: the guard of a database, and the query that tells whether it is
 * intact, as SQL. The same texts are files of the package. */
#include "server/cli/common.h"
#include "server/system/options.h"
#include "storage/guard/mariadb/pawl_check.sql.h"
#include "storage/guard/mariadb/pawl_guard.sql.h"
#include "storage/guard/postgresql/pawl_check.sql.h"
#include "storage/guard/postgresql/pawl_guard.sql.h"
#include "storage/guard/sqlite/pawl_check.sql.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *word, *database;
    const char *sql;
} guards[] = {
    {"sql", "postgresql", storage_guard_postgresql_pawl_guard},
    {"sql", "mariadb", storage_guard_mariadb_pawl_guard},
    {"check", "postgresql", storage_guard_postgresql_pawl_check},
    {"check", "mariadb", storage_guard_mariadb_pawl_check},
    {"check", "sqlite", storage_guard_sqlite_pawl_check},
};

struct guard_options {
    struct cli_globals *globals;
    char *words[2];
    unsigned count;
};

static error_t parse_guard(int key, char *text, struct argp_state *state)
{
    struct guard_options *options = state->input;
    assert(options->count <= 2);
    switch (key) {
    case ARGP_KEY_INIT:
        cli_init_verb(state, options->globals);
        return 0;
    case ARGP_KEY_ARG:
        if (options->count == 2)
            return server_options_error("takes two words: sql or check, and a database");
        options->words[options->count++] = text;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int print_sql(const char *word, const char *database)
{
    assert(word != NULL && database != NULL);
    for (size_t i = 0; i < sizeof(guards) / sizeof(guards[0]); i++)
        if (strcmp(guards[i].word, word) == 0 && strcmp(guards[i].database, database) == 0)
            return fputs(guards[i].sql, stdout) >= 0 ? CLI_EXIT_DONE : CLI_EXIT_ERROR;
    return cli_say("there is no guard for '%s'; see pawl guard --help", database);
}

static bool is_word(const char *word)
{
    return strcmp(word, "sql") == 0 || strcmp(word, "check") == 0;
}

int cli_guard(struct cli_globals *globals, int argc, char **argv)
{
    static const struct argp parser = {
        .parser = parse_guard,
        .args_doc = "sql DATABASE\ncheck DATABASE",
        .doc = "Prints SQL that installs the guard in a database, or a query that checks the "
               "guard and its protected tables.\vDATABASE is postgresql or mariadb. pawl guard "
               "check also accepts sqlite:\n"
               "\n"
               "  pawl guard sql postgresql | psql orders\n"
               "  pawl guard sql mariadb | mariadb orders\n"
               "  pawl guard check postgresql | psql -q orders\n"
               "  pawl guard check mariadb | mariadb --table orders\n"
               "  pawl guard check sqlite | sqlite3 -readonly -header orders.db\n"
               "\n"
               "Install the guard once in each database, as the role that owns the database. If "
               "you install the guard again, the guard keeps its tokens. The check prints a line "
               "for the guard, and a line for each protected table.",
        .children = cli_text_children,
    };
    struct guard_options options = {.globals = globals};
    const int wrong = cli_parse(&parser, argc, argv, &options);
    if (wrong != 0)
        return wrong;
    if (globals->json)
        return cli_refuse_json("pawl guard prints SQL");
    if (options.count != 2 || !is_word(options.words[0]))
        return cli_say("guard takes the word sql or the word check, and a database: see pawl guard "
                       "--help");
    return print_sql(options.words[0], options.words[1]);
}
