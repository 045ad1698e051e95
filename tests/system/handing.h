/* pawlds that hand over to each other, one after the other, with the paths of the case's folder
 * (workdir.h). */
#ifndef TESTS_SYSTEM_HANDING_H
#define TESTS_SYSTEM_HANDING_H

#include "tests/system/workdir.h"

#include <stdint.h>

extern struct handing {
    char path[WORKDIR_PATH_BYTES]; /* path for --hand-over */
    uint16_t port;                 /* the port where all of them listen */
} handing;

/* The setup of a case; its teardown is workdir_teardown(). */
int handing_setup(void **state);

/* Starts pawld with --hand-over and @options (NULL: none), over the fleet or, where there is none,
 * a file. Its output is appended to workdir.log. */
struct process *handing_start(const char *const options[]);

#endif
