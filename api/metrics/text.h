/* Writes metrics in the text format of Prometheus, version 0.0.4, into the caller's buffer
 * (prometheus.io/docs/instrumenting/exposition_formats). Names follow its conventions: base units,
 * "_total" at the end of a counter. Pure. */
#ifndef API_METRICS_TEXT_H
#define API_METRICS_TEXT_H

#include "api/metrics/histogram.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define API_METRICS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

enum {
    API_LABELS_MAX = 3,        /* in one sample, without "le" */
    API_LABEL_VALUE_MAX = 128, /* bytes of a value, escaped; longer ones are cut */
};

enum api_metric_type {
    API_METRIC_COUNTER,
    API_METRIC_GAUGE,
    API_METRIC_HISTOGRAM,
};

struct api_metrics_text {
    char *buffer;
    size_t size;
    size_t len;         /* without the terminator */
    const char *family; /* that samples are written for */
    bool full;          /* the buffer was too small: the text cannot be used */
};

/* The labels of a sample; up to the first without a name. NULL for a sample without any. */
struct api_labels {
    struct {
        const char *name;
        const char *value; /* any bytes; escaped as the format asks */
    } each[API_LABELS_MAX];
};

/* Borrows @buffer of @size > 0 bytes. */
void api_metrics_begin(struct api_metrics_text *text, char *buffer, size_t size);

/* Begins a family, whose samples follow: the lines HELP and TYPE. @name lives as long as they do.
 * @help is one sentence. */
void api_metrics_family(struct api_metrics_text *text, enum api_metric_type type, const char *name,
                        const char *help);

/* One sample of the family. Seconds are given in microseconds. */
void api_metrics_count(struct api_metrics_text *text, const struct api_labels *labels,
                       uint64_t value);
void api_metrics_seconds(struct api_metrics_text *text, const struct api_labels *labels,
                         uint64_t value_us);

/* All the samples of one histogram. */
void api_metrics_histogram(struct api_metrics_text *text, const struct api_labels *labels,
                           const struct api_histogram *histogram, enum api_scale scale);

/* A family of one sample without labels. */
void api_metrics_counter(struct api_metrics_text *text, const char *name, const char *help,
                         uint64_t value);
void api_metrics_gauge(struct api_metrics_text *text, const char *name, const char *help,
                       uint64_t value);

#endif
