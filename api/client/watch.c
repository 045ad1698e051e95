/* A watch: looks at a lock. Each look waits at a pawld, until one finds a state other than the
 * caller's. */
#include "api/client/client.h"

#include <stdio.h>
#include <string.h>

enum {
    WATCH_STEP_MS = 50000, /* the longest wait of a look. Proxies cut after 60 s, commonly */
    QUERY_MAX = 64,        /* bytes, terminated */
};

struct watching {
    const char *name;
    const char *path;
    struct client_wait wait;
    bool told; /* the next look waits: it is known which server answers */
};

static int write_path(pawl_client *client, const struct watching *watching,
                      const struct pawl_state *state, int64_t wait_ms,
                      char ret_path[static CLIENT_PATH_MAX])
{
    char query[QUERY_MAX] = "";
    if (state->known && state->held)
        (void)snprintf(query, sizeof(query), "?unless=%lld&wait_ms=%lld", (long long)state->token,
                       (long long)wait_ms);
    else if (state->known)
        (void)snprintf(query, sizeof(query), "?unless=free&wait_ms=%lld", (long long)wait_ms);
    if (strlen(watching->path) + strlen(query) >= CLIENT_PATH_MAX) {
        client_say(client, "the name is too long");
        return PAWL_EINVAL;
    }
    (void)stpcpy(stpcpy(ret_path, watching->path), query);
    return 0;
}

/* Reads the lock @name from @json. The state is unknown if the masters differ on the holder's
 * token: a grant is under way, or ended halfway. PAWL_EPROTOCOL. */
static int read_state(pawl_client *client, const char *name, const json_t *json,
                      struct pawl_state *ret_state)
{
    const json_t *held = json_object_get(json, "held");
    const json_t *token = json_object_get(json, "token");
    const char *owner = client_text(json, "owner");
    struct pawl_state state = {.known = true, .held = json_is_true(held)};
    if (state.held && json_is_null(token))
        state.known = false;
    else if (state.held)
        state.token = client_token(json, "token");
    if (!json_is_boolean(held) || (state.held && state.known && state.token == 0)) {
        client_say(client, "%s reported a lock without a valid holder or token",
                   client->server[client->current]);
        return PAWL_EPROTOCOL;
    }
    if (!client_is_named(json, "resource", name))
        return client_say_other(client);
    if (state.held && owner != NULL)
        (void)client_plain(owner, strlen(owner), state.owner, sizeof(state.owner));
    *ret_state = state;
    return 0;
}

/* Looks once. 0: *@state is new. */
static int look_once(pawl_client *client, struct watching *watching, struct pawl_state *state)
{
    const bool waits = state->known && watching->told;
    const int64_t wait_ms = waits ? client_wait_left_ms(&watching->wait, WATCH_STEP_MS) : 0;
    char path[CLIENT_PATH_MAX];
    int error = write_path(client, watching, state, wait_ms, path);
    if (error < 0)
        return error;
    struct client_answer answer = {.json = NULL};
    struct client_request request = {.method = "GET", .path = path};
    struct pawl_state seen = {.known = false};
    error = client_wait_ask(client, &watching->wait, &request, wait_ms, &answer);
    if (error < 0)
        return error;
    if (answer.status == 200 && !client_is_foreign(&answer))
        error = read_state(client, watching->name, answer.json, &seen);
    else
        error = client_wait_problem(client, &watching->wait, &answer);
    client_answer_free(&answer);
    if (error < 0)
        return error;
    watching->wait.answered = watching->told = true;
    if (!seen.known || (state->known && seen.held == state->held && seen.token == state->token))
        return PAWL_UNCHANGED;
    *state = seen;
    return 0;
}

/* If a server answers sooner than it should, and without a change, the next look follows after a
 * pause, as after a failure. */
static int looks(pawl_client *client, struct watching *watching, struct pawl_state *state)
{
    for (;;) {
        const bool told = watching->told;
        const int error = look_once(client, watching, state);
        if (error != 0 && atomic_load(&client->cancelled)) {
            client_say(client, "the watch was cancelled");
            return PAWL_ECANCELLED;
        }
        if (error == 0 || (error < 0 && !client_may_repeat(error)))
            return error;
        if (error == PAWL_UNCHANGED && pawl_now_ms() >= watching->wait.until_ms)
            return error;
        if (error == PAWL_UNCHANGED && state->known && !told)
            continue; /* this look did not wait: the next one does */
        if (!client_wait_goes_on(&watching->wait))
            return error;
    }
}

int pawl_watch(pawl_client *client, const char *name, int64_t wait_ms, struct pawl_state *state)
{
    char path[CLIENT_PATH_MAX];
    int error = client_check_owner(client);
    if (error == 0)
        error = client_path(client, "/v1/locks/", name, path);
    if (error == 0)
        error = client_wait_check(client, wait_ms);
    if (error < 0)
        return error;
    if (state->known && state->held != (state->token > 0)) {
        client_say(client, "the state was not written by pawl_watch()");
        return PAWL_EINVAL;
    }
    struct watching watching = {
        .name = name,
        .path = path,
        .wait = client_wait(client, wait_ms),
        .told = client->server_count == 1,
    };
    watching.wait.answered = state->known;
    atomic_store(&client->cancelled, false);
    error = looks(client, &watching, state);
    if (error < 0)
        client_about(client, "watch", name, 1);
    return error;
}
