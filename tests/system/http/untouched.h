/* pawld over one master, for tests of requests that must be refused: whatever a test sends, the
 * process lives on, and the master holds what it held before. */
#ifndef TESTS_SYSTEM_HTTP_UNTOUCHED_H
#define TESTS_SYSTEM_HTTP_UNTOUCHED_H

#include <stdint.h>

/* The setup and teardown of a group: starts pawld, and takes a lock on "held". */
int untouched_start(void **state);
int untouched_stop(void **state);

/* The teardown of each case: fails it unless all is as it was. */
int untouched_check(void **state);

/* The address of pawld, and its lock on "held" as a Lock-Id line with its "\r\n". */
uint16_t untouched_port(void);
const char *untouched_lock_id(void);

#endif
