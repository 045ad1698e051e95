/* The counts of clients of the answers that they get, to be compared with what /metrics counts. Any
 * thread. */
#ifndef TESTS_SYSTEM_METRICS_TALLY_H
#define TESTS_SYSTEM_METRICS_TALLY_H

#include "tests/lib/http.h"

/* Forgets everything. */
void tally_begin(void);

/* An answer to @call ("acquire") came: by what it says itself. @call NULL: it was no call. */
void tally_answer(const char *call, const struct http_response *response);

/* @count more of the labels @labels: call="acquire",result="held". */
void tally_add(const char *labels, int64_t count);

/* How many there were. */
int64_t tally_of(const char *labels);

/* Fails the test unless what pawl_calls_total and pawl_requests_refused_total gained from the text
 * @before to the text @after is what was counted here, label by label. */
void tally_expect(const char *before, const char *after);

#endif
