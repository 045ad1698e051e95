#include "server/cli/signals.h"

#include "server/cli/common.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Signals that the C library calls SIGCANCEL and SIGSETXID, and lets no program block. */
static const int kept[CLI_SIGNALS_KEPT] = {32, 33};

/* The kernel's struct sigaction begins with the handler; zeros are fine for all that follows. */
struct kernel_action {
    uintptr_t handler;
    unsigned long rest[7];
};

enum {
    KERNEL_SET_BYTES = _NSIG / 8,
};

static uintptr_t replace_action(int signal, uintptr_t handler)
{
    const struct kernel_action action = {.handler = handler};
    struct kernel_action before = {.handler = 0};
    (void)syscall(SYS_rt_sigaction, signal, &action, &before, KERNEL_SET_BYTES);
    return before.handler;
}

/* ---- life ------------------------------------------------------------------------------------ */

int cli_signals_block(struct cli_signals *ret_signals)
{
    sigset_t all;
    (void)sigfillset(&all);
    const int fd = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0)
        return -1;
    *ret_signals = (struct cli_signals){.fd = fd};
    (void)sigprocmask(SIG_SETMASK, &all, &ret_signals->mask);
    for (size_t i = 0; i < CLI_SIGNALS_KEPT; i++)
        ret_signals->replaced[i] =
            replace_action(kept[i], (uintptr_t)SIG_IGN) == (uintptr_t)SIG_DFL;
    return 0;
}

void cli_signals_restore(const struct cli_signals *signals)
{
    for (size_t i = 0; i < CLI_SIGNALS_KEPT; i++)
        if (signals->replaced[i])
            (void)replace_action(kept[i], (uintptr_t)SIG_DFL);
    (void)sigprocmask(SIG_SETMASK, &signals->mask, NULL);
}

static void end_as_told(int signal)
{
    _exit(CLI_EXIT_SIGNAL + signal);
}

void cli_signals_obey_as_init(void)
{
    const struct sigaction action = {.sa_handler = end_as_told};
    for (int signal = 1; signal <= SIGRTMAX && getpid() == 1; signal++)
        if (cli_signals_ends(signal))
            (void)sigaction(signal, &action, NULL); /* fails for signals that none can catch */
}

/* ---- what came ------------------------------------------------------------------------------- */

bool cli_signals_next(const struct cli_signals *signals, struct signalfd_siginfo *ret_info)
{
    assert(signals->fd >= 0);
    do {
        const ssize_t len = read(signals->fd, ret_info, sizeof(*ret_info));
        if (len != (ssize_t)sizeof(*ret_info))
            return false;
    } while (ret_info->ssi_code <= 0 && ret_info->ssi_pid == (uint32_t)getpid() &&
             ret_info->ssi_signo != SIGCHLD);
    return true;
}

bool cli_signals_stops(int signal)
{
    return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

bool cli_signals_ends(int signal)
{
    assert(signal > 0 && signal <= SIGRTMAX);
    struct sigaction action;
    const bool harmless =
        signal == SIGCHLD || signal == SIGCONT || signal == SIGURG || signal == SIGWINCH;
    if (harmless || cli_signals_stops(signal))
        return false;
    return sigaction(signal, NULL, &action) < 0 || action.sa_handler != SIG_IGN;
}

/* ---- default actions ------------------------------------------------------------------------- */

void cli_signals_take_default(int signal)
{
    assert(signal > 0 && signal <= SIGRTMAX);
    sigset_t one;
    (void)sigemptyset(&one);
    (void)sigaddset(&one, signal);
    (void)raise(signal);
    (void)pthread_sigmask(SIG_UNBLOCK, &one, NULL);
    (void)pthread_sigmask(SIG_BLOCK, &one, NULL);
}

_Noreturn void cli_signals_die(int signal)
{
    assert(signal > 0 && signal <= SIGRTMAX);
    (void)sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
    cli_signals_take_default(signal);
    exit(CLI_EXIT_SIGNAL + signal);
}
