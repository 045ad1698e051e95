/* Descriptors that this program was started with. The command gets these and no others. Libraries
 * open some without FD_CLOEXEC, such as libcurl. */
#ifndef SERVER_CLI_DESCRIPTORS_H
#define SERVER_CLI_DESCRIPTORS_H

#include <stdbool.h>

enum {
    CLI_DESCRIPTORS_MAX = 4096, /* higher numbers are all taken for inherited */
};

struct cli_descriptors {
    bool open[CLI_DESCRIPTORS_MAX];
};

/* Notes all that are open. Called before any library opens one. */
void cli_descriptors_note(struct cli_descriptors *ret_descriptors);

/* Sets FD_CLOEXEC on all that were opened since. */
void cli_descriptors_hide(const struct cli_descriptors *inherited);

#endif
