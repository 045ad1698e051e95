#include "server/cli/run_under_lock.h"

#include "fence/base/minmax.h"
#include "server/cli/command_watchdog_link.h"
#include "server/cli/common.h"
#include "server/cli/descendants.h"
#include "server/cli/descriptors.h"
#include "server/cli/signals.h"
#include "server/cli/terminal.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    KILL_SHARE = 4,    /* kill_after is at most this part of the lease: extensions need time, too */
    MARGIN_SHARE = 20, /* the margin is this part of the lease */
    MARGIN_MOST_MS = 200,
    EVENTS = 3,
    ORPHANS_AGAIN_US = 20000,
};

struct runner {
    const struct cli_run *run;
    struct cli_terminal terminal;
    struct cli_watchdog watchdog;
    pawl_renewer *renewer;
    pid_t command;
    int renewal; /* the last state of the renewer */
    bool over;
    enum cli_run_end end;
    int code;
};

static void finish(struct runner *runner, enum cli_run_end end, int code)
{
    assert(!runner->over);
    runner->over = true;
    runner->end = end;
    runner->code = code;
}

/* ---- events of the watchdog --------------------------------------------------------------- */

static void take_end(struct runner *runner, int status, bool expired)
{
    if (expired || (runner->renewal < 0 && runner->renewal != PAWL_EEXHAUSTED))
        finish(runner, CLI_RUN_LOST, CLI_EXIT_LOST);
    else if (runner->renewal == PAWL_EEXHAUSTED)
        finish(runner, CLI_RUN_EXHAUSTED, CLI_EXIT_LOST);
    else if (runner->renewal == PAWL_NEW_GRANT)
        finish(runner, CLI_RUN_NEW_GRANT, CLI_EXIT_LOST);
    else
        finish(runner, CLI_RUN_ENDED,
               WIFSIGNALED(status) ? CLI_EXIT_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status));
}

static void take_no_start(struct runner *runner, int error)
{
    const bool lacks = error == EMFILE || error == ENFILE || error == EAGAIN || error == ENOMEM;
    int code = error == ENOENT ? CLI_EXIT_NOT_FOUND : CLI_EXIT_NOT_EXECUTABLE;
    if (lacks)
        code = cli_say("cannot start a process: %s", strerror(error));
    else
        (void)cli_say("cannot run '%s': %s", runner->run->argv[0], strerror(error));
    finish(runner, CLI_RUN_FAILED, code);
}

/* Handles a stopped command (Ctrl-Z): the shell gets the terminal back, and sees this process
 * stopped as well. A command that wants the terminal gets it, if this process has it. SIGSTOP does
 * not come from the terminal.
 *
 * A shell that continues `pawl lock` may wake the command twice: this process wakes it, and also
 * passes on the shell's SIGCONT. So the command may ask twice, and may have the terminal before its
 * second request arrives here. */
static void take_stop(struct runner *runner, int signal)
{
    const bool asks_for_it = signal == SIGTTIN || signal == SIGTTOU;
    if (runner->terminal.fd < 0 || signal == SIGSTOP)
        return;
    if (asks_for_it && cli_terminal_is_of(&runner->terminal, runner->command)) {
        cli_watchdog_signal(&runner->watchdog, SIGCONT);
        return;
    }
    if (asks_for_it && !runner->run->foreground && cli_terminal_ours(&runner->terminal)) {
        runner->terminal.given = true;
    } else {
        cli_terminal_take(&runner->terminal, runner->command);
        (void)raise(SIGSTOP);
    }
    if (runner->terminal.given)
        cli_terminal_give(&runner->terminal, runner->command);
    cli_watchdog_signal(&runner->watchdog, SIGCONT);
}

/* The kernel killed the command with its watchdog. A child of it becomes an orphan, and comes here.
 */
static void take_gone(struct runner *runner)
{
    (void)cli_say("the watchdog process was killed, and the command with it");
    while (cli_descendants_reap(0)) {
        cli_descendants_signal(SIGKILL, 0);
        (void)usleep(ORPHANS_AGAIN_US);
    }
    finish(runner, CLI_RUN_FAILED, CLI_EXIT_ERROR);
}

static void take_event(struct runner *runner)
{
    const struct cli_event event = cli_watchdog_next(&runner->watchdog);
    switch (event.kind) {
    case CLI_STARTED:
        runner->command = event.value;
        break;
    case CLI_NOT_FOUND:
        take_no_start(runner, event.value);
        break;
    case CLI_STOPPED:
        take_stop(runner, event.value);
        break;
    case CLI_ENDED:
    case CLI_EXPIRED:
        take_end(runner, event.value, event.kind == CLI_EXPIRED);
        break;
    case CLI_GONE:
        take_gone(runner);
        break;
    }
}

/* ---- renewals and signals -------------------------------------------------------------------- */

static void take_renewal(struct runner *runner)
{
    assert(runner->renewer != NULL && runner->renewal == 0);
    runner->renewal = pawl_renewer_look(runner->renewer);
    if (runner->renewal == 0)
        cli_watchdog_deadline(&runner->watchdog, pawl_lock_deadline_ms(runner->run->lock));
    else
        cli_watchdog_end(&runner->watchdog);
}

/* True for Ctrl-C and its like, which the terminal sends to each process of the group. */
static bool is_typed(const struct signalfd_siginfo *info)
{
    const int signal = (int)info->ssi_signo;
    return info->ssi_code == SI_KERNEL &&
           (signal == SIGINT || signal == SIGQUIT || signal == SIGTSTP || signal == SIGWINCH);
}

/* Reports whether @info is about the use of the terminal by this process or its whole group: a
 * shell in the background, run as the command, stops its group so. */
static bool is_of_terminal(const struct runner *runner, const struct signalfd_siginfo *info)
{
    if (info->ssi_signo != SIGTTIN && info->ssi_signo != SIGTTOU)
        return false;
    return info->ssi_code == SI_KERNEL ||
           (runner->run->foreground && getpgid((pid_t)info->ssi_pid) == getpgrp());
}

/* Passes on any signal. Even an alarm that was set before this process became `pawl` is for the
 * command. */
static void take_signal(struct runner *runner)
{
    struct signalfd_siginfo info;
    while (cli_signals_next(runner->run->signals, &info)) {
        if (info.ssi_signo == SIGCHLD)
            (void)cli_descendants_reap(runner->watchdog.pid);
        else if (is_of_terminal(runner, &info) || (runner->run->foreground && is_typed(&info)))
            continue; /* a command in the group has it already */
        else
            cli_watchdog_signal(&runner->watchdog, (int)info.ssi_signo);
    }
}

/* ---- a run ----------------------------------------------------------------------------------- */

static int start(struct runner *runner)
{
    const struct cli_run *run = runner->run;
    const int64_t ttl_ms = pawl_lock_ttl_ms(run->lock);
    const struct cli_command command = {
        .argv = run->argv,
        .signal = run->signal,
        .kill_after_ms = fence_min_signed(run->kill_after_ms, ttl_ms / KILL_SHARE),
        .margin_ms = fence_min_signed(MARGIN_MOST_MS, ttl_ms / MARGIN_SHARE),
        .deadline_ms = pawl_lock_deadline_ms(run->lock),
        .signals = run->signals,
        .foreground = run->foreground,
        .group = run->foreground ? getpgrp() : 0,
        .terminal_fd = runner->terminal.given ? runner->terminal.fd : -1,
    };
    if (cli_watchdog_start(&command, &runner->watchdog) < 0)
        return cli_say("cannot start a process: %s", strerror(errno));
    if (pawl_renewer_start(run->client, run->lock, &runner->renewer) < 0)
        return cli_say("cannot start a thread: too little memory, or too few processes or file "
                       "descriptors (ulimit)");
    return 0;
}

static void loop(struct runner *runner)
{
    while (!runner->over) {
        struct pollfd fds[EVENTS] = {
            {.fd = runner->watchdog.fd, .events = POLLIN},
            {.fd = runner->renewal == 0 ? pawl_renewer_fd(runner->renewer) : -1, .events = POLLIN},
            {.fd = runner->run->signals->fd, .events = POLLIN},
        };
        if (poll(fds, EVENTS, -1) < 0)
            continue;
        if (fds[1].revents != 0)
            take_renewal(runner);
        if (fds[2].revents != 0)
            take_signal(runner);
        if (fds[0].revents != 0)
            take_event(runner);
    }
}

enum cli_run_end cli_run(const struct cli_run *run, int *ret_code)
{
    assert(run->lock != NULL && run->argv[0] != NULL && run->signal > 0 && run->kill_after_ms >= 0);
    struct runner runner = {
        .run = run,
        .end = CLI_RUN_FAILED,
        .code = CLI_EXIT_ERROR,
        .watchdog = {.fd = -1},
    };
    runner.terminal = cli_terminal_open(run->foreground);
    cli_descriptors_hide(run->inherited);
    if (start(&runner) == 0)
        loop(&runner);
    if (runner.watchdog.fd >= 0)
        cli_watchdog_close(&runner.watchdog);
    pawl_renewer_stop(runner.renewer);
    cli_terminal_take(&runner.terminal, runner.command);
    cli_terminal_close(&runner.terminal);
    *ret_code = runner.code;
    return runner.end;
}
