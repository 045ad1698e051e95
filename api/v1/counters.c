#include "api/v1/counters.h"

#include "api/http/input.h"
#include "api/v1/write_answer.h"
#include "fence/protocol/name.h"

#include <assert.h>
#include <stdio.h>

enum {
    /* A name needs no escapes. */
    COUNTER_BODY_MAX = FENCE_RESOURCE_MAX + 128,
};

/* ---- asking ---------------------------------------------------------------------------------- */

/* @count 0: reads. The answer includes the number of requested values, which the core does not
 * know. */
static void call_counter(struct api_request *request, const struct api_backend *backend,
                         const char *name, uint32_t count)
{
    const struct fence_call call = {
        .kind = FENCE_CALL_COUNT,
        .client = api_request_client(request),
        .resource = name,
        .lock_id = "",
        .owner = "",
        .count = count,
    };
    assert(count <= FENCE_COUNT_MAX);
    api_request_note(request, count);
    backend->call(backend->context, &call);
}

static void take_values(struct api_request *request, void *context)
{
    const struct api_backend *backend = context;
    const char *name = NULL;
    int64_t count = 1;
    const struct api_json_member member = {
        .name = "count",
        .type = API_JSON_INTEGER,
        .min = 1,
        .max = FENCE_COUNT_MAX,
        .integer = &count,
    };
    if (api_input_counter(request, 0, &name) == 0 && api_input_body(request, &member, 1) == 0)
        call_counter(request, backend, name, (uint32_t)count);
}

static void read_last_value(struct api_request *request, void *context)
{
    const struct api_backend *backend = context;
    const char *name = NULL;
    if (api_input_counter(request, 0, &name) == 0)
        call_counter(request, backend, name, 0);
}

struct api_routes api_counters_routes(struct api_backend *backend)
{
    static const struct api_route routes[] = {
        {API_POST, "/v1/counters/{name...}", take_values, API_TAKES_BODY, API_RIGHT_LOCK, "count",
         API_CHEAP},
        {API_GET, "/v1/counters/{name...}", read_last_value, API_TAKES_NOTHING, API_RIGHT_READ,
         "read_counter", API_CHEAP},
    };
    return (struct api_routes){routes, sizeof(routes) / sizeof(routes[0]), backend};
}

/* ---- answering ------------------------------------------------------------------------------- */

static void answer_value(struct api_request *request, const struct fence_answer *answer)
{
    assert(answer->error == 0 && answer->count.value >= 0);
    char body[COUNTER_BODY_MAX];
    struct api_writer writer;
    uint32_t count = api_request_noted(request);
    api_write_about(&writer, body, sizeof(body), "name", answer->resource);
    api_write_integer(&writer, "value", answer->count.value);
    if (count > 0)
        api_write_integer(&writer, "count", count);
    api_write_end(&writer);
    api_answer_document(request, &writer);
}

static enum api_problem problem_of_counter(int error)
{
    return error == FENCE_ENOENT ? API_PROBLEM_NO_COUNTER : api_problem_of(error);
}

/* Writes the detail if it depends on the name, for a lock or an unknown counter. "": the detail of
 * the table is right. */
static void explain_counter(const struct fence_answer *answer,
                            char ret_detail[static API_DETAIL_MAX])
{
    assert(answer->error < 0);
    const char *name = answer->resource;
    ret_detail[0] = '\0';
    switch (answer->error) {
    case FENCE_ECONTENDED:
        (void)snprintf(ret_detail, API_DETAIL_MAX,
                       "Several servers counted at the same time, and no value got a majority of "
                       "the masters. Retry after a short random delay.");
        break;
    case FENCE_ESPENT:
        (void)snprintf(
            ret_detail, API_DETAIL_MAX,
            "The field n:%s of " FENCE_FLEET_KEY
            " stores this counter. On the masters that refused, the field has reached its "
            "maximum. Use another name. If another program changed the field, set the field to "
            "the last value that was issued.",
            name);
        break;
    case FENCE_EMISCOUNTED:
        (void)snprintf(ret_detail, API_DETAIL_MAX,
                       "The field n:%s of " FENCE_FLEET_KEY
                       " stores this counter. On the masters that refused, the field has a value "
                       "that Pawl did not write. Set the field to the last value that was "
                       "issued, or higher.",
                       name);
        break;
    default:
        break;
    }
}

static void answer_no_value(struct api_request *request, const struct fence_answer *answer)
{
    char detail[API_DETAIL_MAX];
    const bool parts = answer->error == FENCE_ENOQUORUM || fence_error_is_obstacle(answer->error);
    explain_counter(answer, detail);
    api_answer_failed(request, problem_of_counter(answer->error), detail[0] != '\0' ? detail : NULL,
                      "name", answer, parts);
}

void api_counters_answer(const struct fence_answer *answer)
{
    struct api_request *request = api_request_of_client(answer->client);
    assert(answer->kind == FENCE_CALL_COUNT);
    if (answer->error == 0)
        answer_value(request, answer);
    else
        answer_no_value(request, answer);
}
