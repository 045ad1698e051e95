#include "server/cli/grant.h"

#include "server/cli/common.h"
#include "server/cli/table.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

/* ---- showing it ------------------------------------------------------------------------------ */

static void print_json(const pawl_lock *lock)
{
    json_t *grants = json_array();
    for (size_t i = 0; i < pawl_lock_count(lock); i++)
        (void)json_array_append_new(grants,
                                    json_pack("{s:s, s:I}", "resource", pawl_lock_name(lock, i),
                                              "token", (json_int_t)pawl_lock_token(lock, i)));
    cli_print_json(json_pack("{s:s, s:I, s:I, s:o}", "lock_id", pawl_lock_id(lock), "ttl_ms",
                             (json_int_t)pawl_lock_ttl_ms(lock), "validity_ms",
                             (json_int_t)pawl_lock_left_ms(lock), "grants", grants));
}

char *cli_grant_tokens(const pawl_lock *lock)
{
    json_t *tokens = json_object();
    for (size_t i = 0; i < pawl_lock_count(lock); i++)
        (void)json_object_set_new(tokens, pawl_lock_name(lock, i),
                                  json_integer(pawl_lock_token(lock, i)));
    char *text = json_dumps(tokens, JSON_COMPACT);
    json_decref(tokens);
    return text;
}

/* Prints lines for a shell. A name has no character that is special to a shell within single
 * quotes. Variables of an earlier grant are removed from the environment. */
static void print_shell(const pawl_lock *lock)
{
    char *text = cli_grant_tokens(lock);
    if (pawl_lock_count(lock) == 1)
        (void)printf("export PAWL_RESOURCE='%s' PAWL_TOKEN=%lld\n", pawl_lock_name(lock, 0),
                     (long long)pawl_lock_token(lock, 0));
    else
        (void)printf("unset PAWL_RESOURCE PAWL_TOKEN\n");
    (void)printf("export PAWL_TOKENS='%s' PAWL_LOCK_ID='%s' PAWL_DEADLINE_MS=%lld\n",
                 text != NULL ? text : "{}", pawl_lock_id(lock),
                 (long long)pawl_lock_left_ms(lock));
    free(text);
}

void cli_grant_print_none(int code)
{
    assert(code != CLI_EXIT_DONE);
    (void)printf("unset PAWL_RESOURCE PAWL_TOKEN PAWL_TOKENS PAWL_LOCK_ID PAWL_DEADLINE_MS; "
                 "(exit %d)\n",
                 code);
}

static void print_table(const pawl_lock *lock)
{
    static const char *const heading[] = {"NAME", "TOKEN", "VALID FOR", "LOCK ID"};
    struct cli_table *table = cli_table_new(sizeof(heading) / sizeof(heading[0]));
    char token[32];
    char left[32];
    if (table == NULL)
        return;
    cli_table_row(table, heading);
    cli_time_text((long long)pawl_lock_left_ms(lock), left, sizeof(left));
    for (size_t i = 0; i < pawl_lock_count(lock); i++) {
        (void)snprintf(token, sizeof(token), "%lld", (long long)pawl_lock_token(lock, i));
        cli_table_row(
            table, (const char *const[]){pawl_lock_name(lock, i), token, left, pawl_lock_id(lock)});
    }
    cli_table_print(table);
    cli_table_free(table);
}

void cli_grant_print(const pawl_lock *lock, bool json, bool shell)
{
    assert(lock != NULL && pawl_lock_count(lock) >= 1);
    if (shell)
        print_shell(lock);
    else if (json)
        print_json(lock);
    else
        print_table(lock);
}

/* ---- naming it again ------------------------------------------------------------------------- */

/* Reports whether the lock id in the environment belongs to @name, as far as the environment
 * shows. */
static bool environment_is_of(const char *name)
{
    const char *resource = getenv("PAWL_RESOURCE");
    const char *tokens = getenv("PAWL_TOKENS");
    if (resource == NULL && tokens == NULL)
        return true; /* set by hand */
    json_t *of = tokens != NULL ? json_loads(tokens, 0, NULL) : NULL;
    const bool is =
        json_object_get(of, name) != NULL || (resource != NULL && strcmp(resource, name) == 0);
    json_decref(of);
    return is;
}

/* With another lock id the answer would be "not held", about a lock that is held. */
static bool fits_environment(const struct cli_grant *grant)
{
    if (grant->lock_id != NULL)
        return true;
    for (size_t i = 0; i < grant->name_count; i++)
        if (getenv("PAWL_LOCK_ID") != NULL && !environment_is_of(grant->names[i])) {
            (void)cli_say("PAWL_LOCK_ID belongs to another lock, not to %s: give --lock-id",
                          grant->names[i]);
            return false;
        }
    return true;
}

bool cli_grant_complete(struct cli_grant *grant, bool needs_token)
{
    assert(grant->name_count <= PAWL_NAMES_MAX);
    if (!fits_environment(grant))
        return false;
    const char *resource = getenv("PAWL_RESOURCE");
    if (grant->name_count == 0 && resource != NULL) {
        if (cli_check_name(resource, "name in PAWL_RESOURCE") != 0)
            return false;
        grant->names[grant->name_count++] = resource;
    }
    if (grant->lock_id == NULL)
        grant->lock_id = getenv("PAWL_LOCK_ID");
    if (grant->token == NULL)
        grant->token = getenv("PAWL_TOKEN");
    if (grant->name_count == 0)
        (void)cli_say("the lock name is missing, and PAWL_RESOURCE is not set");
    else if (grant->lock_id == NULL)
        (void)cli_say("--lock-id is missing, and PAWL_LOCK_ID is not set");
    else if (needs_token && grant->token == NULL)
        (void)cli_say("--token is missing, and PAWL_TOKEN is not set");
    else
        return true;
    return false;
}
