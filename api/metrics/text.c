#include "api/metrics/text.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void api_metrics_begin(struct api_metrics_text *text, char *buffer, size_t size)
{
    assert(size > 0);
    buffer[0] = '\0';
    *text = (struct api_metrics_text){.buffer = buffer, .size = size};
}

/* All or nothing. */
__attribute__((format(printf, 2, 3))) static void put(struct api_metrics_text *text,
                                                      const char *format, ...)
{
    assert(text->len < text->size);
    const size_t room = text->size - text->len;
    va_list args;
    va_start(args, format);
    const int len = vsnprintf(text->buffer + text->len, room, format, args);
    va_end(args);
    assert(len >= 0);
    if (!text->full && (size_t)len < room) {
        text->len += (size_t)len;
        return;
    }
    text->full = true;
    text->buffer[text->len] = '\0';
}

void api_metrics_family(struct api_metrics_text *text, enum api_metric_type type, const char *name,
                        const char *help)
{
    static const char *const types[] = {
        [API_METRIC_COUNTER] = "counter",
        [API_METRIC_GAUGE] = "gauge",
        [API_METRIC_HISTOGRAM] = "histogram",
    };
    assert(strpbrk(help, "\n\\") == NULL);
    text->family = name;
    put(text, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, types[type]);
}

/* ---- labels ---------------------------------------------------------------------------------- */

static const char *escape_of(char c)
{
    return c == '\n' ? "\\n" : c == '"' ? "\\\"" : c == '\\' ? "\\\\" : NULL;
}

/* A backslash, a double quote and a line feed are escaped; all else stands for itself. */
static void escape(const char *value, char ret[static API_LABEL_VALUE_MAX + 1])
{
    size_t len = 0;
    for (; *value != '\0'; value++) {
        const char one[2] = {*value, '\0'};
        const char *as = escape_of(*value) != NULL ? escape_of(*value) : one;
        if (len + strlen(as) > API_LABEL_VALUE_MAX)
            break;
        memcpy(ret + len, as, strlen(as));
        len += strlen(as);
    }
    assert(len <= API_LABEL_VALUE_MAX);
    ret[len] = '\0';
}

/* The name of a sample, and its labels; @le NULL: none of that name. */
static void put_sample(struct api_metrics_text *text, const char *suffix,
                       const struct api_labels *labels, const char *le)
{
    char value[API_LABEL_VALUE_MAX + 1];
    const char *before = "{";
    assert(text->family != NULL);
    put(text, "%s%s", text->family, suffix);
    for (unsigned i = 0; labels != NULL && i < API_LABELS_MAX; i++) {
        if (labels->each[i].name == NULL)
            break;
        escape(labels->each[i].value, value);
        put(text, "%s%s=\"%s\"", before, labels->each[i].name, value);
        before = ",";
    }
    if (le != NULL) {
        put(text, "%sle=\"%s\"", before, le);
        before = ",";
    }
    put(text, "%s ", before[0] == ',' ? "}" : "");
}

/* ---- samples --------------------------------------------------------------------------------- */

static void put_integer(struct api_metrics_text *text, uint64_t value)
{
    put(text, "%" PRIu64 "\n", value);
}

static void put_seconds(struct api_metrics_text *text, uint64_t value_us)
{
    put(text, "%" PRIu64 ".%06" PRIu64 "\n", value_us / 1000000, value_us % 1000000);
}

void api_metrics_count(struct api_metrics_text *text, const struct api_labels *labels,
                       uint64_t value)
{
    put_sample(text, "", labels, NULL);
    put_integer(text, value);
}

void api_metrics_seconds(struct api_metrics_text *text, const struct api_labels *labels,
                         uint64_t value_us)
{
    put_sample(text, "", labels, NULL);
    put_seconds(text, value_us);
}

void api_metrics_histogram(struct api_metrics_text *text, const struct api_labels *labels,
                           const struct api_histogram *histogram, enum api_scale scale)
{
    uint64_t count = 0;
    for (unsigned i = 0; i < api_scale_buckets(scale); i++) {
        count += api_counter_get(&histogram->bucket[i]);
        put_sample(text, "_bucket", labels, api_scale_bound(scale, i));
        put_integer(text, count);
    }
    put_sample(text, "_sum", labels, NULL);
    if (scale == API_SCALE_TIME)
        put_seconds(text, api_counter_get(&histogram->sum));
    else
        put_integer(text, api_counter_get(&histogram->sum));
    put_sample(text, "_count", labels, NULL);
    put_integer(text, count);
}

void api_metrics_counter(struct api_metrics_text *text, const char *name, const char *help,
                         uint64_t value)
{
    api_metrics_family(text, API_METRIC_COUNTER, name, help);
    api_metrics_count(text, NULL, value);
}

void api_metrics_gauge(struct api_metrics_text *text, const char *name, const char *help,
                       uint64_t value)
{
    api_metrics_family(text, API_METRIC_GAUGE, name, help);
    api_metrics_count(text, NULL, value);
}
