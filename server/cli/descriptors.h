/* The descriptors that this program was started with. The command inherits these and no others.
 * Libraries such as libcurl open some without FD_CLOEXEC. */
#ifndef SERVER_CLI_DESCRIPTORS_H
#define SERVER_CLI_DESCRIPTORS_H

#include <stdbool.h>

enum {
    CLI_DESCRIPTORS_MAX = 4096, /* all higher numbers count as inherited */
};

struct cli_descriptors {
    bool open[CLI_DESCRIPTORS_MAX];
};

/* Notes all open descriptors. Call it before any library opens one. */
void cli_descriptors_note(struct cli_descriptors *ret_descriptors);

/* Sets FD_CLOEXEC on all descriptors that were opened since. */
void cli_descriptors_hide(const struct cli_descriptors *inherited);

#endif
