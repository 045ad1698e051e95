/* One loop over the orders, the command's end, and the deadline. */
#include "server/cli/command_keeper.h"

#include "fence/base/minmax.h"
#include "server/cli/command_keeper_wire.h"
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
    UNKILLABLE_MS = 2000, /* a process of another user, say: then the keeper stops trying */
};

/* The state of the command. It moves downward only. */
enum stage {
    STAGE_RUNS,
    STAGE_ASKED,  /* it got its signal */
    STAGE_KILLED, /* it gets SIGKILL, again and again until nothing is left */
};

struct keeper {
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

static void say_event(const struct keeper *keeper, enum cli_event_kind kind, int value)
{
    const struct cli_event event = {.kind = kind, .value = value};
    /* Stops may come faster than they are read, and are not worth to wait for. */
    (void)send(keeper->fd, &event, sizeof(event),
               MSG_NOSIGNAL | (kind == CLI_STOPPED ? MSG_DONTWAIT : 0));
}

/* ---- signals --------------------------------------------------------------------------------- */

/* To the group, or to the command alone where it shares the group of `pawl lock`. */
static void signal_command(const struct keeper *keeper, int signal)
{
    assert(keeper->child > 0 && signal > 0);
    if (keeper->child_ended)
        cli_descendants_signal(signal, 0);
    else
        (void)kill(keeper->command->foreground ? keeper->child : -keeper->child, signal);
}

static void enter_stage(struct keeper *keeper, enum stage to, int64_t *ret_since_ms)
{
    assert(to > keeper->stage);
    keeper->stage = to;
    *ret_since_ms = boot_ms();
}

static void ask_to_end(struct keeper *keeper)
{
    if (keeper->stage != STAGE_RUNS)
        return;
    enter_stage(keeper, STAGE_ASKED, &keeper->asked_ms);
    signal_command(keeper, keeper->command->signal);
    signal_command(keeper, SIGCONT); /* a stopped process takes no signal */
}

static void kill_all(struct keeper *keeper)
{
    if (keeper->stage != STAGE_KILLED)
        enter_stage(keeper, STAGE_KILLED, &keeper->killed_ms);
    if (!keeper->child_ended) /* also where /proc cannot be read any more */
        signal_command(keeper, SIGKILL);
    cli_descendants_signal(SIGKILL, 0);
}

/* ---- times ----------------------------------------------------------------------------------- */

static int64_t kill_at(const struct keeper *keeper)
{
    assert(keeper->stage != STAGE_ASKED || keeper->asked_ms > 0);
    const int64_t last_ms = keeper->deadline_ms - keeper->command->margin_ms;
    return keeper->stage == STAGE_RUNS
               ? last_ms
               : fence_min_signed(last_ms, keeper->asked_ms + keeper->command->kill_after_ms);
}

static int64_t ask_at(const struct keeper *keeper)
{
    assert(keeper->command->margin_ms >= 0 && keeper->command->kill_after_ms >= 0);
    return keeper->deadline_ms - keeper->command->margin_ms - keeper->command->kill_after_ms;
}

static void arm_timer(const struct keeper *keeper)
{
    int64_t at_ms = boot_ms() + KILL_AGAIN_MS;
    if (keeper->stage == STAGE_RUNS)
        at_ms = ask_at(keeper);
    else if (keeper->stage == STAGE_ASKED)
        at_ms = kill_at(keeper);
    if (at_ms < 1)
        at_ms = 1; /* 0 would disarm the timer */
    const struct itimerspec timer = {
        .it_value = {.tv_sec = at_ms / 1000, .tv_nsec = at_ms % 1000 * 1000000},
    };
    (void)timerfd_settime(keeper->timer_fd, TFD_TIMER_ABSTIME, &timer, NULL);
}

static void check_time(struct keeper *keeper)
{
    const int64_t now_ms = boot_ms();
    keeper->expired |= keeper->stage == STAGE_RUNS && now_ms >= ask_at(keeper);
    if (keeper->stage == STAGE_KILLED || now_ms >= kill_at(keeper))
        kill_all(keeper);
    else if (now_ms >= ask_at(keeper))
        ask_to_end(keeper);
}

/* ---- what happens ---------------------------------------------------------------------------- */

static void take_order(struct keeper *keeper)
{
    struct cli_order order;
    const ssize_t len = recv(keeper->fd, &order, sizeof(order), MSG_DONTWAIT);
    if (len < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (len != sizeof(order)) { /* `pawl lock` was killed: no holder extends the lock any more */
        kill_all(keeper);
        return;
    }
    switch (order.kind) {
    case CLI_ORDER_DEADLINE:
        keeper->deadline_ms = order.value;
        break;
    case CLI_ORDER_SIGNAL:
        signal_command(keeper, (int)order.value);
        break;
    case CLI_ORDER_END:
        ask_to_end(keeper);
        break;
    }
}

/* Processes that the command left running are asked to end, too: the lock is given back after that.
 */
static void take_exit(struct keeper *keeper)
{
    assert(keeper->child > 0);
    struct signalfd_siginfo ignored;
    (void)!read(keeper->child_fd, &ignored, sizeof(ignored));
    int status;
    while (!keeper->child_ended &&
           waitpid(keeper->child, &status, WNOHANG | WUNTRACED) == keeper->child) {
        if (WIFSTOPPED(status)) {
            say_event(keeper, CLI_STOPPED, WSTOPSIG(status));
            continue;
        }
        keeper->status = status;
        keeper->child_ended = true;
    }
}

static bool is_over(struct keeper *keeper)
{
    const bool some_left = cli_descendants_reap(keeper->child_ended ? 0 : keeper->child);
    if (!keeper->child_ended)
        return false;
    if (some_left)
        ask_to_end(keeper);
    return !some_left ||
           (keeper->stage == STAGE_KILLED && boot_ms() >= keeper->killed_ms + UNKILLABLE_MS);
}

static void keep_watch(struct keeper *keeper)
{
    while (!is_over(keeper)) {
        arm_timer(keeper);
        struct pollfd fds[] = {
            {.fd = keeper->stage == STAGE_KILLED ? -1 : keeper->fd, .events = POLLIN},
            {.fd = keeper->child_fd, .events = POLLIN},
            {.fd = keeper->timer_fd, .events = POLLIN}};
        (void)poll(fds, 3, -1);
        if (fds[1].revents != 0)
            take_exit(keeper);
        if (fds[0].revents != 0)
            take_order(keeper);
        check_time(keeper);
    }
}

/* ---- life ------------------------------------------------------------------------------------ */

_Noreturn void cli_keeper_main(const struct cli_command *command, int fd)
{
    assert(command->argv[0] != NULL && fd >= 0);
    sigset_t all;
    sigset_t child;
    struct keeper keeper = {
        .command = command,
        .fd = fd,
        .deadline_ms = command->deadline_ms,
        .timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC),
    };
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    (void)sigemptyset(&child);
    (void)sigaddset(&child, SIGCHLD);
    keeper.child_fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    (void)setpgid(
        0, 0); /* a signal that ends the group of `pawl lock` leaves the keeper to clean up */
    cli_descendants_adopt();
    int error = keeper.timer_fd < 0 || keeper.child_fd < 0 ? EMFILE : 0;
    if (error == 0)
        error = cli_spawn(command, ask_at(&keeper), &keeper.child);
    if (error == ETIME) {
        say_event(&keeper, CLI_EXPIRED, 0);
        _exit(EXIT_SUCCESS);
    }
    if (error != 0) {
        say_event(&keeper, CLI_NOT_FOUND, error);
        _exit(EXIT_FAILURE);
    }
    say_event(&keeper, CLI_STARTED, (int)keeper.child);
    keep_watch(&keeper);
    say_event(&keeper, keeper.expired ? CLI_EXPIRED : CLI_ENDED, keeper.status);
    _exit(EXIT_SUCCESS);
}
