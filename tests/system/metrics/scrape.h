/* GET /metrics, as a test reads it: one sample at a time, or all of a family. One thread. */
#ifndef TESTS_SYSTEM_METRICS_SCRAPE_H
#define TESTS_SYSTEM_METRICS_SCRAPE_H

#include <stdint.h>

/* The text, which the caller frees. Fails the test unless it is served as it should be. */
char *scrape(uint16_t port);

/* The value of @sample in @text: its name with its labels, as they are written there. 0 where there
 * is none: it was never counted. */
double scrape_value(const char *text, const char *sample);

/* The same in a text that is fetched for it. */
double scrape_now(uint16_t port, const char *sample);

/* Waits until @sample is at least @least; fails the test if it does not get there. */
void scrape_wait(uint16_t port, const char *sample, double least, unsigned timeout_ms);

/* Calls @visit with each sample of the family @name: what stands between its braces, and its value.
 */
void scrape_each(const char *text, const char *name,
                 void (*visit)(void *context, const char *labels, double value), void *context);

#endif
