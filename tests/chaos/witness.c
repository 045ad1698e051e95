#include "tests/chaos/witness.h"

#include "tests/lib/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct witness_text witness_resource(unsigned name)
{
    struct witness_text text;
    snprintf(text.bytes, sizeof(text.bytes), "accounts/%u", name);
    return text;
}

struct witness_text witness_owner(const struct client *client, const struct hold *hold)
{
    struct witness_text text;
    snprintf(text.bytes, sizeof(text.bytes), "%u.%u", client->number, hold->turn);
    return text;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void write_down(const struct client *client, const struct history_call *lines,
                       unsigned count)
{
    char text[CLIENT_LOCKS_MAX * HISTORY_LINE_MAX];
    size_t len = 0;
    for (unsigned i = 0; i < count; i++) {
        history_format(&lines[i], text + len);
        len += strlen(text + len);
    }
    if (write(client->history, text, len) != (ssize_t)len) {
        fprintf(stderr, "cannot write the history: %s\n", strerror(errno));
        exit(1);
    }
}

static struct history_call line_of(const struct client *client, enum history_kind kind,
                                   const struct hold *hold, unsigned at)
{
    return (struct history_call){
        .kind = kind,
        .name = hold->name[at],
        .client = client->number,
        .turn = hold->turn,
        .token = hold->token[at],
    };
}

/* Sends @request, and fills in what @line says of how it went. */
static struct call_answer send_one(const struct call_request *request, struct history_call *line)
{
    struct call_answer answer;
    line->sent_us = clock_us();
    call(request, &answer);
    line->answered_us = clock_us();
    line->status = answer.status;
    const int64_t validity_ms = call_integer(&answer, "validity_ms");
    if (validity_ms > 0) /* the contract: reckoned from when the holder asked */
        line->till_us =
            line->sent_us + (uint64_t)(call_integer(&answer, "served_ms") + validity_ms) * 1000;
    return answer;
}

static void expect_allowed(bool allowed, const struct call_request *request,
                           const struct call_answer *answer)
{
    if (allowed)
        return;
    char *body = json_dumps(answer->json, 0);
    fprintf(stderr, "%s %s %s was answered with %d: %s\n", request->method, request->path,
            request->body ? request->body : "", answer->status, body ? body : "");
    exit(1);
}

/* ---- acquires -------------------------------------------------------------------------------- */

/* The token in @answer for lock @at of @hold; 0: there is none. */
static int64_t token_of(const struct call_answer *answer, const struct hold *hold, unsigned at)
{
    if (hold->count == 1)
        return call_integer(answer, "token");
    const struct witness_text resource = witness_resource(hold->name[at]);
    const json_t *grants = json_object_get(answer->json, "grants");
    for (size_t i = 0; i < json_array_size(grants); i++) {
        const json_t *grant = json_array_get(grants, i);
        const char *granted = json_string_value(json_object_get(grant, "resource"));
        if (granted && strcmp(granted, resource.bytes) == 0)
            return json_integer_value(json_object_get(grant, "token"));
    }
    return 0;
}

/* All of it or nothing; under the lock id that was asked with; and only who may have asked before
 * is told that it has the lock already. */
static bool grant_allowed(const struct hold *hold, const struct call_answer *answer)
{
    const char *lock_id = call_string(answer, "lock_id");
    for (unsigned at = 0; at < hold->count; at++)
        if (token_of(answer, hold, at) <= 0)
            return false;
    if (!lock_id || strlen(lock_id) > FENCE_LOCK_ID_MAX)
        return false;
    return hold->ask == HISTORY_PLAIN ? answer->status == 201 : strcmp(lock_id, hold->lock_id) == 0;
}

/* No answer; no majority; too many calls, as where a pawld was stopped and they waited. */
static bool is_put_off(int status)
{
    return status == 0 || status == 503 || status == 429;
}

static bool is_grant(int status)
{
    return status == 201 || status == 200;
}

static enum history_held_by held_by(const struct client *client, const struct hold *hold,
                                    const struct call_answer *answer)
{
    const char *type = call_string(answer, "type");
    const char *owner = call_string(answer, "owner");
    if (!type || !owner || strcmp(type, "urn:pawl:held") != 0)
        return HISTORY_BY_OTHER;
    if (!*owner)
        return HISTORY_BY_NOBODY;
    return strcmp(owner, witness_owner(client, hold).bytes) == 0 ? HISTORY_BY_ITSELF
                                                                 : HISTORY_BY_OTHER;
}

int witness_acquire(const struct client *client, struct hold *hold,
                    const struct call_request *request)
{
    struct history_call lines[CLIENT_LOCKS_MAX];
    struct history_call asked = {0};
    struct call_answer answer = send_one(request, &asked);
    const int status = answer.status;
    expect_allowed(is_grant(status) ? grant_allowed(hold, &answer)
                                    : status == 409 || is_put_off(status),
                   request, &answer);
    for (unsigned at = 0; at < hold->count; at++) {
        if (is_grant(status))
            hold->token[at] = token_of(&answer, hold, at);
        lines[at] = line_of(client, HISTORY_ACQUIRE, hold, at);
        lines[at].token = is_grant(status) ? hold->token[at] : 0;
        lines[at].ask = hold->ask;
        lines[at].names = hold->count;
        lines[at].held_by = held_by(client, hold, &answer);
        lines[at].sent_us = asked.sent_us;
        lines[at].answered_us = asked.answered_us;
        lines[at].status = status;
        lines[at].till_us = asked.till_us;
    }
    write_down(client, lines, hold->count);
    if (is_grant(status))
        snprintf(hold->lock_id, sizeof(hold->lock_id), "%s", call_string(&answer, "lock_id"));
    call_answer_fini(&answer);
    return status;
}

/* ---- other calls ----------------------------------------------------------------------------- */

static bool allowed(enum history_kind kind, int status)
{
    if (is_put_off(status))
        return true;
    switch (kind) {
    case HISTORY_EXTEND:
        return status == 200 || status == 201 || status == 409;
    case HISTORY_RELEASE:
        return status == 200;
    case HISTORY_CLAIM:
        return status == 200 || status == 404 || status == 412;
    case HISTORY_WRITE:
        return status == 200 || status == 201 || status == 412;
    case HISTORY_COUNT:
        return status == 200 || status == 404 || status == 409;
    case HISTORY_ACQUIRE:
    case HISTORY_LEAVE:
    case HISTORY_KINDS:
        break;
    }
    return false;
}

/* Anew under the same lock id, with a token that is no lower. */
static bool anew_allowed(const struct hold *hold, unsigned at, const struct call_answer *answer)
{
    const char *lock_id = call_string(answer, "lock_id");
    return lock_id && strcmp(lock_id, hold->lock_id) == 0 &&
           call_integer(answer, "token") >= hold->token[at];
}

struct call_answer witness_call(const struct client *client, enum history_kind kind,
                                const struct hold *hold, unsigned at,
                                const struct call_request *request)
{
    struct history_call line = line_of(client, kind, hold, at);
    struct call_answer answer = send_one(request, &line);
    const bool anew = kind == HISTORY_EXTEND && answer.status == 201;
    expect_allowed(allowed(kind, answer.status) && (!anew || anew_allowed(hold, at, &answer)),
                   request, &answer);
    if (anew)
        line.token = call_integer(&answer, "token");
    write_down(client, &line, 1);
    return answer;
}

void witness_count(const struct client *client, unsigned name, unsigned values,
                   const struct call_request *request)
{
    struct history_call line = {
        .kind = HISTORY_COUNT, .name = name, .client = client->number, .names = values};
    struct call_answer answer = send_one(request, &line);
    line.token = line.status == 200 ? call_integer(&answer, "value") : 0;
    expect_allowed(allowed(HISTORY_COUNT, line.status) && (line.status != 200 || line.token > 0) &&
                       (line.status != 404 || values == 0),
                   request, &answer);
    write_down(client, &line, 1);
    call_answer_fini(&answer);
}

void witness_leave(const struct client *client, const struct hold *hold, unsigned at)
{
    struct history_call line = line_of(client, HISTORY_LEAVE, hold, at);
    line.sent_us = line.answered_us = clock_us();
    write_down(client, &line, 1);
}
