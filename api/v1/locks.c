#include "api/v1/locks.h"

#include "api/auth/auth.h"
#include "api/http/input.h"
#include "api/http/problem_answer.h"
#include "api/v1/acquire.h"
#include "api/v1/inspect.h"
#include "api/v1/rwlocks.h"
#include "api/v1/ttl.h"
#include "fence/protocol/seat.h"

#include <string.h>

enum {
    FORCE_MAX = 16, /* bytes of the query's "force" that are looked at */
};

static void extend(struct api_request *request, void *context)
{
    const struct api_backend *backend = context;
    struct fence_call call = {
        .kind = FENCE_CALL_EXTEND,
        .client = api_request_client(request),
        .owner = "",
    };
    if (api_input_lock(request, 0, &call.resource) != 0 ||
        api_input_lock_id(request, &call.lock_id) != 0)
        return;

    int result = api_input_token(request, &call.token);
    if (result == FENCE_ENOENT)
        api_problem_answer_detail(request, API_PROBLEM_INVALID,
                                  "Send the token of the grant in the Fencing-Token header.");
    if (result != 0)
        return;

    int64_t ttl_ms = api_ttl_default_ms(backend);
    const struct api_json_member member = api_ttl_member(backend, &ttl_ms);
    if (api_input_body(request, &member, 1) != 0)
        return;
    call.ttl_ms = (uint32_t)ttl_ms;
    backend->call(backend->context, &call);
}

/* A release must not have a condition on the token: such a request is rejected, and nothing is
 * released, because the condition may not hold. */
static bool refuse_condition(struct api_request *request)
{
    if (api_request_header(request, API_HEADER_IF_MATCH) == NULL)
        return false;
    api_problem_answer_detail(request, API_PROBLEM_INVALID,
                              "If-Match is only for a break (?force=true). To release your own "
                              "lock, send its Lock-Id without If-Match.");
    return true;
}

/* Checks an optional token: a release accepts one, as extensions need one. Only the lock id
 * identifies the grant. FENCE_EINVAL: malformed, answered. */
static int check_token(struct api_request *request)
{
    int64_t token = 0;
    const int result = api_input_token(request, &token);
    return result == FENCE_ENOENT ? 0 : result;
}

static void release(struct api_request *request, const struct api_backend *backend,
                    uint32_t keep_ms)
{
    struct fence_call call = {
        .kind = FENCE_CALL_RELEASE,
        .client = api_request_client(request),
        .owner = "",
        .keep_ms = keep_ms,
        .covers = api_request_covers(request),
    };
    if (api_input_lock(request, 0, &call.resource) != 0 || refuse_condition(request) ||
        api_input_lock_id(request, &call.lock_id) != 0 || check_token(request) != 0)
        return;
    backend->call(backend->context, &call);
}

/* Breaks a grant. The route admits holders, but a break requires an admin. A gate stands for its
 * writer. */
static void break_grant(struct api_request *request, const struct api_backend *backend)
{
    struct fence_call call = {
        .kind = FENCE_CALL_BREAK,
        .client = api_request_client(request),
        .lock_id = "",
        .owner = api_request_caller(request),
        .covers = api_request_is_part(request),
    };
    if (api_input_lock(request, 0, &call.resource) != 0)
        return;
    if (fence_gate_is(call.resource, strlen(call.resource)) && !call.covers) {
        api_rwlocks_break(request, backend, call.resource);
        return;
    }
    if (api_auth_require(request, API_RIGHT_ADMIN, call.resource) != 0)
        return;
    if (api_input_break_token(request, &call.token) == 0)
        backend->call(backend->context, &call);
}

/* A release by its holder, or a break by force. */
static void give_free(struct api_request *request, void *context)
{
    char force[FORCE_MAX + 1] = "";
    int64_t keep_ms = 0;
    const struct api_query_param params[] = {
        {.name = "force", .type = API_QUERY_TEXT, .min = 1, .max = FORCE_MAX, .text = force},
        {.name = "keep_ms",
         .type = API_QUERY_INTEGER,
         .max = FENCE_TTL_CEILING_MS,
         .integer = &keep_ms},
    };
    if (api_input_query(request, params, sizeof(params) / sizeof(params[0])) != 0)
        return;
    if (force[0] == '\0')
        release(request, context, (uint32_t)keep_ms);
    else if (keep_ms > 0)
        api_problem_answer_detail(request, API_PROBLEM_INVALID,
                                  "keep_ms is for a release of your own lock. A break opens the "
                                  "name immediately. Leave out either keep_ms or 'force'.");
    else if (strcmp(force, "true") == 0)
        break_grant(request, context);
    else
        api_problem_answer_detail(request, API_PROBLEM_INVALID,
                                  "The parameter 'force' must be 'true'. To release your own lock, "
                                  "leave out 'force'.");
}

struct api_routes api_locks_routes(struct api_backend *backend)
{
    static const struct api_route routes[] = {
        {API_POST, "/v1/locks/{resource...}", api_acquire, API_TAKES_BODY, API_RIGHT_LOCK,
         "acquire", API_CHEAP},
        {API_POST, "/v1/locks", api_acquire_several, API_TAKES_BODY, API_RIGHT_LOCK,
         "acquire_several", API_COSTLY},
        {API_POST, "/v1/semaphores/{name...}", api_acquire_seat, API_TAKES_BODY, API_RIGHT_LOCK,
         "acquire_seat", API_CHEAP},
        {API_GET, "/v1/semaphores/{name...}", api_inspect_seats, API_TAKES_NOTHING, API_RIGHT_READ,
         "inspect_seats", API_COSTLY},
        {API_POST, "/v1/rwlocks/{name...}", api_acquire_shared, API_TAKES_BODY, API_RIGHT_LOCK,
         "acquire_shared", API_CHEAP},
        {API_GET, "/v1/rwlocks/{name...}", api_inspect_shared, API_TAKES_NOTHING, API_RIGHT_READ,
         "inspect_shared", API_COSTLY},
        {API_PATCH, "/v1/locks/{resource...}", extend, API_TAKES_BODY, API_RIGHT_LOCK, "extend",
         API_CHEAP},
        {API_DELETE, "/v1/locks/{resource...}", give_free, API_TAKES_QUERY, API_RIGHT_LOCK,
         "release", API_CHEAP},
        {API_GET, "/v1/locks/{resource...}", api_inspect, API_TAKES_QUERY, API_RIGHT_READ,
         "inspect", API_CHEAP},
    };
    return (struct api_routes){routes, sizeof(routes) / sizeof(routes[0]), backend};
}
