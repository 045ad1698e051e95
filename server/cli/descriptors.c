#include "server/cli/descriptors.h"

#include <fcntl.h>

void cli_descriptors_note(struct cli_descriptors *ret_descriptors)
{
    for (int fd = 0; fd < CLI_DESCRIPTORS_MAX; fd++)
        ret_descriptors->open[fd] = fcntl(fd, F_GETFD) >= 0;
}

void cli_descriptors_hide(const struct cli_descriptors *inherited)
{
    for (int fd = 0; fd < CLI_DESCRIPTORS_MAX; fd++) {
        if (inherited->open[fd])
            continue;
        const int flags = fcntl(fd, F_GETFD);
        if (flags >= 0)
            (void)fcntl(fd, F_SETFD, flags | FD_CLOEXEC);
    }
}
