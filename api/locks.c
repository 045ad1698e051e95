#include "api/locks.h"

#include "api/input.h"
#include "api/problem.h"
#include "fence/name.h"

#include <string.h>

/* What is asked for where the client says nothing: no longer than the fleet allows, if that is
 * known by now. */
static int64_t default_ttl_ms(const struct api_backend *backend)
{
    uint32_t max_ms = backend->fleet(backend->context)->ttl_max_ms;
    return max_ms != 0 && max_ms < FENCE_TTL_DEFAULT_MS ? max_ms : FENCE_TTL_DEFAULT_MS;
}

static void acquire(struct api_request *request, void *context)
{
    const struct api_backend *backend = context;
    const char *resource = NULL;
    if (api_input_resource(request, 0, &resource) != 0)
        return;

    int64_t ttl_ms = default_ttl_ms(backend);
    int64_t wait_ms = 0;
    char owner[FENCE_OWNER_MAX + 1] = "";
    char client_id[FENCE_LOCK_ID_MAX + 1] = "";
    const struct api_json_member members[] = {
        {"ttl_ms", API_JSON_INTEGER, false, FENCE_TTL_MIN_MS, FENCE_TTL_CEILING_MS, &ttl_ms, NULL},
        {"wait_ms", API_JSON_INTEGER, false, 0, FENCE_WAIT_MAX_MS, &wait_ms, NULL},
        {"owner", API_JSON_STRING, false, 0, FENCE_OWNER_MAX, NULL, owner},
        {"lock_id", API_JSON_STRING, false, FENCE_LOCK_ID_MIN, FENCE_LOCK_ID_MAX, NULL, client_id},
    };
    if (api_input_body(request, members, sizeof(members) / sizeof(members[0])) != 0)
        return;
    if (!fence_owner_valid(owner, strlen(owner))) {
        api_problem_answer_detail(request, API_PROBLEM_INVALID,
                                  "owner must not have control characters.");
        return;
    }
    if (client_id[0] != '\0') {
        bool valid = fence_lock_id_valid(client_id, strlen(client_id));
        api_problem_answer_detail(request, API_PROBLEM_INVALID, "%s",
                                  valid
                                      ? "lock_id chosen by the client is not supported yet; leave "
                                        "it out and use the one in the grant."
                                      : "lock_id must be characters of base64url.");
        return;
    }

    char lock_id[FENCE_LOCK_ID_LEN + 1];
    backend->new_lock_id(backend->context, lock_id);
    const struct fence_call call = {
        .kind = FENCE_CALL_ACQUIRE,
        .client = api_request_client(request),
        .resource = resource,
        .lock_id = lock_id,
        .owner = owner,
        .ttl_ms = (uint32_t)ttl_ms,
        .wait_ms = (uint32_t)wait_ms,
    };
    backend->call(backend->context, &call);
}

static void extend(struct api_request *request, void *context)
{
    const struct api_backend *backend = context;
    struct fence_call call = {
        .kind = FENCE_CALL_EXTEND,
        .client = api_request_client(request),
        .owner = "",
    };
    if (api_input_resource(request, 0, &call.resource) != 0 ||
        api_input_lock_id(request, &call.lock_id) != 0)
        return;

    int result = api_input_token(request, &call.token);
    if (result == FENCE_ENOENT)
        api_problem_answer_detail(request, API_PROBLEM_INVALID,
                                  "Send the token of the grant in the Fencing-Token header.");
    if (result != 0)
        return;

    int64_t ttl_ms = default_ttl_ms(backend);
    const struct api_json_member member = {
        "ttl_ms", API_JSON_INTEGER, false, FENCE_TTL_MIN_MS, FENCE_TTL_CEILING_MS, &ttl_ms, NULL};
    if (api_input_body(request, &member, 1) != 0)
        return;
    call.ttl_ms = (uint32_t)ttl_ms;
    backend->call(backend->context, &call);
}

static void release(struct api_request *request, void *context)
{
    const struct api_backend *backend = context;
    struct fence_call call = {
        .kind = FENCE_CALL_RELEASE,
        .client = api_request_client(request),
        .owner = "",
    };
    if (api_input_resource(request, 0, &call.resource) != 0 ||
        api_input_lock_id(request, &call.lock_id) != 0)
        return;
    backend->call(backend->context, &call);
}

static void inspect(struct api_request *request, void *context)
{
    const struct api_backend *backend = context;
    struct fence_call call = {
        .kind = FENCE_CALL_INSPECT,
        .client = api_request_client(request),
        .lock_id = "",
        .owner = "",
    };
    if (api_input_resource(request, 0, &call.resource) != 0)
        return;
    backend->call(backend->context, &call);
}

struct api_routes api_locks_routes(struct api_backend *backend)
{
    static const struct api_route routes[] = {
        {API_POST, "/v1/locks/{resource...}", acquire, true},
        {API_PATCH, "/v1/locks/{resource...}", extend, true},
        {API_DELETE, "/v1/locks/{resource...}", release, false},
        {API_GET, "/v1/locks/{resource...}", inspect, false},
    };
    return (struct api_routes){routes, sizeof(routes) / sizeof(routes[0]), backend};
}
