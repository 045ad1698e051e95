/* Reads answers and refuses senseless ones. A token that no pawld gives is no grant, nor is a
 * validity that is longer than the lease in the request. All clients in api/client refuse the same
 * answers. */
#include "api/client/client.h"

#include <stdlib.h>
#include <string.h>

enum {
    ESCAPED_LEN = 4,        /* bytes that one may become; see client_plain() */
    SERVED_SLACK_MS = 1000, /* two clocks, and their steps */
};

/* ---- text ------------------------------------------------------------------------------------ */

static bool make_plain(json_t *json);

static bool make_string_plain(json_t *json)
{
    const char *text = json_string_value(json);
    const size_t len = json_string_length(json);
    if (client_is_plain(text, len))
        return true;
    const size_t size = len * ESCAPED_LEN + 1;
    char *plain = malloc(size);
    if (plain == NULL)
        return false;
    (void)client_plain(text, len, plain, size);
    const bool set = json_string_set(json, plain) == 0;
    free(plain);
    return set;
}

static bool make_members_plain(json_t *json)
{
    const char *name;
    json_t *value;
    json_object_foreach(json, name, value) if (!client_is_plain(name, strlen(name)) ||
                                               !make_plain(value)) return false;
    return true;
}

static bool make_items_plain(json_t *json)
{
    for (size_t i = 0; i < json_array_size(json); i++)
        if (!make_plain(json_array_get(json, i)))
            return false;
    return true;
}

/* jansson has already refused deep answers (JSON_PARSER_MAX_DEPTH). */
/* NOLINTNEXTLINE(misc-no-recursion) */
static bool make_plain(json_t *json)
{
    if (json_is_string(json))
        return make_string_plain(json);
    if (json_is_array(json))
        return make_items_plain(json);
    return !json_is_object(json) || make_members_plain(json);
}

/* jansson leaves out a NUL that is behind a number. */
json_t *client_parse(const char *text, size_t len)
{
    json_t *json = memchr(text, '\0', len) == NULL ? json_loadb(text, len, 0, NULL) : NULL;
    if (json != NULL && make_plain(json))
        return json;
    json_decref(json);
    return NULL;
}

/* ---- numbers --------------------------------------------------------------------------------- */

int64_t client_integer(const json_t *json, const char *name)
{
    const json_t *value = json_object_get(json, name);
    return json_is_integer(value) ? json_integer_value(value) : -1;
}

const char *client_text(const json_t *json, const char *name)
{
    return json_string_value(json_object_get(json, name));
}

int64_t client_token(const json_t *json, const char *name)
{
    const int64_t token = client_integer(json, name);
    return token >= 1 && token <= CLIENT_TOKEN_MAX ? token : 0;
}

int64_t client_ttl(const json_t *json, int64_t asked_ms)
{
    const int64_t ttl_ms = client_integer(json, "ttl_ms");
    return ttl_ms >= 1 && ttl_ms <= (asked_ms > 0 ? asked_ms : CLIENT_TTL_MOST_MS) ? ttl_ms : 0;
}

bool client_is_named(const json_t *json, const char *member, const char *name)
{
    const char *value = client_text(json, member);
    return value != NULL ? strcmp(value, name) == 0 : json_object_get(json, member) == NULL;
}

bool client_is_about(const struct client_answer *answer, const char *lock_id, const char *name)
{
    return client_is_named(answer->json, "lock_id", lock_id) &&
           client_is_named(answer->json, "resource", name);
}

int client_say_other(pawl_client *client)
{
    client_say(client,
               "the answer of %s is for another lock: a gateway may have mixed up the answers of "
               "its callers",
               client->server[client->current]);
    return PAWL_EPROTOCOL;
}

int64_t client_deadline(const struct client_answer *answer, int64_t ttl_ms)
{
    const int64_t validity_ms = client_integer(answer->json, "validity_ms");
    const int64_t served_ms = client_integer(answer->json, "served_ms");
    const int64_t took_ms = answer->came_ms - answer->sent_ms;
    if (validity_ms < 0 || validity_ms > ttl_ms || served_ms < 0 ||
        served_ms > took_ms + SERVED_SLACK_MS)
        return -1;
    return answer->sent_ms + (served_ms < took_ms ? served_ms : took_ms) + validity_ms;
}
