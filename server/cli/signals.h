/* Signals of the verbs that wait. Every signal stays blocked as long as `pawl` lives, and is read
 * from a descriptor: no default action can end or stop this process between a grant and its
 * release. Process 1 gets signals in no other way: the kernel drops a signal to process 1 that has
 * its default action and is not blocked.
 *
 * SIGKILL and SIGSTOP cannot be blocked. Nor can the two that the C library keeps for its threads
 * (nptl(7)): `pawl` ignores these. */
#ifndef SERVER_CLI_SIGNALS_H
#define SERVER_CLI_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/signalfd.h>

enum {
    CLI_SIGNALS_KEPT = 2, /* kept by the C library */
};

struct cli_signals {
    /* Readable when a signal came. */
    int fd;
    /* The mask before, which the command gets. */
    sigset_t mask;
    /* Those kept signals whose default action this process replaced. */
    bool replaced[CLI_SIGNALS_KEPT];
};

/* Blocks all signals. This process has no other thread yet: threads inherit that. Negative: errno
 * says why. */
int cli_signals_block(struct cli_signals *ret_signals) __attribute__((warn_unused_result));

/* Reads the next signal that concerns this process, from another one or from the kernel. False:
 * none is left. An error of this process itself, such as a write to a closed pipe, does not count.
 */
bool cli_signals_next(const struct cli_signals *signals, struct signalfd_siginfo *ret_info);

/* True where @signal ends a process that does nothing about it. A signal that is ignored (nohup)
 * does not. */
bool cli_signals_ends(int signal);

/* True where @signal stops a process that does nothing about it. */
bool cli_signals_stops(int signal);

/* Takes the default action of @signal in this thread, which has it blocked. */
void cli_signals_take_default(int signal);

/* Ends this process by @signal, so that a shell sees that. Process 1 cannot be ended so: its exit
 * code is 128 + @signal. */
_Noreturn void cli_signals_die(int signal);

/* In a forked process, before it executes the command: signals are as they were. */
void cli_signals_restore(const struct cli_signals *signals);

/* As process 1, a signal whose default action ends a process ends this one with 128 + its number.
 * For verbs that wait for nothing but one answer. */
void cli_signals_obey_as_init(void);

#endif
