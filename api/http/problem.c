#include "api/http/problem.h"

#include <assert.h>
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
    assert(error <= 0);
    for (int i = 0; i < ROWS; i++)
        if (error != 0 && rows[i].error == error)
            return (enum api_problem)i;
    return API_PROBLEM_INTERNAL;
}

unsigned api_problem_status(enum api_problem problem)
{
    assert((int)problem < ROWS);
    return rows[problem].status;
}

const char *api_problem_name(enum api_problem problem)
{
    assert((int)problem < ROWS);
    return rows[problem].name;
}

void api_problem_begin(struct api_writer *writer, char body[static API_PROBLEM_BODY_MAX],
                       enum api_problem problem, const char *detail)
{
    assert((int)problem < ROWS);
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
