/* Real processes for tests: start a program, wait for what it says, signal it by its id, reap it.
 *
 * No process outlives its test program: what is still running when that exits is killed, and when
 * it dies the kernel kills them (PR_SET_PDEATHSIG). A test that may fail half-way has
 * process_kill_all() in its teardown. */
#ifndef TESTS_LIB_PROCESS_H
#define TESTS_LIB_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct process;

/* Starts @argv[0] (a path, or a name to be found in $PATH) with @argv, ended by NULL. Its output,
 * on stdout and stderr, is appended to the file @log_path. The caller ends it with process_stop()
 * or process_kill(). */
struct process *process_start(const char *const argv[], const char *log_path);

/* Processes that are started from now on find @fd as their descriptor 3; -1: nothing is there. */
void process_pass(int fd);

pid_t process_id(const struct process *process);

/* Waits until the program, since this start, has written a line in which the POSIX extended regular
 * expression @regex is found. If @ret_group is not NULL, what its first group matched is copied
 * there (@cap bytes, terminated). Fails the test, showing what was written instead, if the program
 * ends or @timeout_ms pass before. */
void process_wait_line(struct process *process, const char *regex, unsigned timeout_ms,
                       char *ret_group, size_t cap);

/* True if @regex is found in what the program has written since this start. */
bool process_wrote(const struct process *process, const char *regex);

/* Sends the signal: SIGSTOP, SIGCONT, SIGTERM, ... For one that has ended it does nothing. A
 * SIGSTOP has taken hold when this returns. */
void process_signal(struct process *process, int signal);

/* SIGSTOP that has taken hold of the first thread when this returns: that thread has stopped, or
 * stops as soon as a disk has answered it. Another thread may still be in a system call, and never
 * sees the result. */
void process_freeze(struct process *process);

/* True while the program has not ended. */
bool process_alive(struct process *process);

/* Waits for the program to end by itself, and frees @process. Returns its exit status, or 128 + the
 * signal that ended it, as a shell does. After @timeout_ms it is killed and the test fails. */
int process_wait(struct process *process, unsigned timeout_ms);

/* SIGTERM, then process_wait() for a few seconds. NULL is fine: 0. */
int process_stop(struct process *process);

/* SIGKILL; the process is gone when this returns, and @process freed. NULL is fine. */
void process_kill(struct process *process);

/* process_kill() for all that still run; pointers to them are void afterwards. */
void process_kill_all(void);

/* Starts a program, waits for its end and returns what process_wait() does: for programs that do
 * one thing. */
int process_run(const char *const argv[], const char *log_path, unsigned timeout_ms);

#endif
