#include "tests/system/metrics/tally.h"

#include "tests/lib/case.h"
#include "tests/system/metrics/scrape.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum {
    ENTRIES = 128,
    LABELS_MAX = 128,
};

static struct {
    char labels[LABELS_MAX];
    int64_t count;
} entries[ENTRIES];
static unsigned used;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void tally_begin(void)
{
    used = 0;
}

void tally_add(const char *labels, int64_t count)
{
    unsigned i = 0;
    pthread_mutex_lock(&mutex);
    while (i < used && strcmp(entries[i].labels, labels) != 0)
        i++;
    assert(i < ENTRIES);
    if (i == used) {
        (void)snprintf(entries[i].labels, LABELS_MAX, "%s", labels);
        entries[i].count = 0;
        used++;
    }
    entries[i].count += count;
    pthread_mutex_unlock(&mutex);
}

int64_t tally_of(const char *labels)
{
    for (unsigned i = 0; i < used; i++)
        if (strcmp(entries[i].labels, labels) == 0)
            return entries[i].count;
    return 0;
}

/* The word for what an answer came to, taken from the answer as a client knows it. */
static const char *result_of(const char *call, const struct http_response *response)
{
    static const char urn[] = "urn:pawl:";
    const bool extends = strcmp(call, "extend") == 0;
    if (response->status >= 400)
        return json_string_value(json_object_get(response->json, "type")) + strlen(urn);
    if (strcmp(call, "release") == 0)
        return json_is_true(json_object_get(response->json, "released")) ? "released" : "not-held";
    if (extends || strncmp(call, "acquire", strlen("acquire")) == 0)
        return response->status == 201 ? "granted" : extends ? "extended" : "found";
    return "ok";
}

void tally_answer(const char *call, const struct http_response *response)
{
    char labels[LABELS_MAX];
    assert(response->status != 0);
    if (call != NULL)
        (void)snprintf(labels, sizeof(labels), "call=\"%s\",result=\"%s\"", call,
                       result_of(call, response));
    else
        (void)snprintf(labels, sizeof(labels), "status=\"%d\",result=\"%s\"", response->status,
                       result_of("", response));
    tally_add(labels, 1);
}

struct comparison {
    const char *before;
    const char *family;
    int64_t found; /* in all */
    unsigned wrong;
};

static void compare(void *context, const char *labels, double value)
{
    struct comparison *comparison = context;
    char sample[LABELS_MAX + 64];
    (void)snprintf(sample, sizeof(sample), "%s{%s}", comparison->family, labels);
    const int64_t gained = (int64_t)(value - scrape_value(comparison->before, sample));
    comparison->found += gained;
    if (gained == tally_of(labels))
        return;
    print_error("%s: /metrics counted %lld, clients %lld\n", sample, (long long)gained,
                (long long)tally_of(labels));
    comparison->wrong++;
}

void tally_expect(const char *before, const char *after)
{
    struct comparison comparison = {.before = before};
    int64_t counted = 0;
    static const char *const families[] = {"pawl_calls_total", "pawl_requests_refused_total"};
    for (unsigned i = 0; i < 2; i++) {
        comparison.family = families[i];
        scrape_each(after, families[i], compare, &comparison);
    }
    for (unsigned i = 0; i < used; i++)
        counted += entries[i].count;
    assert_int_equal(comparison.wrong, 0);
    assert_int_equal(comparison.found, counted); /* or some of them have no sample at all */
}
