#include "tests/system/metrics/scrape.h"

#include "tests/lib/case.h"
#include "tests/lib/http.h"
#include "tests/lib/wait.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *scrape(uint16_t port)
{
    struct http_response response;
    char type[128];
    http_once(port, "GET", "/metrics", NULL, NULL, &response);
    assert_int_equal(response.status, 200);
    assert_true(http_header(&response, "Content-Type", type, sizeof(type)));
    assert_string_equal(type, "text/plain; version=0.0.4; charset=utf-8");
    char *text = strdup(response.body);
    assert_non_null(text);
    http_response_fini(&response);
    return text;
}

double scrape_value(const char *text, const char *sample)
{
    const size_t len = strlen(sample);
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, sample, len) == 0 && line[len] == ' ')
            return strtod(line + len, NULL);
        if (*line == '\0')
            break;
    }
    return 0;
}

double scrape_now(uint16_t port, const char *sample)
{
    char *text = scrape(port);
    const double value = scrape_value(text, sample);
    free(text);
    return value;
}

struct wanted {
    uint16_t port;
    const char *sample;
    double least;
};

static bool is_there(void *arg)
{
    const struct wanted *wanted = arg;
    return scrape_now(wanted->port, wanted->sample) >= wanted->least;
}

void scrape_wait(uint16_t port, const char *sample, double least, unsigned timeout_ms)
{
    struct wanted wanted = {port, sample, least};
    if (!wait_until(is_there, &wanted, timeout_ms)) {
        char *text = scrape(port);
        (void)fputs(text, stderr);
        free(text);
        fail_msg("%s did not come to %g", sample, least);
    }
}

void scrape_each(const char *text, const char *name,
                 void (*visit)(void *context, const char *labels, double value), void *context)
{
    char begin[128];
    char labels[512];
    const int len = snprintf(begin, sizeof(begin), "\n%s{", name);
    for (const char *at = strstr(text, begin); at != NULL; at = strstr(at + 1, begin)) {
        const char *from = at + len;
        const char *to = strchr(from, '}');
        assert_non_null(to);
        (void)snprintf(labels, sizeof(labels), "%.*s", (int)(to - from), from);
        visit(context, labels, strtod(to + 1, NULL));
    }
}
