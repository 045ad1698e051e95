/* Counters, and what a server shows of itself. */
#include "api/client/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int pawl_counter_next(pawl_client *client, const char *name, int64_t count, int64_t *ret_last)
{
    char path[CLIENT_PATH_MAX];
    char body[64];
    int error = client_path(client, "/v1/counters/", name, path);
    if (error < 0)
        return error;
    (void)snprintf(body, sizeof(body), "{\"count\": %lld}", (long long)count);
    struct client_request request = {.method = "POST", .path = path, .body = body};
    struct client_answer answer = {.json = NULL};
    error = client_ask_until(client, &request, pawl_now_ms() + client->call_timeout_ms, &answer);
    if (error < 0) {
        client_about(client, "count", name, 1);
        return error;
    }
    const int64_t last = client_token(answer.json, "value");
    const bool is_named = client_is_named(answer.json, "name", name);
    client_answer_free(&answer);
    if (!is_named)
        return client_say_other(client);
    if (last < count) {
        client_say(client, "%s returned no valid value of the counter",
                   client->server[client->current]);
        return PAWL_EPROTOCOL;
    }
    *ret_last = last;
    return 0;
}

int pawl_get(pawl_client *client, const char *path, const char *name, char **ret_json)
{
    char whole[CLIENT_PATH_MAX];
    int error = 0;
    if (strnlen(path, CLIENT_PATH_MAX / 2) == CLIENT_PATH_MAX / 2) {
        client_say(client, "a path has at most %d bytes", CLIENT_PATH_MAX / 2 - 1);
        return PAWL_EINVAL;
    }
    (void)snprintf(whole, sizeof(whole), "%s", path);
    if (name != NULL && name[0] != '\0')
        error = client_path(client, path, name, whole);
    if (error < 0)
        return error;
    struct client_request request = {.method = "GET", .path = whole};
    struct client_answer answer = {.json = NULL};
    error = client_ask_until(client, &request, pawl_now_ms() + client->call_timeout_ms, &answer);
    if (error < 0)
        return error;
    char *text = answer.json != NULL ? json_dumps(answer.json, JSON_COMPACT) : NULL;
    const bool is_named = name == NULL || (client_is_named(answer.json, "resource", name) &&
                                           client_is_named(answer.json, "name", name));
    if (text != NULL && !is_named) {
        error = client_say_other(client);
        free(text);
    } else if (text == NULL) {
        client_say(client, "%s returned invalid JSON", client->server[client->current]);
        error = PAWL_EPROTOCOL;
    }
    client_answer_free(&answer);
    if (error == 0)
        *ret_json = text;
    return error;
}
