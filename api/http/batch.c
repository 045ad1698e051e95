#include "api/http/batch.h"

#include "api/http/costly.h"
#include "api/http/problem_answer.h"
#include "api/http/request_state.h"
#include "api/http/requests.h"
#include "api/http/transport.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The answer of a call whose own answer failed for lack of memory. The outcome of the call is
 * unknown. */
#define NO_ANSWER                                                                                  \
    "{\"status\":503,\"body\":{\"type\":\"urn:pawl:no-memory\",\"title\":\"Out of "                \
    "memory\",\"status\":503}}"

struct call {
    struct api_batch *batch;
    struct api_request *request;
    char keep_ms[API_DIGITS_MAX]; /* keep_ms of its query; "": none */
    bool force;                   /* the same */
    bool covers;                  /* the same: a part of a writer */
    unsigned status;              /* status, if @answer is the body */
    char retry[API_DIGITS_MAX];   /* and its Retry-After; "": it has none */
    char *answer;                 /* its text in the body of the batch; NULL: none yet, or no
                                   * memory */
};

struct api_batch {
    struct api_request *request;
    struct api_costly line; /* for calls, which are not costly and never stand in it */
    unsigned count;
    unsigned unanswered;        /* calls without an answer; plus 1 while calls begin */
    api_batch_finisher *finish; /* NULL: the answer is the list of all answers */
    const void *context;        /* its */
    struct call calls[API_BATCH_MAX];
};

/* ---- the answer ------------------------------------------------------------------------------ */

static const char *response_field(const struct api_response *response, const char *name)
{
    for (unsigned i = 0; i < response->fields_count; i++)
        if (strcmp(response->fields[i].name, name) == 0)
            return response->fields[i].value;
    return NULL;
}

/* The answer of one call, as it stands in the answer of the batch. Each body is JSON already. NULL:
 * memory is out. */
static char *write_answer(const struct api_response *response)
{
    const char *retry = response_field(response, "Retry-After");
    char *answer = NULL;
    const int len = asprintf(&answer, "{\"status\":%u%s%s,\"body\":%.*s}", response->status,
                             retry != NULL ? ",\"retry_after_s\":" : "", retry != NULL ? retry : "",
                             response->len > 0 ? (int)response->len : 4,
                             response->len > 0 ? response->body : "null");
    return len >= 0 ? answer : NULL;
}

static const char *answer_of(const struct api_batch *batch, unsigned i)
{
    return batch->calls[i].answer != NULL ? batch->calls[i].answer : NO_ANSWER;
}

/* The answer of the whole batch. NULL: memory is out. */
static char *write_body(const struct api_batch *batch, size_t *ret_len)
{
    static const char head[] = "{\"responses\":[";
    static const char tail[] = "]}";
    size_t size = sizeof(head) + sizeof(tail);
    for (unsigned i = 0; i < batch->count; i++)
        size += strlen(answer_of(batch, i)) + 1;
    char *body = malloc(size);
    if (body == NULL)
        return NULL;
    char *end = stpcpy(body, head);
    for (unsigned i = 0; i < batch->count; i++) {
        if (i > 0)
            *end++ = ',';
        end = stpcpy(end, answer_of(batch, i));
    }
    end = stpcpy(end, tail);
    *ret_len = (size_t)(end - body);
    assert(*ret_len < size);
    return body;
}

static void finish_batch(struct api_batch *batch)
{
    static const char problem[] = "{\"type\":\"urn:pawl:no-memory\",\"title\":\"Out of memory\","
                                  "\"status\":503}";
    struct api_batch_answer answers[API_BATCH_MAX];
    struct api_request *request = batch->request;
    for (unsigned i = 0; i < batch->count; i++) {
        const struct call *call = &batch->calls[i];
        answers[i] = (struct api_batch_answer){503, problem, "1"};
        if (call->answer != NULL)
            answers[i] = (struct api_batch_answer){call->status, call->answer,
                                                   call->retry[0] != '\0' ? call->retry : NULL};
    }
    request->batch = NULL;
    batch->finish(request, batch->context, answers, batch->count);
    api_batch_free(batch);
}

static void answer_batch(struct api_batch *batch)
{
    struct api_request *request = batch->request;
    size_t len = 0;
    if (batch->finish != NULL) {
        finish_batch(batch);
        return;
    }
    char *body = write_body(batch, &len);
    request->batch = NULL;
    api_batch_free(batch);
    if (body != NULL)
        api_request_answer(request, &(struct api_answer){.status = 200, .body = body, .len = len});
    else
        api_problem_answer(request, API_PROBLEM_NO_MEMORY);
    free(body);
}

static void count_answered(struct api_batch *batch)
{
    assert(batch->unanswered > 0);
    if (--batch->unanswered == 0)
        answer_batch(batch);
}

/* ---- the transport of its calls
 * -------------------------------------------------------------------- */

static const struct api_request *outer_of(const struct api_request *request)
{
    return ((const struct call *)api_request_exchange(request))->batch->request;
}

static void take_call_answer(struct api_request *request, const struct api_response *response)
{
    struct call *call = api_request_exchange(request);
    assert(call->request == request && call->answer == NULL);
    const char *retry = response_field(response, "Retry-After");
    call->status = response->status;
    if (retry != NULL)
        (void)snprintf(call->retry, sizeof(call->retry), "%s", retry);
    call->answer = call->batch->finish != NULL
                       ? strndup(response->len > 0 ? response->body : "null",
                                 response->len > 0 ? response->len : 4)
                       : write_answer(response);
    count_answered(call->batch);
}

static bool batch_has_left(const struct api_request *request)
{
    return api_request_client_left(outer_of(request));
}

static int socket_of(const struct api_request *request)
{
    const struct api_request *outer = outer_of(request);
    return outer->transport->socket(outer);
}

static void visit_call_query(const struct api_request *request,
                             bool (*visit)(void *context, const char *name, const char *value),
                             void *context)
{
    const struct call *call = api_request_exchange(request);
    if (call->keep_ms[0] != '\0' && !visit(context, "keep_ms", call->keep_ms))
        return;
    if (call->force)
        (void)visit(context, "force", "true");
}

/* The body of a call is complete at once, and never waits for its next piece. */
static void never(struct api_request *request)
{
    (void)request;
    abort();
}

/* No call of a batch streams. */
static const struct api_transport transport = {
    .answer = take_call_answer,
    .has_left = batch_has_left,
    .socket = socket_of,
    .query = visit_call_query,
    .suspend = never,
    .resume = never,
};

/* The client of the batch has left. The backend of each parked call learns of it. */
static void tell_calls(struct api_batch *batch)
{
    batch->unanswered++; /* calls may be answered from within */
    for (unsigned i = 0; i < batch->count; i++) {
        struct api_request *request = batch->calls[i].request;
        if (request->state == API_REQUEST_PARKED)
            api_request_left(request);
    }
    count_answered(batch);
}

/* ---- a batch --------------------------------------------------------------------------------- */

int api_batch_new(struct api_request *request, struct api_batch **ret_batch)
{
    struct api_batch *batch = calloc(1, sizeof(*batch));
    if (batch == NULL)
        return FENCE_ENOMEM;
    batch->request = request;
    *ret_batch = batch;
    return 0;
}

void api_batch_finish(struct api_batch *batch, api_batch_finisher *finish, const void *context)
{
    assert(batch->unanswered == 0);
    batch->finish = finish;
    batch->context = context;
}

bool api_request_is_part(const struct api_request *request)
{
    return request->within != NULL && request->within->finish != NULL;
}

bool api_request_covers(const struct api_request *request)
{
    return request->within != NULL && ((const struct call *)api_request_exchange(request))->covers;
}

static void give_header(struct api_headers *headers, enum api_header header, const char *value)
{
    if (value != NULL)
        api_headers_add(headers, api_header_name(header), value);
}

int api_batch_add(struct api_batch *batch, const struct api_batch_call *call)
{
    static const enum api_header shared[] = {API_HEADER_AUTHORIZATION, API_HEADER_REQUEST_ID,
                                             API_HEADER_TRACEPARENT};
    struct api_headers headers = {0};
    assert(batch->count < API_BATCH_MAX);
    give_header(&headers, API_HEADER_LOCK_ID, call->lock_id);
    give_header(&headers, API_HEADER_FENCING_TOKEN, call->token);
    give_header(&headers, API_HEADER_IF_MATCH, call->match);
    for (size_t i = 0; i < sizeof(shared) / sizeof(shared[0]); i++)
        if (!batch->request->headers.repeated[shared[i]])
            give_header(&headers, shared[i], api_request_header(batch->request, shared[i]));
    struct call *slot = &batch->calls[batch->count];
    const struct api_incoming head = {
        .method = call->method,
        .path = call->path,
        .headers = &headers,
        .subject = api_request_subject(batch->request),
        .exchange = slot,
    };
    void *memory = calloc(1, api_request_size(&head));
    if (memory == NULL)
        return FENCE_ENOMEM;
    slot->batch = batch;
    slot->force = call->force;
    slot->covers = call->covers;
    if (call->keep_ms != NULL)
        (void)snprintf(slot->keep_ms, sizeof(slot->keep_ms), "%s", call->keep_ms);
    slot->request =
        api_request_begin_within(batch->request, &transport, &batch->line, &head, memory);
    slot->request->within = batch;
    batch->count++;
    if (call->body != NULL && !api_request_body_came(slot->request, call->body, strlen(call->body)))
        return FENCE_ENOMEM;
    return 0;
}

/* Begins one call. @left: the client left before the batch began. A release runs nevertheless, as a
 * single release does: perhaps only this client knows the lock. */
static void begin_one(struct api_request *request, bool left)
{
    if (!left || request->method == API_DELETE) {
        (void)api_request_complete(request);
        return;
    }
    request->state = API_REQUEST_HANDLING;
    api_problem_answer(request, API_PROBLEM_LEFT);
}

void api_batch_run(struct api_batch *batch)
{
    const bool left = api_request_client_left(batch->request);
    batch->request->batch = batch;
    batch->request->batch_left = tell_calls;
    batch->unanswered = batch->count + 1;
    for (unsigned i = 0; i < batch->count; i++)
        begin_one(batch->calls[i].request, left);
    count_answered(batch);
}

void api_batch_free(struct api_batch *batch)
{
    if (batch == NULL)
        return;
    for (unsigned i = 0; i < batch->count; i++) {
        api_request_end(batch->calls[i].request);
        free(batch->calls[i].request);
        free(batch->calls[i].answer);
    }
    free(batch);
}
