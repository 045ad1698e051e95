#include "api/v1/locks.h"

#include "api/auth/auth.h"
#include "api/http/input.h"
#include "api/http/problem_answer.h"
#include "api/v1/rwlocks.h"
#include "fence/protocol/decimal.h"
#include "fence/protocol/name.h"
#include "fence/protocol/owner.h"
#include "fence/protocol/seat.h"

#include <stdio.h>
#include <string.h>

enum {
    MODE_MAX = 8,    /* bytes of a body's "mode" that are looked at */
    FORCE_MAX = 16,  /* bytes of the query's "force" that are looked at */
    UNLESS_MAX = 20, /* bytes of the query's "unless": a token, or a word */
};

/* The TTL if the client names none: at most the fleet's longest lease, if that is known. */
static int64_t default_ttl_ms(const struct api_backend *backend)
{
    uint32_t max_ms = backend->fleet->ttl_max_ms;
    return max_ms != 0 && max_ms < FENCE_TTL_DEFAULT_MS ? max_ms : FENCE_TTL_DEFAULT_MS;
}

/* The body's "ttl_ms". The core refuses what the fleet does not allow. A TTL longer than any fleet
 * allows is refused here, with this fleet's bound if it is known by now. */
static struct api_json_member ttl_member(const struct api_backend *backend, int64_t *ttl_ms)
{
    return (struct api_json_member){
        .name = "ttl_ms",
        .type = API_JSON_INTEGER,
        .min = FENCE_TTL_MIN_MS,
        .max = FENCE_TTL_CEILING_MS,
        .told_max = backend->fleet->ttl_max_ms,
        .integer = ttl_ms,
    };
}

/* The parameters of an acquire. */
struct acquire_params {
    int64_t ttl_ms;
    int64_t delay_ms;
    int64_t wait_ms;
    uint32_t waited_ms; /* the header's */
    int64_t permits;    /* seats of a semaphore; 0: a lock */
    enum fence_mode mode;
    char owner[FENCE_LABEL_MAX + 1];
    char lock_id[FENCE_LOCK_ID_MAX + 1]; /* "": the client leaves it to us */
};

/* @more: one more member, which the call needs beside those of all acquires; NULL: none.
 * FENCE_EINVAL: answered. */
static int read_acquire_params(struct api_request *request, const struct api_backend *backend,
                               const struct api_json_member *more,
                               struct acquire_params *ret_params)
{
    struct acquire_params params = {.ttl_ms = default_ttl_ms(backend)};
    struct api_json_member members[] = {
        ttl_member(backend, &params.ttl_ms),
        {.name = "delay_ms",
         .type = API_JSON_INTEGER,
         .max = FENCE_TTL_CEILING_MS,
         .told_max = backend->fleet->ttl_max_ms,
         .integer = &params.delay_ms},
        {.name = "wait_ms",
         .type = API_JSON_INTEGER,
         .max = FENCE_WAIT_MAX_MS,
         .integer = &params.wait_ms},
        {.name = "owner", .type = API_JSON_STRING, .max = FENCE_LABEL_MAX, .string = params.owner},
        {.name = "lock_id",
         .type = API_JSON_STRING,
         .min = FENCE_LOCK_ID_MIN,
         .max = FENCE_LOCK_ID_MAX,
         .string = params.lock_id},
        {.name = ""},
    };
    size_t count = sizeof(members) / sizeof(members[0]) - 1;
    if (more != NULL)
        members[count++] = *more;
    int result = api_input_body(request, members, count);
    if (result == 0)
        result = api_input_waited(request, &params.waited_ms);
    if (result != 0)
        return result;

    const char *refused = NULL;
    if (!fence_label_valid(params.owner, strlen(params.owner)))
        refused = "owner must not have control characters.";
    else if (params.lock_id[0] != '\0' &&
             !fence_lock_id_valid(params.lock_id, strlen(params.lock_id)))
        refused = "lock_id must be characters of base64url: A-Z a-z 0-9 - _.";
    else if (strcmp(params.lock_id, FENCE_KEPT_ID) == 0)
        refused = "lock_id " FENCE_KEPT_ID " is Pawl's own. Send random characters.";
    if (refused != NULL) {
        api_problem_answer_detail(request, API_PROBLEM_INVALID, "%s", refused);
        return FENCE_EINVAL;
    }
    *ret_params = params;
    return 0;
}

/* A process that ends grants nothing more. A holder can still extend and release. */
static bool refuse_while_draining(struct api_request *request, const struct api_backend *backend)
{
    if (!backend->draining)
        return false;
    api_problem_answer_detail(request, API_PROBLEM_STOPPING,
                              "This pawld is shutting down and grants no more locks. No lock was "
                              "acquired. Retry at another pawld.");
    return true;
}

static bool refuse_wait_in_batch(struct api_request *request, int64_t wait_ms)
{
    if (wait_ms == 0 || !api_request_is_batched(request))
        return false;
    api_problem_answer_detail(request, API_PROBLEM_INVALID,
                              "A call of a batch cannot wait for the lock. Remove wait_ms, or send "
                              "this call separately.");
    return true;
}

/* False: answered. */
static bool reserve_locks(struct api_request *request, const struct acquire_params *params,
                          const char *resource, const struct fence_group *group)
{
    const char *resources[FENCE_GROUP_MAX] = {resource};
    const unsigned count = group != NULL ? group->count : 1;
    const char *lock_id = params->lock_id[0] != '\0' ? params->lock_id : NULL;
    const bool reads = params->mode == FENCE_MODE_READ;
    if (params->permits > 0 || reads)
        return api_auth_reserve_seat(request, lock_id, resource,
                                     reads ? FENCE_READERS_MAX : (unsigned)params->permits) == 0;
    char seat[FENCE_RESOURCE_MAX + 1];
    if (params->mode == FENCE_MODE_WRITE) {
        memcpy(seat, resource, strlen(resource) + 1);
        fence_gate_write(seat); /* all seats count as one lock */
        resources[0] = seat;
    }
    for (unsigned k = 0; group != NULL && k < count; k++)
        resources[k] = group->locks[k].resource;
    return api_auth_reserve(request, lock_id, resources, count) == 0;
}

static void call_acquire(struct api_request *request, const struct api_backend *backend,
                         const struct acquire_params *params, const char *resource,
                         const struct fence_group *group)
{
    char fresh_id[FENCE_LOCK_ID_LEN + 1];
    char owner[FENCE_OWNER_MAX + 1];
    if (refuse_while_draining(request, backend) || refuse_wait_in_batch(request, params->wait_ms) ||
        !reserve_locks(request, params, resource, group))
        return;
    fence_owner_join(params->owner, (uint32_t)params->delay_ms, api_request_caller(request), owner);
    if (params->mode == FENCE_MODE_WRITE)
        fence_owner_mark_writer(owner);
    if (params->wait_ms > 0)
        api_request_may_wait(request, group != NULL ? group->count : 1);
    bool own_id = params->lock_id[0] != '\0';
    if (!own_id)
        backend->new_lock_id(backend->context, fresh_id);
    const struct fence_call call = {
        .kind = FENCE_CALL_ACQUIRE,
        .client = api_request_client(request),
        .resource = resource,
        .lock_id = own_id ? params->lock_id : fresh_id,
        .owner = owner,
        .group = group,
        .seats = (unsigned)params->permits,
        .mode = params->mode,
        .idempotent = own_id,
        .ttl_ms = (uint32_t)params->ttl_ms,
        .wait_ms = (uint32_t)params->wait_ms,
        .waited_ms = params->waited_ms,
    };
    backend->call(backend->context, &call);
}

static void acquire(struct api_request *request, void *context)
{
    const struct api_backend *backend = context;
    const char *resource = NULL;
    struct acquire_params params;
    if (api_input_resource(request, 0, &resource) == 0 &&
        read_acquire_params(request, backend, NULL, &params) == 0)
        call_acquire(request, backend, &params, resource, NULL);
}

/* ---- several at once ------------------------------------------------------------------------- */

struct group_reader {
    struct api_json_strings strings;
    struct fence_group group;
};

static int take_resource(struct api_json_strings *strings, const char *text, size_t len,
                         char ret_error[static API_JSON_ERROR_MAX])
{
    struct fence_group *group = &((struct group_reader *)strings)->group;
    if (!fence_resource_valid(text, len)) {
        (void)snprintf(ret_error, API_JSON_ERROR_MAX,
                       "Item %u of resources must be " API_RESOURCE_RULE, group->count + 1,
                       FENCE_RESOURCE_MAX);
        return FENCE_EINVAL;
    }
    if (fence_group_has(group, text)) {
        (void)snprintf(ret_error, API_JSON_ERROR_MAX,
                       "Item %u of resources is a duplicate. Name each resource once.",
                       group->count + 1);
        return FENCE_EINVAL;
    }
    struct fence_group_lock *lock = &group->locks[group->count++];
    lock->token = 0;
    lock->slot = (uint16_t)fence_slot(text, len);
    memcpy(lock->resource, text, len + 1);
    return 0;
}

/* FENCE_EINVAL: answered. */
static int require_each(struct api_request *request, const struct fence_group *group)
{
    int result = 0;
    for (unsigned k = 0; k < group->count && result == 0; k++)
        result = api_auth_require(request, API_RIGHT_LOCK, group->locks[k].resource);
    return result;
}

static void acquire_several(struct api_request *request, void *context)
{
    const struct api_backend *backend = context;
    struct acquire_params params;
    struct group_reader reader;
    reader.strings.take = take_resource;
    reader.group.count = 0;
    const struct api_json_member resources = {
        .name = "resources",
        .type = API_JSON_STRINGS,
        .required = true,
        .min = FENCE_GROUP_MIN,
        .max = FENCE_GROUP_MAX,
        .strings = &reader.strings,
    };
    if (read_acquire_params(request, backend, &resources, &params) == 0 &&
        require_each(request, &reader.group) == 0)
        call_acquire(request, backend, &params, reader.group.locks[0].resource, &reader.group);
}

/* ---- semaphores ------------------------------------------------------------------------------ */

static void acquire_seat(struct api_request *request, void *context)
{
    const struct api_backend *backend = context;
    const char *name = NULL;
    struct acquire_params params;
    int64_t permits = 0;
    const struct api_json_member member = {
        .name = "permits",
        .type = API_JSON_INTEGER,
        .required = true,
        .min = 1,
        .max = FENCE_SEATS_MAX,
        .integer = &permits,
    };
    if (api_input_semaphore(request, 0, &name) != 0 ||
        read_acquire_params(request, backend, &member, &params) != 0)
        return;
    params.permits = permits;
    call_acquire(request, backend, &params, name, NULL);
}

/* ---- readers and writers --------------------------------------------------------------------- */

static void acquire_shared(struct api_request *request, void *context)
{
    const struct api_backend *backend = context;
    const char *name = NULL;
    struct acquire_params params;
    char mode[MODE_MAX + 1] = "";
    const struct api_json_member member = {
        .name = "mode",
        .type = API_JSON_STRING,
        .required = true,
        .min = 1,
        .max = MODE_MAX,
        .string = mode,
    };
    if (api_input_rwlock(request, 0, &name) != 0 ||
        read_acquire_params(request, backend, &member, &params) != 0)
        return;
    if (strcmp(mode, "read") != 0 && strcmp(mode, "write") != 0) {
        api_problem_answer_detail(request, API_PROBLEM_INVALID, "mode must be read or write.");
        return;
    }
    params.mode = strcmp(mode, "read") == 0 ? FENCE_MODE_READ : FENCE_MODE_WRITE;
    call_acquire(request, backend, &params, name, NULL);
}

static void inspect_each_seat(struct api_request *request, const struct api_backend *backend,
                              enum fence_mode mode, unsigned seats)
{
    struct fence_call call = {
        .kind = FENCE_CALL_INSPECT,
        .client = api_request_client(request),
        .lock_id = "",
        .owner = "",
        .mode = mode,
        .seats = seats,
    };
    const int result = mode == FENCE_MODE_READ ? api_input_rwlock(request, 0, &call.resource)
                                               : api_input_semaphore(request, 0, &call.resource);
    if (result == 0)
        backend->call(backend->context, &call);
}

static void inspect_shared(struct api_request *request, void *context)
{
    inspect_each_seat(request, context, FENCE_MODE_READ, 0);
}

/* The number of seats is not known here, so all possible seats are inspected. */
static void inspect_seats(struct api_request *request, void *context)
{
    inspect_each_seat(request, context, FENCE_MODE_PLAIN, FENCE_SEATS_MAX);
}

/* ---- the rest -------------------------------------------------------------------------------- */

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

    int64_t ttl_ms = default_ttl_ms(backend);
    const struct api_json_member member = ttl_member(backend, &ttl_ms);
    if (api_input_body(request, &member, 1) != 0)
        return;
    call.ttl_ms = (uint32_t)ttl_ms;
    backend->call(backend->context, &call);
}

/* A release has no condition on the token. A request with a condition is rejected, and nothing is
 * released: the condition may not hold. */
static bool refuse_condition(struct api_request *request)
{
    if (api_request_header(request, API_HEADER_IF_MATCH) == NULL)
        return false;
    api_problem_answer_detail(request, API_PROBLEM_INVALID,
                              "If-Match is for a break, with ?force=true. Leave it out to release "
                              "your own lock: its Lock-Id is enough.");
    return true;
}

/* A token may come along, as extensions need one. The lock id alone says which grant is meant.
 * FENCE_EINVAL: malformed, answered. */
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

/* The route lets holders in. This takes an admin. A gate stands for its writer. */
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
                                  "name immediately. Leave out keep_ms, or force.");
    else if (strcmp(force, "true") == 0)
        break_grant(request, context);
    else
        api_problem_answer_detail(request, API_PROBLEM_INVALID,
                                  "force must be true; leave it out to release your own lock.");
}

/* The query's "unless": what the client knows of the lock. FENCE_EINVAL: answered. */
static int read_unless(struct api_request *request, const char *unless, int64_t *ret_token)
{
    if (strcmp(unless, "free") == 0) {
        *ret_token = FENCE_WATCH_FREE;
        return 0;
    }
    uint64_t token = 0;
    if (fence_decimal_read(unless, strlen(unless), FENCE_TOKEN_MAX, &token) && token >= 1) {
        *ret_token = (int64_t)token;
        return 0;
    }
    api_problem_answer_detail(request, API_PROBLEM_INVALID,
                              "unless must be the last token that you saw, such as 34, or free.");
    return FENCE_EINVAL;
}

/* FENCE_EINVAL: answered. */
static int read_watch(struct api_request *request, struct fence_call *call)
{
    char unless[UNLESS_MAX + 1] = "";
    int64_t wait_ms = 0;
    const struct api_query_param params[] = {
        {.name = "unless", .type = API_QUERY_TEXT, .min = 1, .max = UNLESS_MAX, .text = unless},
        {.name = "wait_ms",
         .type = API_QUERY_INTEGER,
         .max = FENCE_WAIT_MAX_MS,
         .integer = &wait_ms},
    };
    int result = api_input_query(request, params, sizeof(params) / sizeof(params[0]));
    if (result == 0 && unless[0] != '\0')
        result = read_unless(request, unless, &call->token);
    if (result != 0)
        return result;
    if (wait_ms > 0 && unless[0] == '\0') {
        api_problem_answer_detail(
            request, API_PROBLEM_INVALID,
            "wait_ms needs the parameter 'unless': wait_ms waits for a change "
            "of the lock. Set 'unless' to the last token that you saw, or to "
            "'free'.");
        return FENCE_EINVAL;
    }
    if (wait_ms > 0)
        call->kind = FENCE_CALL_WATCH;
    call->wait_ms = (uint32_t)wait_ms;
    return 0;
}

/* An inspection, or a watch if the client waits for a change. The name of a gate inspects
 * the writer. */
static void inspect_lock(struct api_request *request, void *context)
{
    const struct api_backend *backend = context;
    struct fence_call call = {
        .kind = FENCE_CALL_INSPECT,
        .client = api_request_client(request),
        .lock_id = "",
        .owner = "",
    };
    char name[FENCE_RESOURCE_MAX + 1];
    if (api_input_lock(request, 0, &call.resource) != 0 || read_watch(request, &call) != 0 ||
        refuse_wait_in_batch(request, call.wait_ms))
        return;
    if (call.kind == FENCE_CALL_INSPECT && fence_gate_is(call.resource, strlen(call.resource))) {
        (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(call.resource, "#"), call.resource);
        call.resource = name;
        call.mode = FENCE_MODE_WRITE;
    }
    if (call.kind == FENCE_CALL_WATCH) {
        if (refuse_while_draining(request, backend))
            return;
        api_request_may_wait(request, 1);
    }
    backend->call(backend->context, &call);
}

struct api_routes api_locks_routes(struct api_backend *backend)
{
    static const struct api_route routes[] = {
        {API_POST, "/v1/locks/{resource...}", acquire, API_TAKES_BODY, API_RIGHT_LOCK, "acquire",
         API_CHEAP},
        {API_POST, "/v1/locks", acquire_several, API_TAKES_BODY, API_RIGHT_LOCK, "acquire_several",
         API_COSTLY},
        {API_POST, "/v1/semaphores/{name...}", acquire_seat, API_TAKES_BODY, API_RIGHT_LOCK,
         "acquire_seat", API_CHEAP},
        {API_GET, "/v1/semaphores/{name...}", inspect_seats, API_TAKES_NOTHING, API_RIGHT_READ,
         "inspect_seats", API_COSTLY},
        {API_POST, "/v1/rwlocks/{name...}", acquire_shared, API_TAKES_BODY, API_RIGHT_LOCK,
         "acquire_shared", API_CHEAP},
        {API_GET, "/v1/rwlocks/{name...}", inspect_shared, API_TAKES_NOTHING, API_RIGHT_READ,
         "inspect_shared", API_COSTLY},
        {API_PATCH, "/v1/locks/{resource...}", extend, API_TAKES_BODY, API_RIGHT_LOCK, "extend",
         API_CHEAP},
        {API_DELETE, "/v1/locks/{resource...}", give_free, API_TAKES_QUERY, API_RIGHT_LOCK,
         "release", API_CHEAP},
        {API_GET, "/v1/locks/{resource...}", inspect_lock, API_TAKES_QUERY, API_RIGHT_READ,
         "inspect", API_CHEAP},
    };
    return (struct api_routes){routes, sizeof(routes) / sizeof(routes[0]), backend};
}
