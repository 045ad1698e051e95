#include "api/http/problem.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

struct row {
    int error;
    unsigned status;
    const char *name;
    const char *title;
    const char *detail;
};

static const struct row rows[] = {
#define API_PROBLEM_ROW(problem, error, status, name, title, detail)                               \
    [problem] = {error, status, name, title, detail},
    API_PROBLEMS(API_PROBLEM_ROW)
#undef API_PROBLEM_ROW
};

enum {
    ROWS = sizeof(rows) / sizeof(rows[0])
};

enum api_problem api_problem_of(int error)
{
    for (int i = 0; i < ROWS; i++)
        if (error != 0 && rows[i].error == error)
            return (enum api_problem)i;
    return API_PROBLEM_INTERNAL;
}

unsigned api_problem_status(enum api_problem problem)
{
    return rows[problem].status;
}

const char *api_problem_name(enum api_problem problem)
{
    return rows[problem].name;
}

void api_problem_begin(struct api_writer *writer, char body[static API_PROBLEM_BODY_MAX],
                       enum api_problem problem, const char *detail)
{
    const struct row *row = &rows[problem];
    char type[64];
    (void)snprintf(type, sizeof(type), "urn:pawl:%s", row->name);

    api_writer_init(writer, body, API_PROBLEM_BODY_MAX);
    api_write_object(writer, NULL);
    api_write_string(writer, "type", type);
    api_write_string(writer, "title", row->title);
    api_write_integer(writer, "status", row->status);
    api_write_string(writer, "detail", detail != NULL ? detail : row->detail);
}

/* Answers with the finished problem and, unless it is NULL, one header field. */
static void answer(const struct api_writer *writer, struct api_request *request, unsigned status,
                   const struct api_field *field)
{
    struct api_answer answer = {
        .status = status,
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
    unsigned status = rows[problem].status;
    if (retry_after_s < 0 && (status == 429 || status == 503))
        retry_after_s = 1;

    api_write_end(writer);
    char seconds[24];
    (void)snprintf(seconds, sizeof(seconds), "%" PRId64, retry_after_s);
    const struct api_field field = {"Retry-After", seconds};
    answer(writer, request, status, retry_after_s >= 0 ? &field : NULL);
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
    const struct api_field field = {"Allow", allow};
    api_problem_begin(&writer, body, API_PROBLEM_METHOD, NULL);
    api_write_end(&writer);
    answer(&writer, request, rows[API_PROBLEM_METHOD].status, &field);
}
