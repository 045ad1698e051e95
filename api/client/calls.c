/* Calls about a lock that is held: extend, release and break. */
#include "api/client/client.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

int client_ask_until(pawl_client *client, struct client_request *request, int64_t until_ms,
                     struct client_answer *ret_answer)
{
    assert(request->path[0] == '/');
    struct client_patience patience = client_patience(until_ms);
    for (;;) {
        struct client_answer answer = {.json = NULL};
        request->timeout_ms = until_ms - pawl_now_ms();
        if (request->timeout_ms > client_attempt_ms(client))
            request->timeout_ms = client_attempt_ms(client);
        int error = client_ask(client, request, &answer);
        if (error == 0 && (answer.status >= 300 || client_is_foreign(&answer)))
            error = client_problem(client, &answer);
        if (error == 0) {
            *ret_answer = answer;
            return 0;
        }
        client_answer_free(&answer);
        if (!client_may_repeat(error) || !client_pause(&patience) || pawl_now_ms() >= until_ms ||
            pawl_now_ms() >= atomic_load(&client->give_up_ms))
            return error;
    }
}

/* ---- extend ---------------------------------------------------------------------------------- */

/* PAWL_ELOST: the validity of @lock has ended. No answer can restore it: the holder was told that
 * it ended. A resumed lock has no deadline until it is extended. */
static int check_validity(pawl_client *client, const pawl_lock *lock)
{
    const int64_t deadline_ms = pawl_lock_deadline_ms(lock);
    if (deadline_ms == 0 || deadline_ms > pawl_now_ms())
        return 0;
    client_say(client,
               "the validity of the lock has ended: stop the work, and acquire the lock again");
    return PAWL_ELOST;
}

static int take_extension(pawl_client *client, pawl_lock *lock, size_t index, int64_t asked_ms,
                          const struct client_answer *answer)
{
    assert(index < lock->count && answer->status < 300);
    const bool is_new = answer->status == 201;
    const int64_t most_ms = asked_ms > 0 ? asked_ms : CLIENT_TTL_MOST_MS;
    const int64_t deadline_ms = client_deadline(answer, most_ms);
    const int64_t token = is_new ? client_token(answer->json, "token") : 0;
    const int64_t ttl_ms = lock->ttl_ms > 0 ? lock->ttl_ms : client_ttl(answer->json, asked_ms);
    const bool is_token = !is_new || (token > 0 && token >= pawl_lock_token(lock, index));
    if (!client_is_about(answer, lock->lock_id, lock->names[index].name))
        return client_say_other(client);
    if (deadline_ms < 0 || ttl_ms == 0 || !is_token) {
        client_say(client, "%s extended a lock without a valid validity or token",
                   client->server[client->current]);
        return PAWL_EPROTOCOL;
    }
    const int error = check_validity(client, lock);
    if (error < 0)
        return error;
    lock->ttl_ms = ttl_ms; /* at first the fleet's default */
    client_lock_set(lock, index, token, deadline_ms);
    return is_new ? PAWL_NEW_GRANT : 0;
}

static int extend_name(pawl_client *client, pawl_lock *lock, size_t index, int64_t ttl_ms,
                       int64_t until_ms)
{
    assert(index < lock->count && ttl_ms >= 0);
    char path[CLIENT_PATH_MAX];
    char body[64] = "{}";
    int error = client_path(client, "/v1/locks/", lock->names[index].name, path);
    if (error < 0)
        return error;
    if (ttl_ms > 0)
        (void)snprintf(body, sizeof(body), "{\"ttl_ms\": %lld}", (long long)ttl_ms);
    struct client_request request = {.method = "PATCH",
                                     .path = path,
                                     .body = body,
                                     .lock_id = lock->lock_id,
                                     .token = pawl_lock_token(lock, index)};
    struct client_answer answer = {.json = NULL};
    error = client_ask_until(client, &request, until_ms, &answer);
    if (error < 0)
        return error;
    error = take_extension(client, lock, index, ttl_ms, &answer);
    client_answer_free(&answer);
    return error;
}

/* Extends name @index, for which @group may already have the answer. */
static int extend_one(pawl_client *client, pawl_lock *lock, size_t index, int64_t ttl_ms,
                      int64_t until_ms, const struct client_group *group)
{
    struct client_answer answer;
    const int error = client_group_answer(group, index, &answer)
                          ? take_extension(client, lock, index, ttl_ms, &answer)
                          : extend_name(client, lock, index, ttl_ms, until_ms);
    if (error == PAWL_ELOST) {
        client_held_forget(client->held, lock->lock_id, NULL);
        client_lock_lose(lock);
    }
    if (error < 0)
        client_about(client, "extend", lock->names[index].name, 1);
    else
        lock->new_grant |= error == PAWL_NEW_GRANT;
    return error < 0 ? error : 0;
}

int client_extend(pawl_client *client, pawl_lock *lock, int64_t ttl_ms, int64_t until_ms)
{
    const int64_t asked_ms = ttl_ms > 0 ? ttl_ms : lock->ttl_ms;
    struct client_group group = client_group_ask(client, lock, true, asked_ms, until_ms);
    int error = 0;
    for (size_t i = 0; i < lock->count && error == 0; i++)
        error = extend_one(client, lock, i, asked_ms, until_ms, &group);
    client_group_free(&group);
    if (error < 0)
        return error;
    const bool new_grant = lock->new_grant;
    lock->new_grant = false;
    return new_grant ? PAWL_NEW_GRANT : 0;
}

int pawl_extend(pawl_client *client, pawl_lock *lock, int64_t ttl_ms)
{
    if (ttl_ms < 0) {
        client_say(client, "a time must not be negative");
        return PAWL_EINVAL;
    }
    int error = client_check_lock(client, lock);
    if (error == 0)
        error = check_validity(client, lock);
    if (error < 0)
        return error;
    const int64_t deadline_ms = pawl_lock_deadline_ms(lock);
    const int64_t until_ms = pawl_now_ms() + client->call_timeout_ms;
    const bool ends_before = deadline_ms > 0 && deadline_ms < until_ms;
    error = client_extend(client, lock, ttl_ms, ends_before ? deadline_ms : until_ms);
    return error == PAWL_EUNAVAILABLE && check_validity(client, lock) < 0 ? PAWL_ELOST : error;
}

/* ---- release --------------------------------------------------------------------------------- */

static bool was_released(const struct client_answer *answer)
{
    return json_is_true(json_object_get(answer->json, "released"));
}

/* "/v1/locks/" and the name, with the query of a release that keeps the name closed. */
static int release_path(pawl_client *client, const char *name, int64_t keep_ms,
                        char ret_path[static CLIENT_PATH_MAX])
{
    const int error = client_path(client, "/v1/locks/", name, ret_path);
    const size_t len = error < 0 ? 0 : strlen(ret_path);
    if (error == 0 && keep_ms > 0)
        (void)snprintf(ret_path + len, CLIENT_PATH_MAX - len, "?keep_ms=%lld", (long long)keep_ms);
    return error;
}

static int release_name(pawl_client *client, pawl_lock *lock, size_t index, int64_t keep_ms,
                        int64_t until_ms, bool *ret_released)
{
    assert(index < lock->count);
    char path[CLIENT_PATH_MAX];
    int error = release_path(client, lock->names[index].name, keep_ms, path);
    if (error < 0)
        return error;
    struct client_request request = {.method = "DELETE", .path = path, .lock_id = lock->lock_id};
    struct client_answer answer = {.json = NULL};
    error = client_ask_until(client, &request, until_ms, &answer);
    if (error < 0) {
        client_about(client, "release", lock->names[index].name, 1);
        return error;
    }
    *ret_released = was_released(&answer);
    client_answer_free(&answer);
    return 0;
}

/* Returns when a release may stop retrying: after the lease it is not needed. */
static int64_t end_of_release(const pawl_client *client, const pawl_lock *lock, int64_t now_ms)
{
    const int64_t until_ms = now_ms + client->call_timeout_ms;
    const int64_t deadline_ms = pawl_lock_deadline_ms(lock);
    if (deadline_ms == 0 || lock->is_released) /* not known */
        return until_ms;
    const int64_t late_ms = (deadline_ms > now_ms ? deadline_ms : now_ms) + CLIENT_LATE_MS;
    return late_ms < until_ms ? late_ms : until_ms;
}

int pawl_release(pawl_client *client, pawl_lock *lock, bool *ret_released)
{
    return pawl_release_and_keep(client, lock, 0, ret_released);
}

int pawl_release_and_keep(pawl_client *client, pawl_lock *lock, int64_t keep_ms, bool *ret_released)
{
    int result = client_check_lock(client, lock);
    if (result < 0)
        return result;
    if (keep_ms < 0 || keep_ms > CLIENT_KEEP_MAX_MS) {
        client_say(client, "keep_ms must be 0 to %d", CLIENT_KEEP_MAX_MS);
        return PAWL_EINVAL;
    }
    const int64_t now_ms = pawl_now_ms();
    const int64_t until_ms = end_of_release(client, lock, now_ms);
    bool all = true;
    lock->is_released = true;
    client_held_forget(client->held, lock->lock_id, NULL);
    for (size_t i = 0; i < lock->count; i++)
        client_lock_set(lock, i, 0, now_ms);
    struct client_group group = client_group_ask(client, lock, false, keep_ms, until_ms);
    for (size_t i = 0; i < lock->count; i++) {
        struct client_answer answer;
        bool released = false;
        int error = 0;
        if (client_group_answer(&group, i, &answer))
            released = was_released(&answer);
        else
            error = release_name(client, lock, i, keep_ms, until_ms, &released);
        if (error < 0)
            result = error;
        all &= released;
    }
    client_group_free(&group);
    if (result == 0 && ret_released != NULL)
        *ret_released = all;
    return result;
}

/* ---- break ----------------------------------------------------------------------------------- */

int pawl_break(pawl_client *client, const char *name, int64_t token, bool *ret_broken)
{
    static const char force[] = "?force=true";
    char path[CLIENT_PATH_MAX];
    if (token < 1 || token > CLIENT_TOKEN_MAX) {
        client_say(client, "a token must be 1 to %lld", (long long)CLIENT_TOKEN_MAX);
        return PAWL_EINVAL;
    }
    int error = client_path(client, "/v1/locks/", name, path);
    if (error < 0)
        return error;
    const size_t len = strlen(path);
    if (len + sizeof(force) > sizeof(path))
        return PAWL_EINVAL;
    memcpy(path + len, force, sizeof(force));
    struct client_request request = {.method = "DELETE", .path = path, .if_match = token};
    struct client_answer answer = {.json = NULL};
    error = client_ask_until(client, &request, pawl_now_ms() + client->call_timeout_ms, &answer);
    if (error < 0) {
        client_about(client, "break", name, 1);
        return error;
    }
    client_held_forget(client->held, NULL, name);
    if (ret_broken != NULL)
        *ret_broken = json_is_true(json_object_get(answer.json, "released"));
    client_answer_free(&answer);
    return 0;
}
