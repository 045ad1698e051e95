#include "api/auth/auth.h"
#include "api/http/problem_answer.h"
#include "api/v1/locks.h"
#include "api/v1/parts.h"
#include "fence/protocol/error.h"
#include "fence/protocol/name.h"
#include "fence/protocol/owner.h"
#include "fence/protocol/seat.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* A resource and an owner whose every byte is escaped, and the rest. */
    BODY_MAX = 2048,
    SEAT_BODY_MAX = 6 * FENCE_OWNER_MAX + FENCE_KEY_ID_MAX + 192,
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

/* The holder of a lock: its label, and its key for callers that may see it. */
static void write_owner(struct api_writer *writer, struct api_request *request, const char *owner)
{
    char label[FENCE_OWNER_MAX + 1];
    const char *key_id = fence_owner_split(owner, label);
    api_write_string(writer, "owner", label);
    if (key_id[0] != '\0' && api_auth_sees_key(request, key_id))
        api_write_string(writer, "key", key_id);
}

/* How the masters agreed, in a grant and in an extension. */
static void write_masters(struct api_writer *writer, const struct fence_answer *answer)
{
    assert(answer->granted <= answer->total && answer->total <= FENCE_MASTERS_MAX);
    api_write_object(writer, "masters");
    api_write_integer(writer, "granted", answer->granted);
    api_write_integer(writer, "total", answer->total);
    api_write_end(writer);
}

static void write_lease(struct api_writer *writer, const struct fence_answer *answer)
{
    api_write_integer(writer, "ttl_ms", answer->ttl_ms);
    api_write_integer(writer, "validity_ms", (int64_t)answer->validity_ms);
    api_write_integer(writer, "served_ms", (int64_t)answer->served_ms);
    write_masters(writer, answer);
    if (answer->extensions_left >= 0)
        api_write_integer(writer, "extensions_left", answer->extensions_left);
    else
        api_write_null(writer, "extensions_left");
}

static enum api_outcome outcome_of_grant(const struct fence_answer *answer)
{
    return answer->found ? API_OUTCOME_FOUND : API_OUTCOME_GRANTED;
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
    if (answer->mode != FENCE_MODE_WRITE || answer->group == NULL)
        return;
    api_write_array(writer, "grants");
    for (unsigned k = 0; k < answer->group->count; k++)
        write_grant(writer, answer->group->locks[k].resource, answer->group->locks[k].token);
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
    assert(answer->group->count >= FENCE_GROUP_MIN && answer->group->count <= FENCE_GROUP_MAX);
    char body[GROUP_BODY_MAX];
    struct api_writer writer;
    api_writer_init(&writer, body, sizeof(body));
    api_write_object(&writer, NULL);
    api_write_string(&writer, "lock_id", answer->lock_id);
    write_lease(&writer, answer);
    api_write_array(&writer, "grants");
    for (unsigned k = 0; k < answer->group->count; k++)
        write_grant(&writer, answer->group->locks[k].resource, answer->group->locks[k].token);
    api_write_end(&writer);
    api_write_end(&writer);
    answer_json(request, outcome_of_grant(answer), &writer, NULL);
}

/* The token of the grant that holds a lock; null if the masters differ. */
static void write_token_now(struct api_writer *writer, int64_t token)
{
    if (token > 0)
        api_write_integer(writer, "token", token);
    else
        api_write_null(writer, "token");
}

static void write_inspection(struct api_writer *writer, struct api_request *request,
                             const struct fence_answer *answer)
{
    api_write_bool(writer, "held", answer->held);
    if (!answer->held)
        return;
    write_token_now(writer, answer->token);
    write_owner(writer, request, answer->owner);
    api_write_remaining(writer, answer->owner, answer->kept, answer->remaining_ms);
    api_write_integer(writer, "waiters", answer->waiters);
}

static void write_holder(struct api_writer *writer, struct api_request *request,
                         const struct fence_seat_shown *seat)
{
    write_token_now(writer, seat->token);
    write_owner(writer, request, seat->owner);
    api_write_remaining(writer, seat->owner, seat->kept, seat->remaining_ms);
}

static void write_shown(struct api_writer *writer, struct api_request *request, const char *name,
                        const struct fence_seat_shown *seat, bool names_seat)
{
    api_write_object(writer, name);
    if (names_seat)
        api_write_integer(writer, "seat", seat->seat);
    write_holder(writer, request, seat);
    api_write_end(writer);
}

/* The writer: its seats alone are held, and it may have lost some. False: there is none. Its token
 * is the greatest, and its lease the shortest. */
static bool find_writer(const struct fence_answer *answer, struct fence_seat_shown *ret_writer)
{
    const struct fence_seats_shown *shown = answer->shown;
    if (shown->count == 0)
        return false;
    struct fence_seat_shown writer = shown->held[0];
    for (unsigned k = 0; k < shown->count; k++) {
        const struct fence_seat_shown *seat = &shown->held[k];
        if (seat->holder != writer.holder || !fence_owner_writes(seat->owner))
            return false;
        if (seat->token == 0 || (writer.token != 0 && seat->token > writer.token))
            writer.token = seat->token;
        if (seat->remaining_ms < writer.remaining_ms)
            writer.remaining_ms = seat->remaining_ms;
    }
    *ret_writer = writer;
    return true;
}

/* The readers of a name, or its writer. */
static void write_shared(struct api_writer *writer, struct api_request *request,
                         const struct fence_answer *answer)
{
    const struct fence_seats_shown *shown = answer->shown;
    struct fence_seat_shown holder;
    const bool written = find_writer(answer, &holder);
    if (shown->count == 0)
        api_write_null(writer, "mode");
    else
        api_write_string(writer, "mode", written ? "write" : "read");
    if (written)
        write_shown(writer, request, "writer", &holder, false);
    else
        api_write_null(writer, "writer");
    api_write_array(writer, "readers");
    for (unsigned k = 0; k < shown->count && !written; k++)
        write_shown(writer, request, NULL, &shown->held[k], true);
    api_write_end(writer);
}

/* The writer, as a lock under the name of its gate. */
static void answer_inspected_writer(struct api_request *request, const struct fence_answer *answer)
{
    char gate[FENCE_RESOURCE_MAX + 1];
    char body[BODY_MAX];
    struct api_writer writer;
    struct fence_seat_shown held = {.owner = ""};
    const bool written = find_writer(answer, &held);
    (void)snprintf(gate, sizeof(gate), "%s", answer->resource);
    fence_gate_write(gate);
    api_writer_init(&writer, body, sizeof(body));
    api_write_object(&writer, NULL);
    api_write_string(&writer, "resource", gate);
    api_write_bool(&writer, "held", written);
    if (written) {
        api_write_string(&writer, "mode", "write");
        write_holder(&writer, request, &held);
        api_write_integer(&writer, "waiters", answer->waiters);
    }
    api_write_end(&writer);
    answer_json(request, API_OUTCOME_DONE, &writer, NULL);
}

/* The seats of a semaphore that are held, or who reads or writes. */
static void answer_seats(struct api_request *request, const struct fence_answer *answer)
{
    const struct fence_seats_shown *shown = answer->shown;
    const size_t size = BODY_MAX + shown->count * (size_t)SEAT_BODY_MAX;
    char *body = malloc(size);
    if (body == NULL) {
        api_problem_answer(request, API_PROBLEM_NO_MEMORY);
        return;
    }
    struct api_writer writer;
    api_writer_init(&writer, body, size);
    api_write_object(&writer, NULL);
    api_write_string(&writer, "name", answer->resource);
    if (answer->mode == FENCE_MODE_READ) {
        write_shared(&writer, request, answer);
    } else {
        api_write_array(&writer, "held");
        for (unsigned k = 0; k < shown->count; k++)
            write_shown(&writer, request, NULL, &shown->held[k], true);
        api_write_end(&writer);
    }
    api_write_integer(&writer, "waiters", answer->waiters);
    api_write_end(&writer);
    answer_json(request, API_OUTCOME_DONE, &writer, NULL);
    free(body);
}

static void answer_success(struct api_request *request, const struct fence_answer *answer)
{
    assert(answer->error == 0);
    char body[GROUP_BODY_MAX];
    struct api_writer writer;
    enum api_outcome outcome = API_OUTCOME_DONE;
    api_writer_init(&writer, body, sizeof(body));
    api_write_object(&writer, NULL);
    api_write_string(&writer, "resource", answer->resource);

    switch (answer->kind) {
    case FENCE_CALL_ACQUIRE:
        answer_grant(request, &writer, answer);
        return;
    case FENCE_CALL_EXTEND:
        if (answer->anew) {
            answer_grant(request, &writer, answer);
            return;
        }
        write_lease(&writer, answer);
        outcome = API_OUTCOME_EXTENDED;
        break;
    case FENCE_CALL_RELEASE:
        api_write_bool(&writer, "released", answer->released);
        outcome = answer->released ? API_OUTCOME_RELEASED : API_OUTCOME_NOT_HELD;
        break;
    case FENCE_CALL_INSPECT:
    case FENCE_CALL_WATCH:
        write_inspection(&writer, request, answer);
        break;
    case FENCE_CALL_BREAK:
        api_write_bool(&writer, "released", answer->released);
        api_write_integer(&writer, "token", answer->token);
        outcome = answer->released ? API_OUTCOME_RELEASED : API_OUTCOME_NOT_HELD;
        break;
    case FENCE_CALL_COUNT: /* api/v1/counters.h */
        break;
    }
    api_write_end(&writer);
    answer_json(request, outcome, &writer, NULL);
}

/* The bound is the fleet's own, so the table cannot name it. */
static void answer_long_ttl(struct api_request *request, const struct fence_answer *answer)
{
    assert(answer->error == FENCE_ETTL && answer->ttl_max_ms > 0);
    char detail[API_DETAIL_MAX];
    (void)snprintf(detail, sizeof(detail),
                   "ttl_ms%s longer than the fleet allows. Send at most %" PRIu32 ".",
                   answer->delay_ms > 0 ? " and delay_ms together are" : " is", answer->ttl_max_ms);
    char body[API_PROBLEM_BODY_MAX];
    struct api_writer writer;
    api_problem_begin(&writer, body, API_PROBLEM_TTL, detail);
    api_write_integer(&writer, "ttl_max_ms", answer->ttl_max_ms);
    api_problem_end(&writer, request, API_PROBLEM_TTL, -1);
}

/* Problems that only a person can mend. The sentence names the key, so the table cannot have it. */
static void explain_obstacle(const struct fence_answer *answer,
                             char ret_detail[static API_DETAIL_MAX])
{
    assert(fence_error_is_obstacle(answer->error));
    const char *name = answer->resource;
    unsigned slot = fence_slot(name, strlen(name));
    switch (answer->error) {
    case FENCE_EFOREIGN:
        (void)snprintf(ret_detail, API_DETAIL_MAX,
                       "The key " FENCE_LOCK_KEY
                       "%s has a value that Pawl did not write, on the masters that refused. Find "
                       "the program that wrote it, and delete the key there.",
                       name);
        break;
    case FENCE_EENDLESS:
        (void)snprintf(ret_detail, API_DETAIL_MAX,
                       "The key " FENCE_LOCK_KEY
                       "%s has no expiry on the masters that refused, so this lock never expires. "
                       "Release it with its Lock-Id, or set an expiry there (PEXPIRE), or delete "
                       "the key after its holder has stopped.",
                       name);
        break;
    case FENCE_ESPENT:
        (void)snprintf(
            ret_detail, API_DETAIL_MAX,
            "The field %u of " FENCE_FLEET_KEY
            " counts the tokens of this name. On the masters that refused it has "
            "its greatest value. Use another name. If another program set the field, set it "
            "to the highest token that a guard has seen.",
            slot);
        break;
    default:
        (void)snprintf(
            ret_detail, API_DETAIL_MAX,
            "The field %u of " FENCE_FLEET_KEY
            " counts the tokens of this name. The masters that refused have a value that Pawl did "
            "not write. Set the field to the highest token that a guard has seen, or higher.",
            slot);
        break;
    }
}

static void answer_obstacle(struct api_request *request, const struct fence_answer *answer)
{
    enum api_problem problem = api_problem_of(answer->error);
    char detail[API_DETAIL_MAX];
    char body[API_PROBLEM_BODY_MAX];
    struct api_writer writer;
    explain_obstacle(answer, detail);
    api_problem_begin(&writer, body, problem, detail);
    api_write_string(&writer, "resource", answer->resource);
    api_write_parts(&writer, answer->parts, answer->total);
    api_problem_end(&writer, request, problem, -1);
}

static int64_t seconds_rounded_up(uint64_t ms)
{
    return (int64_t)((ms + 999) / 1000);
}

static void answer_failure(struct api_request *request, const struct fence_answer *answer)
{
    assert(answer->error < 0);
    enum api_problem problem = api_problem_of(answer->error);
    int64_t retry_after_s = -1;
    char body[API_PROBLEM_BODY_MAX];
    struct api_writer writer;
    api_problem_begin(&writer, body, problem, NULL);
    api_write_string(&writer, "resource", answer->resource);

    switch (answer->error) {
    case FENCE_EHELD:
    case FENCE_EWAITTIMEOUT:
        api_write_integer(&writer, "retry_after_ms", (int64_t)answer->remaining_ms);
        write_owner(&writer, request, answer->owner);
        retry_after_s = seconds_rounded_up(answer->remaining_ms);
        break;
    case FENCE_EBROKEN:
        if (answer->owner[0] != '\0')
            api_write_string(&writer, "by", answer->owner);
        else
            api_write_null(&writer, "by");
        break;
    case FENCE_EMISMATCH:
        write_token_now(&writer, answer->token);
        break;
    case FENCE_ENOQUORUM:
        api_write_parts(&writer, answer->parts, answer->total);
        break;
    default:
        break;
    }
    api_problem_end(&writer, request, problem, retry_after_s);
}

/* Reports whether the grant is over that the key holds. All seats of a semaphore count alike for
 * one lock id: only a seat that was released is known to be the one that the lock id had. */
static bool ends_hold(const struct fence_answer *answer)
{
    if (answer->kind == FENCE_CALL_RELEASE && answer->error == 0 && answer->released)
        return true;
    if (strchr(answer->resource, '#') != NULL)
        return false;
    return (answer->kind == FENCE_CALL_RELEASE && answer->error == 0) ||
           (answer->kind == FENCE_CALL_EXTEND &&
            (answer->error == FENCE_ELOCKLOST || answer->error == FENCE_EBROKEN));
}

/* Updates the cap of the key for the answer, before the request ends. */
static void note_use(struct api_request *request, const struct fence_answer *answer, bool left)
{
    const bool grants = answer->kind == FENCE_CALL_ACQUIRE && answer->error == 0 && !left;
    const bool writes = answer->mode == FENCE_MODE_WRITE;
    const struct fence_group *group = writes ? NULL : answer->group;
    if (grants && writes) /* one mark for all seats of the name */
        api_auth_granted_all(request, answer->lock_id, answer->resource, answer->group->count,
                             answer->ttl_ms + answer->delay_ms);
    for (unsigned k = 0; grants && group && k < group->count; k++)
        api_auth_granted(request, answer->lock_id, group->locks[k].resource,
                         answer->ttl_ms + answer->delay_ms);
    if (grants && !group && !writes)
        api_auth_granted(request, answer->lock_id, answer->resource,
                         answer->ttl_ms + answer->delay_ms);
    if (answer->kind == FENCE_CALL_EXTEND && answer->error == 0)
        api_auth_extended(request, answer->lock_id, answer->resource, answer->ttl_ms);
    if (answer->kind == FENCE_CALL_RELEASE && answer->keep_ms > 0)
        api_auth_kept(request, answer->lock_id, answer->resource, answer->keep_ms);
    else if (ends_hold(answer))
        api_auth_ended(request, answer->lock_id, answer->resource);
    if (answer->kind == FENCE_CALL_BREAK && answer->error == 0 && answer->released)
        api_auth_broken(request, answer->broken_id, answer->resource);
}

void api_locks_answer(const struct fence_answer *answer, bool left)
{
    struct api_request *request = api_request_of_client(answer->client);
    assert(answer->kind != FENCE_CALL_COUNT);
    note_use(request, answer, left);
    if (left && answer->error == 0 && answer->kind == FENCE_CALL_ACQUIRE)
        api_problem_answer(request, API_PROBLEM_LEFT); /* its grant is undone */
    else if (answer->error == FENCE_ELEFT && !left)
        api_problem_answer(request, API_PROBLEM_STOPPING); /* its wait was ended for it */
    else if (answer->error == 0 && answer->group && answer->mode == FENCE_MODE_PLAIN)
        answer_group(request, answer);
    else if (answer->error == 0 && answer->shown && answer->mode == FENCE_MODE_WRITE)
        answer_inspected_writer(request, answer);
    else if (answer->error == 0 && answer->shown)
        answer_seats(request, answer);
    else if (answer->error == 0)
        answer_success(request, answer);
    else if (answer->error == FENCE_ETTL)
        answer_long_ttl(request, answer);
    else if (fence_error_is_obstacle(answer->error))
        answer_obstacle(request, answer);
    else
        answer_failure(request, answer);
}
