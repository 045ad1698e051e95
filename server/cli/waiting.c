/* A thread reads the signals while the first thread waits in a call. To end that call, the thread
 * cancels it and interrupts its system call: libcurl then checks the cancellation. It interrupts
 * with SIGURG, since SIGURG from another source does no harm. */
#include "server/cli/waiting.h"

#include "server/cli/descendants.h"
#include "server/cli/signals.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    INTERRUPT_AGAIN_MS = 20, /* the call may have been between a check and its next wait */
};

struct watch {
    const struct cli_signals *signals;
    pawl_client *client;
    pthread_t waiting; /* the thread in the call */
    pthread_t thread;
    int stop_fd;
    int ended_by; /* the signal; 0: none yet */
};

static void heed_signals(struct watch *watch)
{
    struct signalfd_siginfo info;
    while (watch->ended_by == 0 && cli_signals_next(watch->signals, &info)) {
        const int signal = (int)info.ssi_signo;
        if (signal == SIGCHLD)
            (void)cli_descendants_reap(0);
        else if (cli_signals_stops(signal))
            cli_signals_take_default(signal);
        else if (cli_signals_ends(signal))
            watch->ended_by = signal;
    }
}

static void *keep_reading(void *user)
{
    struct watch *watch = user;
    struct pollfd fds[] = {{.fd = watch->stop_fd, .events = POLLIN},
                           {.fd = watch->signals->fd, .events = POLLIN}};
    (void)cli_descendants_reap(
        0); /* no signal comes for a child that ended before this process became `pawl` */
    for (;;) {
        const bool over = watch->ended_by != 0;
        (void)poll(fds, over ? 1 : 2, over ? INTERRUPT_AGAIN_MS : -1);
        if (fds[0].revents != 0)
            return NULL;
        heed_signals(watch);
        if (watch->ended_by == 0)
            continue;
        pawl_cancel(watch->client);
        (void)pthread_kill(watch->waiting, SIGURG);
    }
}

static void interrupt(int signal)
{
    (void)signal;
}

/* SIGURG is unblocked in this thread alone, and only during the call. */
static int acquire_open(pawl_client *client, const struct pawl_request *request,
                        pawl_lock **ret_lock)
{
    sigset_t urgent;
    (void)sigemptyset(&urgent);
    (void)sigaddset(&urgent, SIGURG);
    (void)pthread_sigmask(SIG_UNBLOCK, &urgent, NULL);
    const int error = pawl_acquire(client, request, ret_lock);
    (void)pthread_sigmask(SIG_BLOCK, &urgent, NULL);
    return error;
}

int cli_wait(pawl_client *client, const struct pawl_request *request,
             const struct cli_signals *signals, pawl_lock **ret_lock, int *ret_signal)
{
    assert(signals->fd >= 0 && request->name_count >= 1);
    struct watch watch = {
        .signals = signals,
        .client = client,
        .waiting = pthread_self(),
        .stop_fd = eventfd(0, EFD_CLOEXEC),
    };
    pawl_lock *lock = NULL;
    int error = PAWL_ENOMEM;
    if (watch.stop_fd < 0)
        return error;
    struct sigaction before;
    (void)sigaction(SIGURG, &(struct sigaction){.sa_handler = interrupt}, &before);
    if (pthread_create(&watch.thread, NULL, keep_reading, &watch) != 0)
        goto out;
    error = acquire_open(client, request, &lock);
    (void)eventfd_write(watch.stop_fd, 1);
    (void)pthread_join(watch.thread, NULL);
    assert((lock != NULL) == (error == 0));
    if (watch.ended_by != 0) {
        if (error == 0)
            (void)pawl_release(client, lock, NULL);
        pawl_lock_free(lock);
        *ret_signal = watch.ended_by;
        error = PAWL_ECANCELLED;
    } else if (error == 0) {
        *ret_lock = lock;
    }
out:
    (void)sigaction(SIGURG, &before, NULL);
    (void)close(watch.stop_fd);
    return error;
}
