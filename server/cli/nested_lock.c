#include "server/cli/nested_lock.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Asks a server: the environment may be older than the lock's end. */
static bool is_held_under(pawl_client *client, const char *name, json_int_t token)
{
    char *text = NULL;
    if (pawl_get(client, "/v1/locks/", name, &text) < 0)
        return false;
    json_t *lock = json_loads(text, 0, NULL);
    const bool is = json_is_true(json_object_get(lock, "held")) &&
                    json_integer_value(json_object_get(lock, "token")) == token;
    json_decref(lock);
    free(text);
    return is;
}

/* Reports whether this program calls the same servers. It may call another fleet. */
static bool asks_same_servers(const struct cli_globals *globals)
{
    const char *servers = getenv("PAWL_SERVER");
    return globals->server_count == 0 ||
           (servers != NULL && strstr(servers, globals->servers[0]) != NULL);
}

int cli_own_check(const struct cli_globals *globals, pawl_client *client, const char *const *names,
                  size_t name_count)
{
    assert(name_count >= 1 && name_count <= PAWL_NAMES_MAX);
    const char *text = getenv("PAWL_TOKENS");
    if (text == NULL || !asks_same_servers(globals))
        return CLI_EXIT_DONE;
    int code = CLI_EXIT_DONE;
    json_t *tokens = json_loads(text, 0, NULL);
    for (size_t i = 0; i < name_count && code == CLI_EXIT_DONE; i++) {
        const json_t *token = json_object_get(tokens, names[i]);
        if (json_is_integer(token) && is_held_under(client, names[i], json_integer_value(token)))
            code = cli_say(
                "the pawl lock that started this command holds %s, so this command would wait for "
                "itself: run the command outside of that pawl lock, or limit the wait (--wait)",
                names[i]);
    }
    json_decref(tokens);
    return code;
}
