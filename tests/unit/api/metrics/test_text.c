#include "api/metrics/text.h"
#include "tests/lib/case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char buffer[4096];
static struct api_metrics_text text;

static int begin(void **state)
{
    api_metrics_begin(&text, buffer, sizeof(buffer));
    return 0;
}

static void family_has_help_and_type_before_its_samples(void **state)
{
    const struct api_labels labels = {{{"call", "acquire"}, {"result", "held"}}};
    api_metrics_family(&text, API_METRIC_COUNTER, "pawl_calls_total", "Calls.");
    api_metrics_count(&text, &labels, UINT64_MAX);
    api_metrics_count(&text, NULL, 0);
    assert_string_equal(buffer, "# HELP pawl_calls_total Calls.\n"
                                "# TYPE pawl_calls_total counter\n"
                                "pawl_calls_total{call=\"acquire\",result=\"held\"} "
                                "18446744073709551615\n"
                                "pawl_calls_total 0\n");
    assert_int_equal(text.len, strlen(buffer));
}

static void label_values_are_escaped(void **state)
{
    const struct api_labels labels = {{{"version", "a\"b\\c\nd"}}};
    api_metrics_family(&text, API_METRIC_GAUGE, "g", "G.");
    api_metrics_count(&text, &labels, 1);
    assert_non_null(strstr(buffer, "g{version=\"a\\\"b\\\\c\\nd\"} 1\n"));
}

static void long_label_value_is_cut_between_characters(void **state)
{
    char value[2 * API_LABEL_VALUE_MAX];
    char want[2 * API_LABEL_VALUE_MAX];
    memset(value, 'x', sizeof(value));
    value[API_LABEL_VALUE_MAX - 1] = '"'; /* two bytes when escaped, and there is room for one */
    value[sizeof(value) - 1] = '\0';
    const struct api_labels labels = {{{"v", value}}};
    api_metrics_family(&text, API_METRIC_GAUGE, "g", "G.");
    api_metrics_count(&text, &labels, 1);
    (void)snprintf(want, sizeof(want), "g{v=\"%.*s\"} 1\n", API_LABEL_VALUE_MAX - 1, value);
    assert_non_null(strstr(buffer, want));
}

static void seconds_are_written_to_the_microsecond(void **state)
{
    api_metrics_family(&text, API_METRIC_GAUGE, "g", "G.");
    api_metrics_seconds(&text, NULL, 12000034);
    assert_non_null(strstr(buffer, "g 12.000034\n"));
}

static void buckets_of_a_histogram_add_up(void **state)
{
    static struct api_histogram histogram;
    const struct api_labels labels = {{{"master", "1"}}};
    api_histogram_add(&histogram, API_SCALE_TIME, 0);
    api_histogram_add(&histogram, API_SCALE_TIME, 100);
    api_histogram_add(&histogram, API_SCALE_TIME, 101);
    api_histogram_add(&histogram, API_SCALE_TIME, UINT64_C(301000000));
    api_metrics_family(&text, API_METRIC_HISTOGRAM, "h_seconds", "H.");
    api_metrics_histogram(&text, &labels, &histogram, API_SCALE_TIME);
    assert_non_null(strstr(buffer, "h_seconds_bucket{master=\"1\",le=\"0.0001\"} 2\n"
                                   "h_seconds_bucket{master=\"1\",le=\"0.00025\"} 3\n"));
    assert_non_null(strstr(buffer, "h_seconds_bucket{master=\"1\",le=\"300\"} 3\n"
                                   "h_seconds_bucket{master=\"1\",le=\"+Inf\"} 4\n"
                                   "h_seconds_sum{master=\"1\"} 301.000201\n"
                                   "h_seconds_count{master=\"1\"} 4\n"));
}

static void bounds_of_a_scale_rise_to_infinity(void **state)
{
    for (enum api_scale scale = API_SCALE_TIME; scale <= API_SCALE_SIZE; scale++) {
        const unsigned count = api_scale_buckets(scale);
        double last = 0;
        assert_string_equal(api_scale_bound(scale, count - 1), "+Inf");
        for (unsigned i = 0; i < count - 1; i++) {
            const double bound = strtod(api_scale_bound(scale, i), NULL);
            assert_true(bound > last);
            last = bound;
        }
    }
}

/* The bound that is written is the bound that is counted by. */
static void value_at_a_bound_counts_below_it(void **state)
{
    for (enum api_scale scale = API_SCALE_TIME; scale <= API_SCALE_SIZE; scale++)
        for (unsigned i = 0; i < api_scale_buckets(scale) - 1; i++) {
            const double unit = scale == API_SCALE_TIME ? 1e6 : 1;
            const double bound = strtod(api_scale_bound(scale, i), NULL) * unit;
            struct api_histogram histogram = {0};
            api_histogram_add(&histogram, scale, (uint64_t)(bound + 0.5));
            api_histogram_add(&histogram, scale, (uint64_t)(bound + 0.5) + 1);
            assert_int_equal(api_counter_get(&histogram.bucket[i]), 1);
            assert_int_equal(api_counter_get(&histogram.bucket[i + 1]), 1);
        }
}

static void text_that_does_not_fit_is_marked_and_terminated(void **state)
{
    api_metrics_begin(&text, buffer, 64);
    for (int i = 0; i < 8; i++)
        api_metrics_gauge(&text, "pawl_waiting", "Calls that wait.", 1);
    assert_true(text.full);
    assert_true(text.len < 64);
    assert_int_equal(strlen(buffer), text.len);
}

#define CASE(name) cmocka_unit_test_setup(name, begin)

static const struct CMUnitTest cases[] = {
    CASE(family_has_help_and_type_before_its_samples),
    CASE(label_values_are_escaped),
    CASE(long_label_value_is_cut_between_characters),
    CASE(seconds_are_written_to_the_microsecond),
    CASE(buckets_of_a_histogram_add_up),
    CASE(bounds_of_a_scale_rise_to_infinity),
    CASE(value_at_a_bound_counts_below_it),
    CASE(text_that_does_not_fit_is_marked_and_terminated),
};

CASE_MAIN(cases, NULL, NULL)
