#include "server/cli/fleet_words.h"

#include "server/cli/common.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum {
    TROUBLE_MAX = 2048, /* bytes of a sentence, terminated */
};

static const char *member_of(const json_t *json, const char *name)
{
    assert(name != NULL);
    const char *text = json_string_value(json_object_get(json, name));
    return text != NULL ? text : "";
}

/* ---- verdict --------------------------------------------------------------------------------- */

bool cli_fleet_is_ready(const json_t *fleet)
{
    return json_is_true(json_object_get(fleet, "ready"));
}

const char *cli_fleet_verdict(const json_t *fleet)
{
    return cli_fleet_is_ready(fleet) ? "grants locks" : "grants no lock";
}

void cli_fleet_votes(const json_t *fleet, char ret_sentence[static CLI_FLEET_SENTENCE_MAX])
{
    char active[32], n[32], majority[32];
    cli_json_number(fleet, "active", active, sizeof(active));
    cli_json_number(fleet, "n", n, sizeof(n));
    cli_json_number(fleet, "majority", majority, sizeof(majority));
    const bool barely =
        cli_fleet_is_ready(fleet) && strcmp(active, majority) == 0 && strcmp(n, majority) != 0;
    if (strcmp(n, "1") == 0)
        (void)snprintf(ret_sentence, CLI_FLEET_SENTENCE_MAX, "the only master %s",
                       strcmp(active, "1") == 0 ? "votes" : "does not vote");
    else
        (void)snprintf(ret_sentence, CLI_FLEET_SENTENCE_MAX, "%s of %s masters %s, %s are needed%s",
                       active, n, strcmp(active, "1") == 0 ? "votes" : "vote", majority,
                       barely ? "; if one more fails, no lock can be granted" : "");
}

/* ---- what is wrong --------------------------------------------------------------------------- */

struct listener {
    void (*line)(void *context, const char *sentence);
    void *context;
};

static void tell_trouble(const struct listener *listener, const char *who, const char *name,
                         const char *detail)
{
    char sentence[TROUBLE_MAX];
    (void)snprintf(sentence, sizeof(sentence), "%s: %s: %s", who, name, detail);
    listener->line(listener->context, sentence);
}

static void tell_findings(const struct listener *listener, const json_t *owner, const char *who)
{
    assert(who != NULL);
    const json_t *findings = json_object_get(owner, "audit");
    for (size_t i = 0; i < json_array_size(findings); i++) {
        const json_t *finding = json_array_get(findings, i);
        tell_trouble(listener, who, member_of(finding, "name"), member_of(finding, "detail"));
    }
}

/* Reports whether @master votes, and has @finding. */
static bool has_finding(const json_t *master, const json_t *finding)
{
    const json_t *own = json_object_get(master, "audit");
    bool has = false;
    for (size_t i = 0; i < json_array_size(own); i++)
        has |= json_equal(json_array_get(own, i), finding);
    return has && strcmp(member_of(master, "state"), "active") == 0;
}

/* Reports @finding of master @i once, with all masters that have it: does nothing if an earlier
 * master has it. */
static void tell_shared(const struct listener *listener, const json_t *masters, size_t i,
                        const json_t *finding)
{
    char who[TROUBLE_MAX / 2] = "";
    size_t len = 0;
    for (size_t other = 0; other < json_array_size(masters) && len < sizeof(who); other++) {
        const json_t *master = json_array_get(masters, other);
        if (!has_finding(master, finding))
            continue;
        if (other < i)
            return;
        len += (size_t)snprintf(who + len, sizeof(who) - len, "%s%s", len > 0 ? ", " : "",
                                member_of(master, "address"));
    }
    if (len > 0)
        tell_trouble(listener, who, member_of(finding, "name"), member_of(finding, "detail"));
}

void cli_fleet_troubles(const json_t *fleet, void (*line)(void *context, const char *sentence),
                        void *context)
{
    const struct listener listener = {.line = line, .context = context};
    const json_t *masters = json_object_get(fleet, "masters");
    for (size_t i = 0; i < json_array_size(masters); i++) {
        const json_t *master = json_array_get(masters, i);
        const char *address = member_of(master, "address");
        if (member_of(master, "reason")[0] != '\0')
            tell_trouble(&listener, address, member_of(master, "reason"),
                         member_of(master, "detail"));
    }
    for (size_t i = 0; i < json_array_size(masters); i++) {
        const json_t *findings = json_object_get(json_array_get(masters, i), "audit");
        for (size_t k = 0; k < json_array_size(findings); k++)
            tell_shared(&listener, masters, i, json_array_get(findings, k));
    }
    tell_findings(&listener, fleet, "fleet");
}

/* ---- masters --------------------------------------------------------------------------------- */

static void add_master(struct cli_table *table, const json_t *master)
{
    char server[96], since[32] = "", round_trip[32] = "";
    const json_t *state_for = json_object_get(master, "state_for_ms");
    const json_int_t us = json_integer_value(json_object_get(master, "round_trip_us"));
    (void)snprintf(server, sizeof(server), "%.40s %.40s", member_of(master, "server"),
                   member_of(master, "version"));
    if (json_is_integer(state_for))
        cli_time_text(json_integer_value(state_for), since, sizeof(since));
    if (us > 0)
        (void)snprintf(round_trip, sizeof(round_trip), "%.2f ms", (double)us / 1000);
    cli_table_row(
        table, (const char *const[]){member_of(master, "address"), member_of(master, "state"),
                                     since, member_of(master, "persistence"), round_trip, server});
}

struct cli_table *cli_fleet_table(const json_t *fleet, size_t most)
{
    assert(fleet != NULL && most < CLI_TABLE_ROWS_MAX);
    static const char *const heading[] = {"MASTER",      "STATE",      "SINCE",
                                          "PERSISTENCE", "ROUND TRIP", "SERVER"};
    const json_t *masters = json_object_get(fleet, "masters");
    struct cli_table *table = cli_table_new(sizeof(heading) / sizeof(heading[0]));
    if (table == NULL)
        return NULL;
    cli_table_row(table, heading);
    for (size_t i = 0; i < json_array_size(masters) && i < most; i++)
        add_master(table, json_array_get(masters, i));
    return table;
}
