#include "api/v1/acquire.h"

#include "api/auth/auth.h"
#include "api/http/input.h"
#include "api/http/problem_answer.h"
#include "api/v1/refuse_before_call.h"
#include "api/v1/ttl.h"
#include "fence/protocol/name.h"
#include "fence/protocol/owner.h"
#include "fence/protocol/seat.h"

#include <stdio.h>
#include <string.h>

enum {
    MODE_MAX = 8, /* bytes of a body's "mode" that are examined */
};

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

/* @more: one more member that the call needs besides the members of all acquires; NULL: none.
 * FENCE_EINVAL: answered. */
static int read_acquire_params(struct api_request *request, const struct api_backend *backend,
                               const struct api_json_member *more,
                               struct acquire_params *ret_params)
{
    struct acquire_params params = {.ttl_ms = api_ttl_default_ms(backend)};
    struct api_json_member members[] = {
        api_ttl_member(backend, &params.ttl_ms),
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
        refused = "owner must not contain control characters.";
    else if (params.lock_id[0] != '\0' &&
             !fence_lock_id_valid(params.lock_id, strlen(params.lock_id)))
        refused = "lock_id must be characters of base64url: A-Z a-z 0-9 - _.";
    else if (strcmp(params.lock_id, FENCE_KEPT_ID) == 0)
        refused = "lock_id " FENCE_KEPT_ID " is reserved for Pawl. Send random characters.";
    if (refused != NULL) {
        api_problem_answer_detail(request, API_PROBLEM_INVALID, "%s", refused);
        return FENCE_EINVAL;
    }
    *ret_params = params;
    return 0;
}

/* Returns false if the request is answered. */
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
    if (api_refuse_while_draining(request, backend) ||
        api_refuse_wait_in_batch(request, params->wait_ms) ||
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

void api_acquire(struct api_request *request, void *context)
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

void api_acquire_several(struct api_request *request, void *context)
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

void api_acquire_seat(struct api_request *request, void *context)
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

void api_acquire_shared(struct api_request *request, void *context)
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
        api_problem_answer_detail(request, API_PROBLEM_INVALID, "mode must be 'read' or 'write'.");
        return;
    }
    params.mode = strcmp(mode, "read") == 0 ? FENCE_MODE_READ : FENCE_MODE_WRITE;
    call_acquire(request, backend, &params, name, NULL);
}
