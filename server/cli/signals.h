/* Signals of the verbs that wait. Every signal stays blocked as long as `pawl` lives, and is read
 * from a descriptor: no default action can end or stop this process between a grant and its
 * release. Process 1 has no other way to get signals: the kernel drops a signal to process 1 that
 * has its default action and is not blocked.
 *
 * SIGKILL and SIGSTOP cannot be blocked. Nor can the two signals that the C library reserves for
 * its threads (nptl(7)): `pawl` ignores these two. */
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

/* Blocks all signals. Call it before there are other threads: threads inherit the mask. Negative:
 * errno says why. */
int cli_signals_block(struct cli_signals *ret_signals) __attribute__((warn_unused_result));

/* Reads the next signal for this process, from another process or from the kernel. Returns false if
 * none is left. A signal for an error of this process itself, such as a write to a closed pipe,
 * does not count. */
bool cli_signals_next(const struct cli_signals *signals, struct signalfd_siginfo *ret_info);

/* Returns true if @signal ends a process that does not handle it. An ignored signal (nohup) does
 * not. */
bool cli_signals_ends(int signal);

/* Returns true if @signal stops a process that does not handle it. */
bool cli_signals_stops(int signal);

/* Takes the default action of @signal in this thread, which has it blocked. */
void cli_signals_take_default(int signal);

/* Ends this process by @signal, so that a shell sees the signal. Process 1 cannot end so: its exit
 * code is 128 + @signal. */
_Noreturn void cli_signals_die(int signal);

/* Restores the signals, in a forked process before it executes the command. */
void cli_signals_restore(const struct cli_signals *signals);

/* If this is process 1, makes a signal whose default action ends a process end it with 128 + its
 * number. For verbs that only wait for an answer. */
void cli_signals_obey_as_init(void);

#endif
