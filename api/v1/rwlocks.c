#include "api/v1/rwlocks.h"

#include "api/auth/auth.h"
#include "api/http/batch.h"
#include "api/http/input.h"
#include "api/http/problem_answer.h"
#include "api/json/writer.h"
#include "api/v1/group.h"
#include "fence/protocol/seat.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NO_SEAT = -1,
    TTL_MAX = 32,    /* bytes of {"ttl_ms":...}, terminated */
    FORCE_MAX = 16,  /* bytes of the query's "force" that are looked at */
    BODY_MAX = 1024, /* bytes of an answer: the name needs no escapes */
};

/* ---- the answers of a writer's locks, as one ------------------------------------------------- */

/* The integer behind @member in @body, which this server wrote; @otherwise: there is none. */
static int64_t integer_in(const char *body, const char *member, int64_t otherwise)
{
    char *end = NULL;
    const char *at = strstr(body, member);
    if (at == NULL)
        return otherwise;
    at += strlen(member);
    const long long value = strtoll(at, &end, 10);
    return end != at ? value : otherwise;
}

static bool succeeded(const struct api_batch_answer *answer)
{
    return answer->status == 200 || answer->status == 201;
}

/* Reports whether the holder must stop. */
static bool means_lost(const struct api_batch_answer *answer)
{
    return strstr(answer->body, "urn:pawl:lock-lost") != NULL ||
           strstr(answer->body, "urn:pawl:lock-broken") != NULL;
}

/* Returns the first seat that failed, and prefers a lost or broken one; NULL: none failed. The
 * gate, which is last, does not decide. */
static const struct api_batch_answer *first_failed(const struct api_batch_answer answers[],
                                                   unsigned count)
{
    assert(count >= 2);
    const struct api_batch_answer *failed = NULL;
    for (unsigned k = 0; k + 1 < count; k++)
        if (!succeeded(&answers[k]) && (failed == NULL || means_lost(&answers[k])))
            failed = &answers[k];
    return failed;
}

static void hand_on_problem(struct api_request *request, const struct api_batch_answer *failed)
{
    struct api_answer answer = {
        .status = failed->status,
        .content_type = "application/problem+json",
        .outcome = API_OUTCOME_DONE,
        .body = failed->body,
        .len = strlen(failed->body),
    };
    if (failed->retry_after != NULL)
        answer.fields[0] = (struct api_field){"Retry-After", failed->retry_after};
    api_request_answer(request, &answer);
}

static void answer_writer(struct api_request *request, struct api_writer *writer, unsigned status,
                          enum api_outcome outcome)
{
    api_write_end(writer);
    const struct api_answer answer = {
        .status = status, .outcome = outcome, .body = writer->buffer, .len = writer->len};
    api_request_answer(request, &answer);
}

static void begin_mode(struct api_writer *writer, char *body, size_t size,
                       const struct api_request *request, const char *mode)
{
    api_writer_init(writer, body, size);
    api_write_object(writer, NULL);
    api_write_string(writer, "resource", api_request_param(request, 0));
    api_write_string(writer, "mode", mode);
}

static void begin_writer(struct api_writer *writer, char *body, size_t size,
                         const struct api_request *request)
{
    begin_mode(writer, body, size, request, "write");
}

/* A seat that was acquired again has a new token, and so has the writer. A client adds served_ms
 * and validity_ms: their sum must be that of the seat whose lease ends first. */
static void finish_extension(struct api_request *request, const void *context,
                             const struct api_batch_answer answers[], unsigned count)
{
    (void)context;
    const struct api_batch_answer *failed = first_failed(answers, count);
    int64_t token = 0, lasts_ms = INT64_MAX, ttl_ms = 0, served_ms = 0;
    unsigned status = 200;
    if (failed != NULL) {
        hand_on_problem(request, failed);
        return;
    }
    if (api_input_token(request, &token) != 0)
        return; /* it was read before */
    for (unsigned k = 0; k + 1 < count; k++) {
        const int64_t valid_ms = integer_in(answers[k].body, "\"validity_ms\":", 0);
        const int64_t seat_token = integer_in(answers[k].body, "\"token\":", 0);
        token = seat_token > token ? seat_token : token;
        const int64_t seat_ms = integer_in(answers[k].body, "\"served_ms\":", 0);
        served_ms = seat_ms > served_ms ? seat_ms : served_ms;
        lasts_ms = seat_ms + valid_ms < lasts_ms ? seat_ms + valid_ms : lasts_ms;
        ttl_ms = integer_in(answers[k].body, "\"ttl_ms\":", ttl_ms);
        status = answers[k].status > status ? answers[k].status : status;
    }
    char body[BODY_MAX];
    struct api_writer writer;
    begin_writer(&writer, body, sizeof(body), request);
    api_write_integer(&writer, "token", token);
    api_write_integer(&writer, "ttl_ms", ttl_ms);
    api_write_integer(&writer, "validity_ms", lasts_ms > served_ms ? lasts_ms - served_ms : 0);
    api_write_integer(&writer, "served_ms", served_ms);
    answer_writer(request, &writer, status,
                  status == 201 ? API_OUTCOME_GRANTED : API_OUTCOME_EXTENDED);
}

static bool part_was_released(const struct api_batch_answer *answer)
{
    return strstr(answer->body, "\"released\":true") != NULL;
}

/* A writer had all seats. A reader had one seat, and never the gate, which is last. */
static void finish_release(struct api_request *request, const void *context,
                           const struct api_batch_answer answers[], unsigned count)
{
    (void)context;
    const struct api_batch_answer *failed = first_failed(answers, count);
    unsigned seats = 0;
    if (failed != NULL) {
        hand_on_problem(request, failed);
        return;
    }
    for (unsigned k = 0; k + 1 < count; k++)
        seats += part_was_released(&answers[k]);
    const bool reader = seats == 1 && !part_was_released(&answers[count - 1]);
    const bool released = reader || seats == count - 1;
    char body[BODY_MAX];
    struct api_writer writer;
    begin_mode(&writer, body, sizeof(body), request, reader ? "read" : "write");
    api_write_bool(&writer, "released", released);
    answer_writer(request, &writer, 200, released ? API_OUTCOME_RELEASED : API_OUTCOME_NOT_HELD);
}

/* ---- the calls ------------------------------------------------------------------------------- */

/* FENCE_ENOMEM. @readers: how many seats the fleet has. */
static int add_writers_calls(struct api_batch *batch, unsigned readers, const char *name,
                             const struct api_batch_call *call)
{
    char lock[FENCE_RESOURCE_MAX + 1];
    char path[API_LOCK_PATH_MAX + 1];
    int result = 0;
    (void)snprintf(lock, sizeof(lock), "%s", name);
    for (unsigned k = 0; k <= readers && result == 0; k++) {
        struct api_batch_call one = *call;
        if (k < readers)
            fence_seat_write(lock, k);
        else
            fence_gate_write(lock);
        api_lock_path(lock, path);
        one.path = path;
        result = api_batch_add(batch, &one);
    }
    return result;
}

static void call_for_writer(struct api_request *request, const struct api_backend *backend,
                            const char *name, const struct api_batch_call *call,
                            api_batch_finisher *finish)
{
    struct api_batch *batch = NULL;
    const unsigned readers = backend->fleet->readers;
    if (readers == 0) {
        api_problem_answer(request, API_PROBLEM_NOT_READY);
        return;
    }
    if (api_batch_new(request, &batch) == 0 && add_writers_calls(batch, readers, name, call) == 0) {
        api_batch_finish(batch, finish, NULL);
        api_batch_run(batch);
        return;
    }
    api_batch_free(batch);
    api_problem_answer(request, API_PROBLEM_NO_MEMORY);
}

/* @name with the seat of a reader. */
static void name_seat(const char *name, int64_t seat, char ret_lock[static FENCE_RESOURCE_MAX + 1])
{
    (void)snprintf(ret_lock, FENCE_RESOURCE_MAX + 1, "%s", name);
    fence_seat_write(ret_lock, (unsigned)seat);
}

static void extend_shared(struct api_request *request, void *context)
{
    const struct api_backend *backend = context;
    const uint32_t max_ms = backend->fleet->ttl_max_ms;
    struct fence_call call = {
        .kind = FENCE_CALL_EXTEND, .client = api_request_client(request), .owner = ""};
    const char *name = NULL;
    char lock[FENCE_RESOURCE_MAX + 1], body[TTL_MAX];
    int64_t seat = NO_SEAT;
    int64_t ttl_ms = max_ms != 0 && max_ms < FENCE_TTL_DEFAULT_MS ? max_ms : FENCE_TTL_DEFAULT_MS;
    const struct api_json_member members[] = {
        {"seat", API_JSON_INTEGER, .max = FENCE_READERS_MAX - 1, .integer = &seat},
        {"ttl_ms", API_JSON_INTEGER, .min = FENCE_TTL_MIN_MS, .max = FENCE_TTL_CEILING_MS,
         .told_max = max_ms, .integer = &ttl_ms},
    };
    if (api_input_rwlock(request, 0, &name) != 0 || api_input_lock_id(request, &call.lock_id) != 0)
        return;
    const int result = api_input_token(request, &call.token);
    if (result == FENCE_ENOENT)
        api_problem_answer_detail(request, API_PROBLEM_INVALID,
                                  "Send the token of the grant in the Fencing-Token header.");
    if (result != 0 || api_input_body(request, members, 2) != 0)
        return;
    if (seat != NO_SEAT) {
        name_seat(name, seat, lock);
        call.resource = lock;
        call.ttl_ms = (uint32_t)ttl_ms;
        backend->call(backend->context, &call);
        return;
    }
    (void)snprintf(body, sizeof(body), "{\"ttl_ms\":%" PRId64 "}", ttl_ms);
    const struct api_batch_call each = {
        .method = "PATCH",
        .lock_id = call.lock_id,
        .token = api_request_header(request, API_HEADER_FENCING_TOKEN),
        .body = body,
    };
    call_for_writer(request, backend, name, &each, finish_extension);
}

/* ---- breaking a writer ----------------------------------------------------------------------- */

/* The name in the path of @request, which may name the gate. */
static void rwlock_of(const struct api_request *request,
                      char ret_name[static FENCE_RESOURCE_MAX + 1])
{
    const char *text = api_request_param(request, 0);
    (void)snprintf(ret_name, FENCE_RESOURCE_MAX + 1, "%.*s", (int)strcspn(text, "#"), text);
}

static void answer_broken(struct api_request *request, int64_t token, bool released)
{
    char body[BODY_MAX];
    struct api_writer writer;
    begin_writer(&writer, body, sizeof(body), request);
    api_write_bool(&writer, "released", released);
    api_write_integer(&writer, "token", token);
    answer_writer(request, &writer, 200, released ? API_OUTCOME_RELEASED : API_OUTCOME_NOT_HELD);
}

/* @now: the writer's token. 0: the masters differ. */
static void answer_mismatch(struct api_request *request, int64_t now)
{
    char body[API_PROBLEM_BODY_MAX];
    struct api_writer writer;
    api_problem_begin(&writer, body, API_PROBLEM_TOKEN_MISMATCH, NULL);
    api_write_string(&writer, "resource", api_request_param(request, 0));
    if (now > 0)
        api_write_integer(&writer, "token", now);
    else
        api_write_null(&writer, "token");
    api_problem_end(&writer, request, API_PROBLEM_TOKEN_MISMATCH, -1);
}

static void finish_break(struct api_request *request, const void *context,
                         const struct api_batch_answer answers[], unsigned count)
{
    (void)context;
    int64_t token = 0;
    for (unsigned k = 0; k < count; k++) {
        if (succeeded(&answers[k]))
            continue;
        hand_on_problem(request, &answers[k]);
        return;
    }
    if (api_input_if_match(request, &token) == 0)
        answer_broken(request, token, true);
}

/* If the client's token is the writer's, begins the batch that breaks the writer. */
static void break_if_seen(struct api_request *request, const void *context,
                          const struct api_batch_answer answers[], unsigned count)
{
    const struct api_backend *backend = context;
    int64_t token = 0;
    char match[API_DIGITS_MAX + 2], name[FENCE_RESOURCE_MAX + 1];
    assert(count == 1);
    if (!succeeded(&answers[0])) {
        hand_on_problem(request, &answers[0]);
        return;
    }
    if (api_input_if_match(request, &token) != 0)
        return; /* it was read before */
    const int64_t seen = integer_in(answers[0].body, "\"token\":", 0);
    if (strstr(answers[0].body, "\"held\":true") == NULL) {
        answer_broken(request, token, false);
        return;
    }
    if (seen != token) {
        answer_mismatch(request, seen);
        return;
    }
    (void)snprintf(match, sizeof(match), "\"%" PRId64 "\"", token);
    rwlock_of(request, name);
    call_for_writer(request, backend, name,
                    &(struct api_batch_call){.method = "DELETE", .match = match, .force = true},
                    finish_break);
}

void api_rwlocks_break(struct api_request *request, const struct api_backend *backend,
                       const char *name)
{
    struct api_batch *batch = NULL;
    char gate[FENCE_RESOURCE_MAX + 1], path[API_LOCK_PATH_MAX + 1];
    int64_t token = 0;
    if (api_auth_require(request, API_RIGHT_ADMIN, name) != 0 ||
        api_input_break_token(request, &token) != 0)
        return;
    (void)snprintf(gate, sizeof(gate), "%s", name);
    fence_gate_write(gate);
    api_lock_path(gate, path);
    const struct api_batch_call look = {.method = "GET", .path = path};
    if (api_batch_new(request, &batch) == 0 && api_batch_add(batch, &look) == 0) {
        api_batch_finish(batch, break_if_seen, backend);
        api_batch_run(batch);
        return;
    }
    api_batch_free(batch);
    api_problem_answer(request, API_PROBLEM_NO_MEMORY);
}

static void break_shared(struct api_request *request, const struct api_backend *backend,
                         const char *name, const char *force, int64_t seat)
{
    if (strcmp(force, "true") != 0)
        api_problem_answer_detail(request, API_PROBLEM_INVALID,
                                  "The parameter 'force' must be 'true'. To release your own lock, "
                                  "leave out 'force'.");
    else if (seat != NO_SEAT)
        api_problem_answer_detail(
            request, API_PROBLEM_INVALID,
            "Leave out 'seat': with 'force', this call breaks the writer. To break a reader, "
            "send DELETE /v1/locks/{name}%%23{seat}?force=true.");
    else
        api_rwlocks_break(request, backend, name);
}

/* ---- releasing ------------------------------------------------------------------------------- */

static void release_shared(struct api_request *request, void *context)
{
    const struct api_backend *backend = context;
    struct fence_call call = {
        .kind = FENCE_CALL_RELEASE, .client = api_request_client(request), .owner = ""};
    const char *name = NULL;
    char lock[FENCE_RESOURCE_MAX + 1];
    char force[FORCE_MAX + 1] = "";
    int64_t seat = NO_SEAT;
    const struct api_query_param params[] = {
        {.name = "seat", .type = API_QUERY_INTEGER, .max = FENCE_READERS_MAX - 1, .integer = &seat},
        {.name = "force", .type = API_QUERY_TEXT, .min = 1, .max = FORCE_MAX, .text = force},
    };
    if (api_input_rwlock(request, 0, &name) != 0 || api_input_query(request, params, 2) != 0)
        return;
    if (force[0] != '\0') {
        break_shared(request, backend, name, force, seat);
        return;
    }
    if (api_input_lock_id(request, &call.lock_id) != 0)
        return;
    if (seat != NO_SEAT) {
        name_seat(name, seat, lock);
        call.resource = lock;
        backend->call(backend->context, &call);
        return;
    }
    const struct api_batch_call each = {
        .method = "DELETE", .lock_id = call.lock_id, .covers = true};
    call_for_writer(request, backend, name, &each, finish_release);
}

struct api_routes api_rwlocks_routes(struct api_backend *backend)
{
    static const struct api_route routes[] = {
        {API_PATCH, "/v1/rwlocks/{name...}", extend_shared, API_TAKES_BODY, API_RIGHT_LOCK,
         "extend_shared", API_COSTLY_EVEN_LEFT},
        {API_DELETE, "/v1/rwlocks/{name...}", release_shared, API_TAKES_QUERY, API_RIGHT_LOCK,
         "release_shared", API_COSTLY_EVEN_LEFT},
    };
    return (struct api_routes){routes, sizeof(routes) / sizeof(routes[0]), backend};
}
