#include "api/v1/inspect.h"

#include "api/http/input.h"
#include "api/http/problem_answer.h"
#include "api/v1/backend.h"
#include "api/v1/refuse_before_call.h"
#include "fence/protocol/decimal.h"
#include "fence/protocol/seat.h"

#include <stdio.h>
#include <string.h>

enum {
    UNLESS_MAX = 20, /* bytes of the query's "unless": a token, or a word */
};

/* Reads the query's "unless": the state of the lock that the client knows. FENCE_EINVAL:
 * answered. */
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
    api_problem_answer_detail(
        request, API_PROBLEM_INVALID,
        "The parameter 'unless' must be 'free', or the last token that you saw, such as 34.");
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
            "wait_ms needs the parameter 'unless'. Set 'unless' to the last token that you saw, "
            "or to 'free'.");
        return FENCE_EINVAL;
    }
    if (wait_ms > 0 && fence_gate_is(call->resource, strlen(call->resource))) {
        api_problem_answer_detail(
            request, API_PROBLEM_INVALID,
            "pawld cannot watch the writer of a read-write lock. To see the writer now, leave out "
            "wait_ms.");
        return FENCE_EINVAL;
    }
    if (wait_ms > 0)
        call->kind = FENCE_CALL_WATCH;
    call->wait_ms = (uint32_t)wait_ms;
    return 0;
}

/* An inspection, or a watch if the client waits for a change. The name of a gate inspects
 * the writer. */
void api_inspect(struct api_request *request, void *context)
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
        api_refuse_wait_in_batch(request, call.wait_ms))
        return;
    if (fence_gate_is(call.resource, strlen(call.resource))) {
        (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(call.resource, "#"), call.resource);
        call.resource = name;
        call.mode = FENCE_MODE_WRITE;
    }
    if (call.kind == FENCE_CALL_WATCH) {
        if (api_refuse_while_draining(request, backend))
            return;
        api_request_may_wait(request, 1);
    }
    backend->call(backend->context, &call);
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

void api_inspect_shared(struct api_request *request, void *context)
{
    inspect_each_seat(request, context, FENCE_MODE_READ, 0);
}

/* The number of seats is not known here, so the call inspects all possible seats. */
void api_inspect_seats(struct api_request *request, void *context)
{
    inspect_each_seat(request, context, FENCE_MODE_PLAIN, FENCE_SEATS_MAX);
}
