/* The line of the waiters for a lock, as its service tells of it. */
#ifndef TESTS_SYSTEM_LINE_H
#define TESTS_SYSTEM_LINE_H

#include <stdbool.h>
#include <stdint.h>

/* How many calls stand in the line of @resource at the pawld on @port; that who tries at the moment
 * is one of them. */
int64_t line_length(uint16_t port, const char *resource);

/* Reports whether that many do within @most_ms. */
bool line_becomes(uint16_t port, const char *resource, int64_t length, unsigned most_ms);

/* Lets this process, and those that it starts from now on, open as many files as the system allows:
 * each client that waits has a connection. */
void line_may_be_long(void);

#endif
