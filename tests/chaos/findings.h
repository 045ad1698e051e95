/* The state that the checks of a history share: calls in an order, and what is said of two of them.
 */
#ifndef TESTS_CHAOS_FINDINGS_H
#define TESTS_CHAOS_FINDINGS_H

#include "tests/chaos/history.h"

/* One more of @count, with the two calls that show it. */
void findings_add(struct history_findings *findings, size_t *count, const char *what,
                  const struct history_call *earlier, const struct history_call *later);

/* Copies the calls that @wanted accepts, sorted by @order. The caller frees them. */
struct history_call *findings_sorted(const struct history *history,
                                     bool (*wanted)(const struct history_call *),
                                     int (*order)(const void *, const void *), size_t *ret_count);

/* Orders: by when calls were sent, and by when they were answered. */
int findings_by_sending(const void *a, const void *b);
int findings_by_answer(const void *a, const void *b);

#endif
