#include "api/http/guard.h"

#include "api/http/refusal.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum {
    FDS_FIRST = 256,
    DRAIN_SIZE = 4096,
    DRAINS_A_READ = 16,
};

static uint64_t guard_now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ---- waits ----------------------------------------------------------------------------------- */

static void disarm(struct api_guard *guard)
{
    struct api_guards *guards = guard->guards;
    if (guard->wait == API_GUARD_FREE)
        return;
    if (guard->prev != NULL)
        guard->prev->next = guard->next;
    else
        guards->waits[guard->wait].first = guard->next;
    if (guard->next != NULL)
        guard->next->prev = guard->prev;
    else
        guards->waits[guard->wait].last = guard->prev;
    guard->wait = API_GUARD_FREE;
}

/* All guards in one list have the same time limit, so a new one goes to the end. */
static void arm(struct api_guard *guard, enum api_guard_wait wait)
{
    struct api_guards *guards = guard->guards;
    disarm(guard);
    guard->wait = (uint8_t)wait;
    guard->since_ms = guard_now_ms();
    guard->next = NULL;
    guard->prev = guards->waits[wait].last;
    if (guard->prev != NULL)
        guard->prev->next = guard;
    else
        guards->waits[wait].first = guard;
    guards->waits[wait].last = guard;
}

/* Requests that wait for their answers. Meanwhile nothing more is read, so the client cannot be
 * blamed for a next request that is incomplete. */
static bool is_owed(const struct api_guard *guard)
{
    return guard->intake.completed != guard->answered;
}

/* Waits for the rest of a request. */
static void await_rest(struct api_guard *guard)
{
    enum api_guard_wait wait = API_GUARD_FREE;
    const enum api_intake_phase phase = api_intake_phase(&guard->intake);
    if (!is_owed(guard) && phase == API_INTAKE_HEAD)
        wait = API_GUARD_HEAD;
    else if (!is_owed(guard) && phase == API_INTAKE_BODY)
        wait = API_GUARD_BODY;
    if (wait == guard->wait)
        return;
    if (wait == API_GUARD_FREE)
        disarm(guard);
    else
        arm(guard, wait);
}

/* ---- ends ------------------------------------------------------------------------------------ */

/* libmicrohttpd looks at the connection again: its next read learns the end. */
static void wake(const struct api_guard *guard)
{
    (void)shutdown(guard->fd, SHUT_RD);
}

static void end(struct api_guard *guard)
{
    disarm(guard);
    guard->ended = true;
    (void)shutdown(guard->fd, SHUT_RDWR);
}

/* Reads what a refused client still sends, or the kernel would reset the connection before the
 * client has read why. 0 at the end, or -1 with EAGAIN. */
static ssize_t drain(const struct api_guard *guard)
{
    char dropped[DRAIN_SIZE];
    ssize_t got = 1;
    for (int i = 0; i < DRAINS_A_READ && got > 0; i++)
        got = recvfrom(guard->fd, dropped, sizeof(dropped), MSG_DONTWAIT, NULL, NULL);
    if (got > 0) {
        errno = EAGAIN;
        got = -1;
    }
    return got;
}

static ssize_t refuse_connection(struct api_guard *guard)
{
    api_refusal_send(guard->fd, guard->fault->problem, guard->fault->detail, guard->intake.is_head);
    (void)shutdown(guard->fd, SHUT_WR);
    arm(guard, API_GUARD_LINGER);
    return drain(guard);
}

static void expire(struct api_guard *guard)
{
    if (guard->wait != API_GUARD_LINGER && !guard->fresh)
        api_refusal_send(guard->fd, API_PROBLEM_REQUEST_TIMEOUT, NULL, guard->intake.is_head);
    end(guard);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Reads until the kernel has no more, the buffer is full, a request is whole, or one is refused.
 * Returns what the last read did. */
static ssize_t fill(struct api_guard *guard, char *buffer, size_t size, size_t *ret_kept)
{
    ssize_t got = 0;
    bool more = true;
    *ret_kept = 0;
    while (more) {
        const size_t room = size - *ret_kept;
        size_t kept = 0;
        got = recvfrom(guard->fd, buffer + *ret_kept, room, 0, NULL, NULL);
        if (got <= 0)
            break;
        if (guard->fresh)
            disarm(guard); /* from its first byte on, the head has its whole time */
        guard->fresh = false;
        guard->fault = api_intake_feed(&guard->intake, buffer + *ret_kept, (size_t)got, &kept);
        *ret_kept += kept;
        const bool drained = (size_t)got < room;
        const enum api_intake_phase phase = api_intake_phase(&guard->intake);
        const bool whole = phase == API_INTAKE_IDLE;
        /* A read that is short is all there is. But the end may stand behind half a request, or
         * behind bytes that are dropped. That behind a whole request is seen when it is answered.
         */
        more = guard->fault == NULL && *ret_kept < size && phase != API_INTAKE_LOST &&
               !(drained && whole && *ret_kept > 0);
    }
    return got;
}

ssize_t api_guard_read(struct api_guard *guard, char *buffer, size_t size)
{
    size_t kept = 0;
    if (guard->ended)
        return 0;
    if (guard->fault != NULL)
        return guard->wait == API_GUARD_LINGER ? drain(guard) : refuse_connection(guard);

    const ssize_t got = fill(guard, buffer, size, &kept);
    if (guard->fault != NULL && kept == 0)
        return refuse_connection(guard);
    await_rest(guard);
    if (kept == 0) {
        if (got > 0) {
            errno = EAGAIN;
            return -1;
        }
        return got;
    }
    if (guard->fault != NULL || got == 0)
        wake(guard); /* it is not told of the end, or of more, a second time */
    return (ssize_t)kept;
}

/* ---- the exchange's side --------------------------------------------------------------------- */

void api_guard_refused(struct api_guard *guard)
{
    disarm(guard);
}

void api_guard_answered(struct api_guard *guard)
{
    if (!is_owed(guard)) { /* answered before it came whole: the connection ends */
        disarm(guard);
        guard->ended = true;
        return;
    }
    guard->answered++;
    if (!guard->ended && guard->fault == NULL)
        await_rest(guard);
}

/* ---- all of them ----------------------------------------------------------------------------- */

void api_guards_init(struct api_guards *guards, uint32_t head_ms, uint32_t body_ms)
{
    *guards = (struct api_guards){.by_fd = NULL};
    guards->waits[API_GUARD_HEAD].limit_ms = head_ms;
    guards->waits[API_GUARD_BODY].limit_ms = body_ms;
    guards->waits[API_GUARD_LINGER].limit_ms = API_GUARD_LINGER_MS;
}

void api_guards_fini(struct api_guards *guards)
{
    for (size_t i = 0; i < guards->size; i++)
        free(guards->by_fd[i]);
    free(guards->by_fd);
    *guards = (struct api_guards){.by_fd = NULL};
}

/* The kernel bounds how high a descriptor can be. */
static int make_room(struct api_guards *guards, size_t fd)
{
    size_t size = guards->size > 0 ? guards->size : FDS_FIRST;
    if (fd < guards->size)
        return 0;
    while (size <= fd)
        size *= 2;
    struct api_guard **by_fd = realloc(guards->by_fd, size * sizeof(struct api_guard *));
    if (by_fd == NULL)
        return FENCE_ENOMEM;
    memset(by_fd + guards->size, 0, (size - guards->size) * sizeof(struct api_guard *));
    guards->by_fd = by_fd;
    guards->size = size;
    return 0;
}

int api_guards_add(struct api_guards *guards, int fd)
{
    assert(fd >= 0);
    const int result = make_room(guards, (size_t)fd);
    if (result != 0)
        return result;
    assert(guards->by_fd[fd] == NULL);
    struct api_guard *guard = calloc(1, sizeof(*guard));
    if (guard == NULL)
        return FENCE_ENOMEM;
    guard->guards = guards;
    guard->fd = fd;
    guard->fresh = true;
    guard->wait = API_GUARD_FREE;
    guards->by_fd[fd] = guard;
    arm(guard, API_GUARD_HEAD);
    return 0;
}

void api_guards_remove(struct api_guards *guards, int fd)
{
    struct api_guard *guard = api_guards_find(guards, fd);
    if (guard == NULL)
        return;
    disarm(guard);
    guards->by_fd[fd] = NULL;
    free(guard);
}

struct api_guard *api_guards_find(const struct api_guards *guards, int fd)
{
    return fd >= 0 && (size_t)fd < guards->size ? guards->by_fd[fd] : NULL;
}

static uint64_t deadline_ms(const struct api_guards *guards, int wait)
{
    const struct api_guard *first = guards->waits[wait].first;
    return first != NULL ? first->since_ms + guards->waits[wait].limit_ms : UINT64_MAX;
}

void api_guards_expire(struct api_guards *guards)
{
    int left = API_GUARD_EXPIRE_MAX;
    for (int wait = 0; wait < API_GUARD_WAITS; wait++) {
        if (guards->waits[wait].first == NULL)
            continue;
        const uint64_t now = guard_now_ms();
        while (deadline_ms(guards, wait) <= now && left-- > 0)
            expire(guards->waits[wait].first);
    }
}

int api_guards_timeout_ms(const struct api_guards *guards)
{
    uint64_t next_ms = UINT64_MAX;
    for (int wait = 0; wait < API_GUARD_WAITS; wait++)
        if (deadline_ms(guards, wait) < next_ms)
            next_ms = deadline_ms(guards, wait);
    if (next_ms == UINT64_MAX)
        return -1;
    const uint64_t now = guard_now_ms();
    if (next_ms <= now)
        return 0;
    return next_ms - now < INT_MAX ? (int)(next_ms - now) : INT_MAX;
}

unsigned api_guards_evict(struct api_guards *guards, unsigned count)
{
    unsigned evicted = 0;
    const uint64_t now = guard_now_ms();
    for (; evicted < count; evicted++) {
        struct api_guard *oldest = guards->waits[API_GUARD_HEAD].first;
        if (oldest == NULL || now - oldest->since_ms < API_GUARD_EVICT_MS)
            break;
        expire(oldest);
    }
    return evicted;
}
