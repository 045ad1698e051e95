#include "tests/system/line.h"

#include "tests/lib/wait.h"
#include "tests/system/calls.h"

#include <sys/resource.h>

struct expected {
    uint16_t port;
    const char *resource;
    int64_t length;
};

int64_t line_length(uint16_t port, const char *resource)
{
    return http_integer(call_inspect(port, resource), "waiters");
}

static bool has_length(void *arg)
{
    const struct expected *line = arg;
    return line_length(line->port, line->resource) == line->length;
}

bool line_becomes(uint16_t port, const char *resource, int64_t length, unsigned most_ms)
{
    struct expected line = {port, resource, length};
    return wait_until(has_length, &line, most_ms);
}

void line_may_be_long(void)
{
    struct rlimit files = {0};
    (void)getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files);
}
