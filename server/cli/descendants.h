/* All that came from this process: children, and what they left behind. The process is their
 * "child subreaper" (prctl(2), PR_SET_CHILD_SUBREAPER): a daemon that a child starts becomes a
 * child of this process when its parent ends, and not of process 1. */
#ifndef SERVER_CLI_DESCENDANTS_H
#define SERVER_CLI_DESCENDANTS_H

#include <stdbool.h>
#include <sys/types.h>

enum {
    CLI_DESCENDANTS_MAX = 4096, /* that one look finds; the next look finds others */
};

/* False where the kernel does not list children in /proc: then none could be signalled. */
bool cli_descendants_visible(void);

/* Makes this process the one that orphans come to. */
void cli_descendants_adopt(void);

/* Sends @signal to every descendant that can be seen, but to @spared and what came from it (0:
 * none). Forks in between may be missed: repeat. */
void cli_descendants_signal(int signal, pid_t spared);

/* Takes the exit status of children that ended, other than @kept (0: none). False: no child is
 * left. */
bool cli_descendants_reap(pid_t kept);

#endif
