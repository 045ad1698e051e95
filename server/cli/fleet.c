/* `pawl fleet`: which masters vote, and why others do not. */
#include "server/cli/common.h"
#include "server/cli/table.h"
#include "server/system/options.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#define GREEN "\033[32m"
#define RED   "\033[31m"
#define PLAIN "\033[0m"

static error_t parse_fleet(int key, char *text, struct argp_state *state)
{
    struct cli_globals **globals = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        cli_init_verb(state, *globals);
        return 0;
    case ARGP_KEY_ARG:
        return server_options_error("takes no argument: '%s'", text);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const char *text_of(const json_t *json, const char *name)
{
    assert(name != NULL);
    const char *text = json_string_value(json_object_get(json, name));
    return text != NULL ? text : "";
}

static void add_master(struct cli_table *table, const json_t *master)
{
    char server[96], round_trip[32] = "";
    const json_int_t us = json_integer_value(json_object_get(master, "round_trip_us"));
    (void)snprintf(server, sizeof(server), "%.40s %.40s", text_of(master, "server"),
                   text_of(master, "version"));
    if (us > 0)
        (void)snprintf(round_trip, sizeof(round_trip), "%.2f ms", (double)us / 1000);
    cli_table_row(table, (const char *const[]){text_of(master, "address"), text_of(master, "state"),
                                               text_of(master, "persistence"), round_trip, server});
}

static void print_findings(const json_t *owner, const char *who)
{
    assert(who != NULL);
    const json_t *findings = json_object_get(owner, "audit");
    for (size_t i = 0; i < json_array_size(findings); i++) {
        const json_t *finding = json_array_get(findings, i);
        (void)printf("%s: %s: %s\n", who, text_of(finding, "name"), text_of(finding, "detail"));
    }
}

/* What is wrong, a line each, with what to do about it. */
static void print_troubles(const json_t *fleet)
{
    const json_t *masters = json_object_get(fleet, "masters");
    for (size_t i = 0; i < json_array_size(masters); i++) {
        const json_t *master = json_array_get(masters, i);
        if (text_of(master, "reason")[0] != '\0')
            (void)printf("%s: %s: %s\n", text_of(master, "address"), text_of(master, "reason"),
                         text_of(master, "detail"));
        print_findings(master, text_of(master, "address"));
    }
    print_findings(fleet, "fleet");
}

static void print_summary(const json_t *fleet)
{
    const bool colours = isatty(STDOUT_FILENO) == 1 && getenv("NO_COLOR") == NULL;
    const bool ready = json_is_true(json_object_get(fleet, "ready"));
    const char *word = ready ? "grants locks" : "grants no lock";
    const char *colour = ready ? GREEN : RED;
    char active[32], n[32], majority[32];
    cli_json_number(fleet, "active", active, sizeof(active));
    cli_json_number(fleet, "n", n, sizeof(n));
    cli_json_number(fleet, "majority", majority, sizeof(majority));
    (void)printf("%s%s%s: %s of %s masters vote, %s are a majority\n", colours ? colour : "", word,
                 colours ? PLAIN : "", active, n, majority);
}

static void print_fleet(const json_t *fleet)
{
    assert(fleet != NULL);
    static const char *const heading[] = {"MASTER", "STATE", "PERSISTENCE", "ROUND TRIP", "SERVER"};
    const json_t *masters = json_object_get(fleet, "masters");
    struct cli_table *table = cli_table_new(sizeof(heading) / sizeof(heading[0]));
    if (table == NULL)
        return;
    print_summary(fleet);
    cli_table_row(table, heading);
    for (size_t i = 0; i < json_array_size(masters) && i < CLI_TABLE_ROWS_MAX - 1; i++)
        add_master(table, json_array_get(masters, i));
    cli_table_print(table);
    cli_table_free(table);
    print_troubles(fleet);
}

int cli_fleet(struct cli_globals *globals, int argc, char **argv)
{
    static const struct argp parser = {
        .parser = parse_fleet,
        .doc = "Shows the masters: which of them vote, and the problems of the others.\v"
               "Exit code 1: no lock can be granted now.",
        .children = cli_globals_children,
    };
    json_t *fleet = NULL;
    const int wrong = cli_parse(&parser, argc, argv, &globals);
    int code = wrong != 0 ? wrong : cli_get(globals, "/v1/fleet", NULL, &fleet);
    if (code == CLI_EXIT_DONE && !json_is_true(json_object_get(fleet, "ready")))
        code = CLI_EXIT_NOT_READY;
    assert(fleet == NULL || code == CLI_EXIT_DONE || code == CLI_EXIT_NOT_READY);
    if (fleet != NULL && globals->json)
        cli_print_json(json_incref(fleet));
    else if (fleet != NULL)
        print_fleet(fleet);
    json_decref(fleet);
    return code;
}
