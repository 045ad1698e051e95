/* One thread of another process, held by ptrace(2) as a debugger holds it: it runs no further, and
 * the other threads do. For what a process does about a thread that is stuck. */
#ifndef TESTS_LIB_THREAD_H
#define TESTS_LIB_THREAD_H

#include <sys/types.h>

/* Holds the thread of process @pid whose name (/proc/PID/task/TID/comm) is @name; the process has
 * to be a child of this one. Returns its id. Ends the case as skipped where the system allows no
 * ptrace(2), and fails it where there is no such thread. It is let go when this process ends. */
pid_t thread_hold(pid_t pid, const char *name);

/* Lets it run on. One whose process has ended is buried: before that no caller can wait for the
 * process. */
void thread_let_go(pid_t thread);

#endif
