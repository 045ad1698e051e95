#include "api/v1/write_answer.h"

#include "api/auth/auth.h"
#include "api/http/problem_answer.h"
#include "fence/protocol/owner.h"

#include <assert.h>
#include <stdlib.h>

void api_write_parts(struct api_writer *writer, const enum fence_part parts[], unsigned total)
{
    assert(total <= FENCE_MASTERS_MAX);
    api_write_array(writer, "masters");
    for (unsigned i = 0; i < total; i++)
        api_write_string(writer, NULL, fence_part_name(parts[i]));
    api_write_end(writer);
}

void api_write_token_now(struct api_writer *writer, int64_t token)
{
    if (token > 0)
        api_write_integer(writer, "token", token);
    else
        api_write_null(writer, "token");
}

void api_write_owner(struct api_writer *writer, struct api_request *request, const char *owner)
{
    char label[FENCE_OWNER_MAX + 1];
    const char *key_id = fence_owner_split(owner, label);
    api_write_string(writer, "owner", label);
    if (key_id[0] != '\0' && api_auth_sees_key(request, key_id))
        api_write_string(writer, "key", key_id);
}

void api_write_remaining(struct api_writer *writer, const char *owner, bool kept,
                         uint64_t remaining_ms)
{
    const uint32_t delay_ms = kept ? 0 : fence_owner_delay_ms(owner);
    api_write_integer(writer, "remaining_ms", (int64_t)remaining_ms);
    if (delay_ms > 0)
        api_write_integer(writer, "delay_ms", delay_ms);
    if (kept || (delay_ms > 0 && remaining_ms <= delay_ms))
        api_write_string(writer, "closed", kept ? "kept" : "delay");
}

char *api_body_new(struct api_request *request, size_t size)
{
    char *body = malloc(size);
    if (body == NULL)
        api_problem_answer(request, API_PROBLEM_NO_MEMORY);
    return body;
}

void api_write_about(struct api_writer *writer, char *body, size_t size, const char *member,
                     const char *name)
{
    api_writer_init(writer, body, size);
    api_write_object(writer, NULL);
    api_write_string(writer, member, name);
}

void api_answer_document(struct api_request *request, const struct api_writer *writer)
{
    assert(writer->len > 0 && writer->depth == 0);
    const struct api_answer answer = {.status = 200, .body = writer->buffer, .len = writer->len};
    api_request_answer(request, &answer);
}

void api_answer_failed(struct api_request *request, enum api_problem problem, const char *detail,
                       const char *member, const struct fence_answer *answer, bool parts)
{
    char body[API_PROBLEM_BODY_MAX];
    struct api_writer writer;
    assert(answer->error < 0);
    api_problem_begin(&writer, body, problem, detail);
    api_write_string(&writer, member, answer->resource);
    if (parts)
        api_write_parts(&writer, answer->parts, answer->total);
    api_problem_end(&writer, request, problem, -1);
}
