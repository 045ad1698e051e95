#include "api/v1/batch.h"

#include "api/http/batch.h"
#include "api/http/input.h"
#include "api/http/problem_answer.h"
#include "api/json/writer.h"
#include "fence/protocol/limits.h"
#include "fence/protocol/lock_id.h"
#include "fence/protocol/name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    METHOD_MAX = 8,
    PATH_MAX_BYTES = 16 + 3 * FENCE_RESOURCE_MAX, /* each byte may be encoded as %xx */
};

struct batch_reader {
    struct api_json_objects objects;
    struct api_batch *batch;
    unsigned calls;
};

/* Reports whether a call costs no more than an acquire. A costly call must not be in a batch: it
 * would wait for a turn, and a batch has no turns. */
static bool may_be_in_a_batch(const char *method, const char *path)
{
    static const char *const begins[] = {"/v1/locks/", "/v1/counters/"};
    static const char seats[] = "/v1/semaphores/", shared[] = "/v1/rwlocks/";
    bool known =
        (strncmp(path, seats, strlen(seats)) == 0 || strncmp(path, shared, strlen(shared)) == 0) &&
        strcmp(method, "POST") == 0;
    for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
        known |= strncmp(path, begins[i], strlen(begins[i])) == 0;
    return known && strpbrk(path, "?#") == NULL;
}

/* Puts the number of the call before the reason in @error. */
static int refuse_batch(const struct batch_reader *reader, int result,
                        char error[static API_JSON_ERROR_MAX])
{
    char why[API_JSON_ERROR_MAX];
    if (result != FENCE_EINVAL)
        return result;
    memcpy(why, error, sizeof(why));
    (void)snprintf(error, API_JSON_ERROR_MAX, "Request %u of the batch: %.*s", reader->calls,
                   API_JSON_ERROR_MAX - 40, why);
    return FENCE_EINVAL;
}

static int take_call(struct api_json_objects *objects, const struct api_json_object *object,
                     char ret_error[static API_JSON_ERROR_MAX])
{
    struct batch_reader *reader = (struct batch_reader *)objects;
    char method[METHOD_MAX + 1] = "", path[PATH_MAX_BYTES + 1] = "";
    char lock_id[FENCE_LOCK_ID_MAX + 1] = "", token_text[API_DIGITS_MAX] = "";
    char *body = NULL;
    int64_t token = 0;
    const struct api_json_member members[] = {
        {"method", API_JSON_STRING, .required = true, .min = 1, .max = METHOD_MAX,
         .string = method},
        {"path", API_JSON_STRING, .required = true, .min = 1, .max = PATH_MAX_BYTES,
         .string = path},
        {"lock_id", API_JSON_STRING, .min = 1, .max = FENCE_LOCK_ID_MAX, .string = lock_id},
        {"token", API_JSON_INTEGER, .min = 1, .max = FENCE_TOKEN_MAX, .integer = &token},
        {"body", API_JSON_TEXT, .text = &body},
    };
    reader->calls++;
    int result =
        api_json_read_object(object, members, sizeof(members) / sizeof(members[0]), ret_error);
    if (result == 0 && !may_be_in_a_batch(method, path)) {
        (void)snprintf(
            ret_error, API_JSON_ERROR_MAX,
            "path must begin with /v1/locks/ or /v1/counters/. The path of a POST can also begin "
            "with /v1/semaphores/ or /v1/rwlocks/. path must not have a query. Send other calls "
            "separately.");
        result = FENCE_EINVAL;
    }
    if (token != 0)
        (void)api_digits(token, token_text);
    const struct api_batch_call call = {
        .method = method,
        .path = path,
        .lock_id = lock_id[0] != '\0' ? lock_id : NULL,
        .token = token != 0 ? token_text : NULL,
        .body = body,
    };
    if (result == 0)
        result = api_batch_add(reader->batch, &call);
    free(body);
    return refuse_batch(reader, result, ret_error);
}

static void run_batch(struct api_request *request, void *context)
{
    (void)context;
    struct batch_reader reader = {.objects.take = take_call};
    const struct api_json_member requests = {
        .name = "requests",
        .type = API_JSON_OBJECTS,
        .required = true,
        .min = 1,
        .max = API_BATCH_MAX,
        .objects = &reader.objects,
    };
    if (api_batch_new(request, &reader.batch) != 0)
        api_problem_answer(request, API_PROBLEM_NO_MEMORY);
    else if (api_input_body(request, &requests, 1) == 0)
        api_batch_run(reader.batch);
    else
        api_batch_free(reader.batch);
}

struct api_routes api_batch_routes(void)
{
    static const struct api_route route = {
        API_POST,       "/v1/batch", run_batch,           API_TAKES_BODY,
        API_RIGHT_READ, "batch",     API_COSTLY_EVEN_LEFT};
    return (struct api_routes){&route, 1, NULL};
}
