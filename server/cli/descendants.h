/* The descendants of this process. The process is their "child subreaper" (prctl(2),
 * PR_SET_CHILD_SUBREAPER): when the parent of a daemon ends, the daemon becomes a child of this
 * process, and not of process 1. */
#ifndef SERVER_CLI_DESCENDANTS_H
#define SERVER_CLI_DESCENDANTS_H

#include <stdbool.h>
#include <sys/types.h>

enum {
    CLI_DESCENDANTS_MAX = 4096, /* processes that one look finds; the next look finds others */
};

/* Returns false if the kernel does not list children in /proc: then none can be signalled. */
bool cli_descendants_visible(void);

/* Makes this process the parent of orphans. */
void cli_descendants_adopt(void);

/* Sends @signal to every visible descendant, except @spared and its descendants (0: none). Forks in
 * between may be missed: repeat. */
void cli_descendants_signal(int signal, pid_t spared);

/* Takes the exit status of children that ended, other than @kept (0: none). False: no child is
 * left. */
bool cli_descendants_reap(pid_t kept);

#endif
