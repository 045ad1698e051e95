/* One loop over the orders, the command's end, and the deadline. */
#include "server/cli/command_watchdog.h"

#include "fence/base/minmax.h"
#include "server/cli/command_watchdog_wire.h"
#include "server/cli/descendants.h"
#include "server/cli/spawn.h"
#include "server/system/clock.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    KILL_AGAIN_MS = 20,   /* between two looks for what was forked meanwhile */
    UNKILLABLE_MS = 2000, /* a process of another user, say: then the watchdog stops trying */
};

/* The state of the command. It moves downward only. */
enum stage {
    STAGE_RUNS,
    STAGE_ASKED,  /* it got its signal */
    STAGE_KILLED, /* it gets SIGKILL, again and again until nothing is left */
};

struct watchdog {
    const struct cli_command *command;
    int fd;
    int timer_fd;
    int child_fd;
    pid_t child;
    bool child_ended;
    int status;   /* status of the child, when it ended */
    bool expired; /* asked because of the deadline, and not by an order */
    enum stage stage;
    int64_t deadline_ms;
    int64_t asked_ms; /* when the stage began */
    int64_t killed_ms;
};

static int64_t boot_ms(void)
{
    return (int64_t)(server_clock_us() / 1000);
}

static void say_event(const struct watchdog *watchdog, enum cli_event_kind kind, int value)
{
    const struct cli_event event = {.kind = kind, .value = value};
    /* Stops may come faster than they are read, and are not worth to wait for. */
    (void)send(watchdog->fd, &event, sizeof(event),
               MSG_NOSIGNAL | (kind == CLI_STOPPED ? MSG_DONTWAIT : 0));
}

/* ---- signals --------------------------------------------------------------------------------- */

/* To the group, or to the command alone where it shares the group of `pawl lock`. */
static void signal_command(const struct watchdog *watchdog, int signal)
{
    assert(watchdog->child > 0 && signal > 0);
    if (watchdog->child_ended)
        cli_descendants_signal(signal, 0);
    else
        (void)kill(watchdog->command->foreground ? watchdog->child : -watchdog->child, signal);
}

static void enter_stage(struct watchdog *watchdog, enum stage to, int64_t *ret_since_ms)
{
    assert(to > watchdog->stage);
    watchdog->stage = to;
    *ret_since_ms = boot_ms();
}

static void ask_to_end(struct watchdog *watchdog)
{
    if (watchdog->stage != STAGE_RUNS)
        return;
    enter_stage(watchdog, STAGE_ASKED, &watchdog->asked_ms);
    signal_command(watchdog, watchdog->command->signal);
    signal_command(watchdog, SIGCONT); /* a stopped process takes no signal */
}

static void kill_all(struct watchdog *watchdog)
{
    if (watchdog->stage != STAGE_KILLED)
        enter_stage(watchdog, STAGE_KILLED, &watchdog->killed_ms);
    if (!watchdog->child_ended) /* also where /proc cannot be read any more */
        signal_command(watchdog, SIGKILL);
    cli_descendants_signal(SIGKILL, 0);
}

/* ---- times ----------------------------------------------------------------------------------- */

static int64_t kill_at(const struct watchdog *watchdog)
{
    assert(watchdog->stage != STAGE_ASKED || watchdog->asked_ms > 0);
    const int64_t last_ms = watchdog->deadline_ms - watchdog->command->margin_ms;
    return watchdog->stage == STAGE_RUNS
               ? last_ms
               : fence_min_signed(last_ms, watchdog->asked_ms + watchdog->command->kill_after_ms);
}

static int64_t ask_at(const struct watchdog *watchdog)
{
    assert(watchdog->command->margin_ms >= 0 && watchdog->command->kill_after_ms >= 0);
    return watchdog->deadline_ms - watchdog->command->margin_ms - watchdog->command->kill_after_ms;
}

static void arm_timer(const struct watchdog *watchdog)
{
    int64_t at_ms = boot_ms() + KILL_AGAIN_MS;
    if (watchdog->stage == STAGE_RUNS)
        at_ms = ask_at(watchdog);
    else if (watchdog->stage == STAGE_ASKED)
        at_ms = kill_at(watchdog);
    if (at_ms < 1)
        at_ms = 1; /* 0 would disarm the timer */
    const struct itimerspec timer = {
        .it_value = {.tv_sec = at_ms / 1000, .tv_nsec = at_ms % 1000 * 1000000},
    };
    (void)timerfd_settime(watchdog->timer_fd, TFD_TIMER_ABSTIME, &timer, NULL);
}

static void check_time(struct watchdog *watchdog)
{
    const int64_t now_ms = boot_ms();
    watchdog->expired |= watchdog->stage == STAGE_RUNS && now_ms >= ask_at(watchdog);
    if (watchdog->stage == STAGE_KILLED || now_ms >= kill_at(watchdog))
        kill_all(watchdog);
    else if (now_ms >= ask_at(watchdog))
        ask_to_end(watchdog);
}

/* ---- what happens ---------------------------------------------------------------------------- */

static void take_order(struct watchdog *watchdog)
{
    struct cli_order order;
    const ssize_t len = recv(watchdog->fd, &order, sizeof(order), MSG_DONTWAIT);
    if (len < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (len != sizeof(order)) { /* `pawl lock` was killed: no holder extends the lock any more */
        kill_all(watchdog);
        return;
    }
    switch (order.kind) {
    case CLI_ORDER_DEADLINE:
        watchdog->deadline_ms = order.value;
        break;
    case CLI_ORDER_SIGNAL:
        signal_command(watchdog, (int)order.value);
        break;
    case CLI_ORDER_END:
        ask_to_end(watchdog);
        break;
    }
}

/* Processes that the command left running are asked to end, too: the lock is given back after that.
 */
static void take_exit(struct watchdog *watchdog)
{
    assert(watchdog->child > 0);
    struct signalfd_siginfo ignored;
    (void)!read(watchdog->child_fd, &ignored, sizeof(ignored));
    int status;
    while (!watchdog->child_ended &&
           waitpid(watchdog->child, &status, WNOHANG | WUNTRACED) == watchdog->child) {
        if (WIFSTOPPED(status)) {
            say_event(watchdog, CLI_STOPPED, WSTOPSIG(status));
            continue;
        }
        watchdog->status = status;
        watchdog->child_ended = true;
    }
}

static bool is_over(struct watchdog *watchdog)
{
    const bool some_left = cli_descendants_reap(watchdog->child_ended ? 0 : watchdog->child);
    if (!watchdog->child_ended)
        return false;
    if (some_left)
        ask_to_end(watchdog);
    return !some_left ||
           (watchdog->stage == STAGE_KILLED && boot_ms() >= watchdog->killed_ms + UNKILLABLE_MS);
}

static void keep_watch(struct watchdog *watchdog)
{
    while (!is_over(watchdog)) {
        arm_timer(watchdog);
        struct pollfd fds[] = {
            {.fd = watchdog->stage == STAGE_KILLED ? -1 : watchdog->fd, .events = POLLIN},
            {.fd = watchdog->child_fd, .events = POLLIN},
            {.fd = watchdog->timer_fd, .events = POLLIN}};
        (void)poll(fds, 3, -1);
        if (fds[1].revents != 0)
            take_exit(watchdog);
        if (fds[0].revents != 0)
            take_order(watchdog);
        check_time(watchdog);
    }
}

/* ---- life ------------------------------------------------------------------------------------ */

_Noreturn void cli_watchdog_main(const struct cli_command *command, int fd)
{
    assert(command->argv[0] != NULL && fd >= 0);
    sigset_t all;
    sigset_t child;
    struct watchdog watchdog = {
        .command = command,
        .fd = fd,
        .deadline_ms = command->deadline_ms,
        .timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC),
    };
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    (void)sigemptyset(&child);
    (void)sigaddset(&child, SIGCHLD);
    watchdog.child_fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    (void)setpgid(
        0, 0); /* a signal that ends the group of `pawl lock` leaves the watchdog to clean up */
    cli_descendants_adopt();
    int error = watchdog.timer_fd < 0 || watchdog.child_fd < 0 ? EMFILE : 0;
    if (error == 0)
        error = cli_spawn(command, ask_at(&watchdog), &watchdog.child);
    if (error == ETIME) {
        say_event(&watchdog, CLI_EXPIRED, 0);
        _exit(EXIT_SUCCESS);
    }
    if (error != 0) {
        say_event(&watchdog, CLI_NOT_FOUND, error);
        _exit(EXIT_FAILURE);
    }
    say_event(&watchdog, CLI_STARTED, (int)watchdog.child);
    keep_watch(&watchdog);
    say_event(&watchdog, watchdog.expired ? CLI_EXPIRED : CLI_ENDED, watchdog.status);
    _exit(EXIT_SUCCESS);
}
