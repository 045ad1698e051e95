#include "api/auth/auth.h"
#include "api/http/problem_answer.h"
#include "api/v1/locks.h"
#include "api/v1/locks_problem.h"
#include "api/v1/locks_shown.h"
#include "api/v1/write_answer.h"
#include "fence/protocol/error.h"
#include "fence/protocol/seat.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum {
    /* A resource and an owner whose every byte is escaped, and the rest. */
    BODY_MAX = 2048,
    /* And of several: a resource needs no escapes. */
    GROUP_BODY_MAX = BODY_MAX + FENCE_GROUP_MAX * (FENCE_RESOURCE_MAX + 64),
};

static void answer_json(struct api_request *request, enum api_outcome outcome,
                        const struct api_writer *writer, const struct api_field *field)
{
    assert(writer->len > 0);
    struct api_answer answer = {
        .status = outcome == API_OUTCOME_GRANTED ? 201 : 200,
        .outcome = outcome,
        .body = writer->buffer,
        .len = writer->len,
    };
    if (field != NULL)
        answer.fields[0] = *field;
    api_request_answer(request, &answer);
}

/* How the masters agreed, in a grant and in an extension. */
static void write_masters(struct api_writer *writer, const struct fence_answer *answer)
{
    assert(answer->lease.granted <= answer->total && answer->total <= FENCE_MASTERS_MAX);
    api_write_object(writer, "masters");
    api_write_integer(writer, "granted", answer->lease.granted);
    api_write_integer(writer, "total", answer->total);
    api_write_end(writer);
}

static void write_lease(struct api_writer *writer, const struct fence_answer *answer)
{
    api_write_integer(writer, "ttl_ms", answer->lease.ttl_ms);
    api_write_integer(writer, "validity_ms", (int64_t)answer->lease.validity_ms);
    api_write_integer(writer, "served_ms", (int64_t)(answer->served_us / 1000));
    write_masters(writer, answer);
    if (answer->lease.extensions_left >= 0)
        api_write_integer(writer, "extensions_left", answer->lease.extensions_left);
    else
        api_write_null(writer, "extensions_left");
}

static enum api_outcome outcome_of_grant(const struct fence_answer *answer)
{
    return answer->acquire.found ? API_OUTCOME_FOUND : API_OUTCOME_GRANTED;
}

/* The seat of a semaphore that was granted: the answer's resource is the seat. */
static void write_seat(struct api_writer *writer, const struct fence_answer *answer)
{
    unsigned seat = 0;
    if (answer->seats > 0 && fence_seat_read(answer->resource, strlen(answer->resource), &seat))
        api_write_integer(writer, "seat", seat);
}

static void write_mode(struct api_writer *writer, const struct fence_answer *answer)
{
    if (answer->mode != FENCE_MODE_PLAIN)
        api_write_string(writer, "mode", answer->mode == FENCE_MODE_READ ? "read" : "write");
}

static void write_grant(struct api_writer *writer, const char *resource, int64_t token)
{
    api_write_object(writer, NULL);
    api_write_string(writer, "resource", resource);
    api_write_integer(writer, "token", token);
    api_write_end(writer);
}

/* The locks of a writer, so that PATCH and DELETE of several take them: each seat, and the gate. */
static void write_writer_grants(struct api_writer *writer, const struct fence_answer *answer)
{
    char gate[FENCE_RESOURCE_MAX + 1];
    if (answer->mode != FENCE_MODE_WRITE || answer->acquire.group == NULL)
        return;
    api_write_array(writer, "grants");
    for (unsigned k = 0; k < answer->acquire.group->count; k++)
        write_grant(writer, answer->acquire.group->locks[k].resource,
                    answer->acquire.group->locks[k].token);
    (void)snprintf(gate, sizeof(gate), "%s", answer->resource);
    fence_gate_write(gate);
    write_grant(writer, gate, answer->token);
    api_write_end(writer);
}

static void answer_grant(struct api_request *request, struct api_writer *writer,
                         const struct fence_answer *answer)
{
    assert(answer->error == 0 && answer->lock_id[0] != '\0' && answer->token >= 1);
    write_mode(writer, answer);
    write_seat(writer, answer);
    write_writer_grants(writer, answer);
    api_write_string(writer, "lock_id", answer->lock_id);
    api_write_integer(writer, "token", answer->token);
    write_lease(writer, answer);
    api_write_end(writer);

    char token[API_DIGITS_MAX];
    (void)api_digits(answer->token, token);
    const struct api_field field = {api_header_name(API_HEADER_FENCING_TOKEN), token};
    answer_json(request, outcome_of_grant(answer), writer, &field);
}

/* Several at once: one lease, a token for each. */
static void answer_group(struct api_request *request, const struct fence_answer *answer)
{
    assert(answer->acquire.group->count >= FENCE_GROUP_MIN &&
           answer->acquire.group->count <= FENCE_GROUP_MAX);
    char body[GROUP_BODY_MAX];
    struct api_writer writer;
    api_write_about(&writer, body, sizeof(body), "lock_id", answer->lock_id);
    write_lease(&writer, answer);
    api_write_array(&writer, "grants");
    for (unsigned k = 0; k < answer->acquire.group->count; k++)
        write_grant(&writer, answer->acquire.group->locks[k].resource,
                    answer->acquire.group->locks[k].token);
    api_write_end(&writer);
    api_write_end(&writer);
    answer_json(request, outcome_of_grant(answer), &writer, NULL);
}

/* One lock, or a seat. */
static void answer_one(struct api_request *request, const struct fence_answer *answer)
{
    char body[GROUP_BODY_MAX];
    struct api_writer writer;
    api_write_about(&writer, body, sizeof(body), "resource", answer->resource);
    answer_grant(request, &writer, answer);
}

static void answer_extended(struct api_request *request, const struct fence_answer *answer)
{
    char body[BODY_MAX];
    struct api_writer writer;
    api_write_about(&writer, body, sizeof(body), "resource", answer->resource);
    write_lease(&writer, answer);
    api_write_end(&writer);
    answer_json(request, API_OUTCOME_EXTENDED, &writer, NULL);
}

/* A release, or a break, which names the @token that it ended: 0 otherwise. */
static void answer_released(struct api_request *request, const char *resource, bool released,
                            int64_t token)
{
    char body[BODY_MAX];
    struct api_writer writer;
    api_write_about(&writer, body, sizeof(body), "resource", resource);
    api_write_bool(&writer, "released", released);
    if (token > 0)
        api_write_integer(&writer, "token", token);
    api_write_end(&writer);
    answer_json(request, released ? API_OUTCOME_RELEASED : API_OUTCOME_NOT_HELD, &writer, NULL);
}

static void answer_success(struct api_request *request, const struct fence_answer *answer)
{
    switch (answer->kind) {
    case FENCE_CALL_ACQUIRE:
        if (answer->acquire.group && answer->mode == FENCE_MODE_PLAIN)
            answer_group(request, answer);
        else
            answer_one(request, answer);
        break;
    case FENCE_CALL_EXTEND:
        if (answer->extend.anew)
            answer_one(request, answer);
        else
            answer_extended(request, answer);
        break;
    case FENCE_CALL_RELEASE:
        answer_released(request, answer->resource, answer->release.released, 0);
        break;
    case FENCE_CALL_BREAK:
        answer_released(request, answer->resource, answer->breaks.released, answer->token);
        break;
    case FENCE_CALL_INSPECT:
    case FENCE_CALL_WATCH:
        api_locks_shown(request, answer);
        break;
    case FENCE_CALL_COUNT: /* api/v1/counters.h */
        break;
    }
}

/* Reports whether the grant that the key holds has ended. For one lock id all seats of a semaphore
 * count alike: only a released seat is known to be the seat of the lock id. */
static bool ends_hold(const struct fence_answer *answer)
{
    if (answer->kind == FENCE_CALL_RELEASE && answer->error == 0 && answer->release.released)
        return true;
    if (strchr(answer->resource, '#') != NULL)
        return false;
    return (answer->kind == FENCE_CALL_RELEASE && answer->error == 0) ||
           (answer->kind == FENCE_CALL_EXTEND &&
            (answer->error == FENCE_ELOCKLOST || answer->error == FENCE_EBROKEN));
}

/* Counts a grant for the cap of the key. */
static void note_grant(struct api_request *request, const struct fence_answer *answer)
{
    const struct fence_group *group = answer->acquire.group;
    const uint32_t lasts_ms = answer->lease.ttl_ms + answer->lease.delay_ms;
    if (answer->mode == FENCE_MODE_WRITE) /* one mark for all seats of the name */
        api_auth_granted_all(request, answer->lock_id, answer->resource, group->count, lasts_ms);
    else if (group == NULL)
        api_auth_granted(request, answer->lock_id, answer->resource, lasts_ms);
    for (unsigned k = 0; answer->mode == FENCE_MODE_PLAIN && group && k < group->count; k++)
        api_auth_granted(request, answer->lock_id, group->locks[k].resource, lasts_ms);
}

/* Updates the cap of the key for the answer. The request is still valid. */
static void note_use(struct api_request *request, const struct fence_answer *answer, bool left)
{
    if (answer->kind == FENCE_CALL_ACQUIRE && answer->error == 0 && !left)
        note_grant(request, answer);
    if (answer->kind == FENCE_CALL_EXTEND && answer->error == 0)
        api_auth_extended(request, answer->lock_id, answer->resource, answer->lease.ttl_ms);
    if (answer->kind == FENCE_CALL_RELEASE && answer->release.keep_ms > 0)
        api_auth_kept(request, answer->lock_id, answer->resource, answer->release.keep_ms);
    else if (ends_hold(answer))
        api_auth_ended(request, answer->lock_id, answer->resource);
    if (answer->kind == FENCE_CALL_BREAK && answer->error == 0 && answer->breaks.released)
        api_auth_broken(request, answer->breaks.lock_id, answer->resource);
}

void api_locks_answer(const struct fence_answer *answer, bool left)
{
    struct api_request *request = api_request_of_client(answer->client);
    assert(answer->kind != FENCE_CALL_COUNT);
    note_use(request, answer, left);
    if (left && answer->error == 0 && answer->kind == FENCE_CALL_ACQUIRE)
        api_problem_answer(request, API_PROBLEM_LEFT); /* its grant is undone */
    else if (answer->error == FENCE_ELEFT && !left)
        api_problem_answer(request, API_PROBLEM_STOPPING); /* the server ended its wait */
    else if (answer->error == 0)
        answer_success(request, answer);
    else
        api_locks_problem(request, answer);
}
