#include "api/http/problem_answer.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* Answers with the finished problem and, unless it is NULL, one header field. */
static void answer_with(const struct api_writer *writer, struct api_request *request,
                        enum api_problem problem, const struct api_field *field)
{
    assert(writer->depth == 0 && writer->len <= API_PROBLEM_BODY_MAX);
    struct api_answer answer = {
        .status = api_problem_status(problem),
        .outcome = api_outcome_of_problem(problem),
        .content_type = "application/problem+json",
        .body = writer->buffer,
        .len = writer->len,
    };
    if (field != NULL)
        answer.fields[0] = *field;
    api_request_answer(request, &answer);
}

void api_problem_end(struct api_writer *writer, struct api_request *request,
                     enum api_problem problem, int64_t retry_after_s)
{
    unsigned status = api_problem_status(problem);
    if (retry_after_s < 0 && (status == 429 || status == 503))
        retry_after_s = 1;

    api_write_end(writer);
    char seconds[24];
    (void)snprintf(seconds, sizeof(seconds), "%" PRId64, retry_after_s);
    const struct api_field retry = {"Retry-After", seconds};
    const struct api_field scheme = {"WWW-Authenticate", "Bearer"}; /* RFC 9110, section 11.6.1 */
    const struct api_field *field = retry_after_s >= 0 ? &retry : NULL;
    answer_with(writer, request, problem, api_problem_status(problem) == 401 ? &scheme : field);
}

void api_problem_answer(struct api_request *request, enum api_problem problem)
{
    char body[API_PROBLEM_BODY_MAX];
    struct api_writer writer;
    api_problem_begin(&writer, body, problem, NULL);
    api_problem_end(&writer, request, problem, -1);
}

void api_problem_answer_detail(struct api_request *request, enum api_problem problem,
                               const char *format, ...)
{
    char detail[API_DETAIL_MAX];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(detail, sizeof(detail), format, args);
    va_end(args);

    char body[API_PROBLEM_BODY_MAX];
    struct api_writer writer;
    api_problem_begin(&writer, body, problem, detail);
    api_problem_end(&writer, request, problem, -1);
}

void api_problem_answer_method(struct api_request *request, const char *allow)
{
    char body[API_PROBLEM_BODY_MAX];
    struct api_writer writer;
    assert(allow[0] != '\0');
    const struct api_field field = {"Allow", allow};
    api_problem_begin(&writer, body, API_PROBLEM_METHOD, NULL);
    api_write_end(&writer);
    answer_with(&writer, request, API_PROBLEM_METHOD, &field);
}
