#include "api/v1/group.h"

#include "api/auth/auth.h"
#include "api/http/batch.h"
#include "api/http/input.h"
#include "api/http/problem_answer.h"
#include "api/json/writer.h"
#include "fence/protocol/limits.h"
#include "fence/protocol/name.h"
#include "fence/protocol/seat.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum {
    TTL_BODY_MAX = 32, /* bytes of {"ttl_ms":...}, terminated */
};

/* The locks of one holder, as the body names them. */
struct held_locks {
    struct api_json_strings resources;
    struct api_json_integers tokens;
    unsigned names;
    unsigned numbers;
    char name[API_BATCH_MAX][FENCE_RESOURCE_MAX + 1];
    int64_t token[API_BATCH_MAX];
};

static struct held_locks *of_tokens(struct api_json_integers *tokens)
{
    return (struct held_locks *)((char *)tokens - offsetof(struct held_locks, tokens));
}

static int take_held_name(struct api_json_strings *resources, const char *text, size_t len,
                          char ret_error[static API_JSON_ERROR_MAX])
{
    struct held_locks *held = (struct held_locks *)resources;
    assert(held->names < API_BATCH_MAX);
    if (!fence_lock_name_valid(text, len)) {
        (void)snprintf(ret_error, API_JSON_ERROR_MAX,
                       "Item %u of resources must be " API_RESOURCE_RULE, held->names + 1,
                       FENCE_RESOURCE_MAX);
        return FENCE_EINVAL;
    }
    memcpy(held->name[held->names++], text, len + 1);
    return 0;
}

static int take_held_token(struct api_json_integers *tokens, int64_t number,
                           char ret_error[static API_JSON_ERROR_MAX])
{
    struct held_locks *held = of_tokens(tokens);
    assert(held->numbers < API_BATCH_MAX);
    if (number < 1 || number > FENCE_TOKEN_MAX) {
        (void)snprintf(ret_error, API_JSON_ERROR_MAX,
                       "Item %u of 'tokens' must be the token of the same item of 'resources'.",
                       held->numbers + 1);
        return FENCE_EINVAL;
    }
    held->token[held->numbers++] = number;
    return 0;
}

/* Reads the locks. @time_ms: for an extension the TTL, for a release how long it keeps the names
 * closed. A release ignores tokens, as for one lock. FENCE_EINVAL: answered. */
static int read_locks(struct api_request *request, bool extends, struct held_locks *held,
                      int64_t *time_ms)
{
    *held = (struct held_locks){.resources.take = take_held_name, .tokens.take = take_held_token};
    const struct api_json_member members[] = {
        {"resources", API_JSON_STRINGS, .required = true, .min = 1, .max = API_BATCH_MAX,
         .strings = &held->resources},
        {"tokens", API_JSON_INTEGERS, .required = extends, .min = 1, .max = API_BATCH_MAX,
         .integers = &held->tokens},
        {extends ? "ttl_ms" : "keep_ms", API_JSON_INTEGER, .min = extends ? FENCE_TTL_MIN_MS : 0,
         .max = FENCE_TTL_CEILING_MS, .integer = time_ms},
    };
    int result = api_input_body(request, members, sizeof(members) / sizeof(members[0]));
    for (unsigned k = 0; k < held->names && result == 0; k++)
        result = api_auth_require(request, API_RIGHT_LOCK, held->name[k]);
    if (result != 0 || (held->numbers == 0 && !extends) || held->numbers == held->names)
        return result;
    api_problem_answer_detail(request, API_PROBLEM_INVALID,
                              "resources has %u items, and tokens has %u items. Give the token of "
                              "each resource, in the same order.",
                              held->names, held->numbers);
    return FENCE_EINVAL;
}

void api_lock_path(const char *lock, char ret_path[static API_LOCK_PATH_MAX + 1])
{
    const int plain = (int)strcspn(lock, "#");
    const char *seat = lock + plain;
    (void)snprintf(ret_path, API_LOCK_PATH_MAX + 1, "/v1/locks/%.*s%s%s", plain, lock,
                   *seat != '\0' ? "%23" : "", *seat != '\0' ? seat + 1 : "");
}

static bool is_of_seats(const char *lock)
{
    return strchr(lock, '#') != NULL;
}

/* Reports whether both are seats, or the gate, of the same name. */
static bool are_of_one(const char *lock, const char *other)
{
    const size_t len = strcspn(lock, "#") + 1;
    return is_of_seats(lock) && strncmp(lock, other, len) == 0;
}

static bool names(const struct held_locks *held, const char *lock)
{
    for (unsigned k = 0; k < held->names; k++)
        if (strcmp(held->name[k], lock) == 0)
            return true;
    return false;
}

/* Reports whether the call names the gate and each of the @readers seats of the name of @lock. */
static bool names_whole_writer(const struct held_locks *held, const char *lock, unsigned readers)
{
    char other[FENCE_RESOURCE_MAX + 1];
    if (!is_of_seats(lock) || readers == 0)
        return false;
    memcpy(other, lock, strlen(lock) + 1);
    fence_gate_write(other);
    bool all = names(held, other);
    for (unsigned seat = 0; seat < readers && all; seat++) {
        fence_seat_write(other, seat);
        all = names(held, other);
    }
    return all;
}

/* Adds the calls. @alike: the members that all calls share. FENCE_ENOMEM. */
static int add_calls(struct api_batch *batch, const struct held_locks *held,
                     const struct api_batch_call *alike, unsigned readers)
{
    int result = 0;
    bool whole = false;
    for (unsigned k = 0; k < held->names && result == 0; k++) {
        char path[API_LOCK_PATH_MAX + 1];
        char token[API_DIGITS_MAX];
        api_lock_path(held->name[k], path);
        const bool has_token = held->numbers > 0;
        if (has_token)
            (void)api_digits(held->token[k], token);
        struct api_batch_call call = *alike;
        call.path = path;
        call.token = has_token ? token : NULL;
        if (k == 0 || !are_of_one(held->name[k], held->name[k - 1]))
            whole = names_whole_writer(held, held->name[k], readers);
        call.covers = whole;
        result = api_batch_add(batch, &call);
    }
    return result;
}

static void run_calls(struct api_request *request, const struct api_backend *backend,
                      const struct held_locks *held, const struct api_batch_call *alike)
{
    struct api_batch *batch = NULL;
    if (api_batch_new(request, &batch) == 0 &&
        add_calls(batch, held, alike, backend->fleet->readers) == 0) {
        api_batch_run(batch);
        return;
    }
    api_batch_free(batch);
    api_problem_answer(request, API_PROBLEM_NO_MEMORY);
}

static void extend_several(struct api_request *request, void *context)
{
    struct held_locks held;
    const char *lock_id = NULL;
    char body[TTL_BODY_MAX] = "";
    int64_t ttl_ms = 0;
    if (api_input_lock_id(request, &lock_id) != 0 || read_locks(request, true, &held, &ttl_ms) != 0)
        return;
    if (ttl_ms != 0)
        (void)snprintf(body, sizeof(body), "{\"ttl_ms\":%lld}", (long long)ttl_ms);
    run_calls(request, context, &held,
              &(struct api_batch_call){
                  .method = "PATCH", .lock_id = lock_id, .body = ttl_ms != 0 ? body : NULL});
}

static void release_several(struct api_request *request, void *context)
{
    struct held_locks held;
    const char *lock_id = NULL;
    char keep[API_DIGITS_MAX];
    int64_t keep_ms = 0;
    if (api_input_lock_id(request, &lock_id) != 0 ||
        read_locks(request, false, &held, &keep_ms) != 0)
        return;
    (void)api_digits(keep_ms, keep);
    run_calls(request, context, &held,
              &(struct api_batch_call){
                  .method = "DELETE", .lock_id = lock_id, .keep_ms = keep_ms > 0 ? keep : NULL});
}

struct api_routes api_group_routes(struct api_backend *backend)
{
    static const struct api_route routes[] = {
        {API_PATCH, "/v1/locks", extend_several, API_TAKES_BODY, API_RIGHT_LOCK, "extend_several",
         API_COSTLY_EVEN_LEFT},
        {API_DELETE, "/v1/locks", release_several, API_TAKES_BODY, API_RIGHT_LOCK,
         "release_several", API_COSTLY_EVEN_LEFT},
    };
    return (struct api_routes){routes, sizeof(routes) / sizeof(routes[0]), backend};
}
