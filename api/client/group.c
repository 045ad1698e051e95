/* A lock of several names: one request extends or releases all names. If the answer for a name is
 * no success, a separate request for that name follows. If a server does not know the request, each
 * name gets a separate request. */
#include "api/client/client.h"

#include <stdlib.h>

enum {
    STATUS_NOT_FOUND = 404,
    STATUS_NO_METHOD = 405, /* a pawld that is older than the request */
};

static json_t *group_body(const pawl_lock *lock, int64_t time_ms, bool extends)
{
    json_t *body = json_object();
    json_t *names = json_array();
    json_t *tokens = json_array();
    for (size_t i = 0; i < lock->count; i++) {
        (void)json_array_append_new(names, json_string(lock->names[i].name));
        (void)json_array_append_new(tokens, json_integer(pawl_lock_token(lock, i)));
    }
    (void)json_object_set_new(body, "resources", names);
    if (extends)
        (void)json_object_set(body, "tokens", tokens);
    json_decref(tokens);
    if (time_ms > 0)
        (void)json_object_set_new(body, extends ? "ttl_ms" : "keep_ms", json_integer(time_ms));
    return body;
}

/* An extension needs the token of each name. A resumed lock may lack one. */
static bool may_ask_at_once(const pawl_client *client, const pawl_lock *lock, bool extends)
{
    bool may = lock->count > 1 && !client->asks_one_by_one;
    for (size_t i = 0; i < lock->count && extends; i++)
        may &= pawl_lock_token(lock, i) > 0;
    return may;
}

struct client_group client_group_ask(pawl_client *client, const pawl_lock *lock, bool extends,
                                     int64_t time_ms, int64_t until_ms)
{
    struct client_group group = {.answer.json = NULL};
    if (!may_ask_at_once(client, lock, extends))
        return group;
    json_t *body = group_body(lock, time_ms, extends);
    const int64_t left_ms = until_ms - pawl_now_ms();
    const int64_t attempt_ms = client_attempt_ms(client);
    const struct client_request request = {
        .method = extends ? "PATCH" : "DELETE",
        .path = "/v1/locks",
        .body = json_dumps(body, JSON_COMPACT),
        .lock_id = lock->lock_id,
        .timeout_ms = left_ms < attempt_ms ? left_ms : attempt_ms,
    };
    json_decref(body);
    if (request.body != NULL && client_ask(client, &request, &group.answer) == 0) {
        const long status = group.answer.status;
        const bool is_foreign = client_is_foreign(&group.answer); /* a gateway knows no pawld */
        client->asks_one_by_one =
            !is_foreign && (status == STATUS_NOT_FOUND || status == STATUS_NO_METHOD);
        if (status == 200 && !is_foreign)
            group.responses = json_object_get(group.answer.json, "responses");
        if (json_array_size(group.responses) != lock->count)
            group.responses = NULL;
    }
    free(request.body);
    return group;
}

bool client_group_answer(const struct client_group *group, size_t index,
                         struct client_answer *ret_answer)
{
    const json_t *response = json_array_get(group->responses, index);
    const int64_t status = client_integer(response, "status");
    const json_t *body = json_object_get(response, "body");
    if ((status != 200 && status != 201) || !json_is_object(body))
        return false;
    *ret_answer = group->answer;
    ret_answer->status = (long)status;
    ret_answer->json = (json_t *)(uintptr_t)body;
    return true;
}

void client_group_free(struct client_group *group)
{
    client_answer_free(&group->answer);
    group->responses = NULL;
}
