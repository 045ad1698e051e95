/* The renewer: a thread that extends a lock until the holder stops it, or until it fails. */
#include "api/client/client.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum {
    CALL_SHARE = 3,          /* a call takes this share of the remaining time, if another server
                              * may answer */
    STOP_PATIENCE_MS = 1000, /* for a call that is under way */
    JOIN_STEP_NS = 250000000,
};

struct pawl_renewer {
    struct client_owner owner;
    pawl_client *client;
    pawl_lock *lock;
    pthread_t thread;
    int changed_fd; /* the holder's */
    int stop_fd;
    int timer_fd;      /* uses the boot clock */
    _Atomic int state; /* the answer of pawl_renewer_look() says */
};

static void signal_fd(int fd)
{
    assert(fd >= 0);
    (void)eventfd_write(fd, 1); /* fails only where it is readable for a long time already */
}

/* Waits until @at_ms. False: the renewer has to stop. */
static bool wait_until(const struct pawl_renewer *renewer, int64_t at_ms)
{
    assert(renewer->timer_fd >= 0 && renewer->stop_fd >= 0);
    const int64_t at = at_ms > 0 ? at_ms : 1; /* 0 would disarm the timer */
    const struct itimerspec timer = {
        .it_value = {.tv_sec = at / 1000, .tv_nsec = at % 1000 * 1000000},
    };
    (void)timerfd_settime(renewer->timer_fd, TFD_TIMER_ABSTIME, &timer, NULL);
    struct pollfd fds[] = {{.fd = renewer->stop_fd, .events = POLLIN},
                           {.fd = renewer->timer_fd, .events = POLLIN}};
    while (poll(fds, 2, -1) < 0)
        ; /* a signal; the client's thread may have handlers */
    return (fds[0].revents & POLLIN) == 0;
}

static int64_t after_a_third(const pawl_lock *lock)
{
    return pawl_lock_deadline_ms(lock) - lock->ttl_ms * 2 / 3;
}

/* Returns when a call that begins now times out. A single slow server gets all the remaining
 * time. */
static int64_t end_of_call(const struct pawl_renewer *renewer, int64_t deadline_ms)
{
    assert(renewer->client->server_count >= 1);
    const int64_t now_ms = pawl_now_ms();
    const int64_t left_ms = deadline_ms - now_ms;
    const int64_t share_ms = renewer->client->server_count > 1 ? left_ms / CALL_SHARE : left_ms;
    const int64_t most_ms = renewer->client->call_timeout_ms;
    return now_ms + (share_ms < most_ms ? share_ms : most_ms);
}

static int64_t sooner_ms(int64_t a_ms, int64_t b_ms)
{
    return a_ms < b_ms ? a_ms : b_ms;
}

static void *renew(void *user)
{
    struct pawl_renewer *renewer = user;
    int64_t pause_ms = CLIENT_PAUSE_LEAST_MS;
    int64_t next_ms = after_a_third(renewer->lock);
    while (wait_until(renewer, next_ms)) {
        const int64_t deadline_ms = pawl_lock_deadline_ms(renewer->lock);
        int state = PAWL_EUNAVAILABLE;
        if (pawl_now_ms() < deadline_ms)
            state = client_extend(renewer->client, renewer->lock, renewer->lock->ttl_ms,
                                  end_of_call(renewer, deadline_ms));
        if (state == PAWL_EUNAVAILABLE && renewer->lock->new_grant)
            state =
                PAWL_NEW_GRANT; /* of one name; the holder must not work on under its old token */
        if (state == 0) {
            pause_ms = CLIENT_PAUSE_LEAST_MS;
            next_ms = after_a_third(renewer->lock);
            signal_fd(renewer->changed_fd);
        } else if (state == PAWL_EUNAVAILABLE && pawl_now_ms() < deadline_ms) {
            next_ms = sooner_ms(pawl_now_ms() + pause_ms, deadline_ms);
            pause_ms =
                pause_ms * 2 < CLIENT_PAUSE_MOST_MS ? pause_ms * 2 : (int64_t)CLIENT_PAUSE_MOST_MS;
        } else {
            atomic_store(&renewer->state, state);
            signal_fd(renewer->changed_fd);
            return NULL;
        }
    }
    return NULL;
}

static void free_renewer(struct pawl_renewer *renewer)
{
    client_close(renewer->changed_fd);
    client_close(renewer->stop_fd);
    client_close(renewer->timer_fd);
    free(renewer);
}

/* The thread takes no signals: they are the program's. */
static int start_thread(struct pawl_renewer *renewer)
{
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(&renewer->thread, NULL, renew, renewer);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error == 0 ? 0 : PAWL_ENOMEM;
}

int pawl_renewer_start(pawl_client *client, pawl_lock *lock, pawl_renewer **ret_renewer)
{
    const int error = client_check_lock(client, lock);
    if (error < 0)
        return error;
    struct pawl_renewer *renewer = calloc(1, sizeof(*renewer));
    if (renewer == NULL)
        return PAWL_ENOMEM;
    renewer->owner = client->owner;
    renewer->client = client;
    renewer->lock = lock;
    renewer->changed_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    renewer->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    renewer->timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    client_own(renewer->changed_fd);
    client_own(renewer->stop_fd);
    client_own(renewer->timer_fd);
    const bool has_all =
        renewer->changed_fd >= 0 && renewer->stop_fd >= 0 && renewer->timer_fd >= 0;
    if (!has_all || start_thread(renewer) < 0) {
        free_renewer(renewer);
        return PAWL_ENOMEM;
    }
    *ret_renewer = renewer;
    return 0;
}

int pawl_renewer_fd(const pawl_renewer *renewer)
{
    return renewer->changed_fd;
}

int pawl_renewer_look(pawl_renewer *renewer)
{
    eventfd_t count;
    if (!client_owner_is_here(&renewer->owner))
        return PAWL_EFORKED;
    (void)eventfd_read(renewer->changed_fd, &count);
    return atomic_load(&renewer->state);
}

/* Joins the thread. Checks again after each step: in a child of a fork, for instance in a signal
 * handler, the thread does not exist and never ends. */
static void join_thread(struct pawl_renewer *renewer)
{
    struct timespec until;
    int error;
    do {
        (void)clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += JOIN_STEP_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        error = pthread_timedjoin_np(renewer->thread, NULL, &until);
    } while (error == ETIMEDOUT && client_owner_is_here(&renewer->owner));
}

void pawl_renewer_stop(pawl_renewer *renewer)
{
    if (renewer == NULL)
        return;
    if (client_owner_is_here(&renewer->owner)) { /* otherwise the thread is the parent's */
        signal_fd(renewer->stop_fd);
        atomic_store(&renewer->client->give_up_ms, pawl_now_ms() + STOP_PATIENCE_MS);
        join_thread(renewer);
        atomic_store(&renewer->client->give_up_ms, INT64_MAX);
    }
    free_renewer(renewer);
}
