/* The locks that a client holds. A client that waits for one of them would wait for itself. */
#include "api/client/client.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The client and each of its locks share it: a lock may be freed after its client. */
struct client_held {
    pthread_mutex_t mutex; /* guards the rest, and the links of the locks */
    size_t users;
    pawl_lock *first;
};

struct client_held *client_held_new(void)
{
    struct client_held *held = calloc(1, sizeof(*held));
    if (held == NULL)
        return NULL;
    (void)pthread_mutex_init(&held->mutex, NULL);
    held->users = 1;
    return held;
}

/* NULL: it is the client that leaves. */
static void unlink_lock(struct client_held *held, const pawl_lock *lock)
{
    pawl_lock **at = &held->first;
    while (*at != NULL && *at != lock)
        at = &(*at)->next_held;
    assert(*at == lock);
    if (*at != NULL)
        *at = lock->next_held;
}

void client_held_leave(struct client_held *held, const pawl_lock *lock)
{
    if (held == NULL)
        return;
    (void)pthread_mutex_lock(&held->mutex);
    assert(held->users > 0);
    unlink_lock(held, lock);
    const bool is_last = --held->users == 0;
    (void)pthread_mutex_unlock(&held->mutex);
    if (!is_last)
        return;
    (void)pthread_mutex_destroy(&held->mutex);
    free(held);
}

void client_held_add(struct client_held *held, pawl_lock *lock)
{
    assert(lock->held == NULL);
    (void)pthread_mutex_lock(&held->mutex);
    held->users++;
    lock->held = held;
    lock->next_held = held->first;
    held->first = lock;
    (void)pthread_mutex_unlock(&held->mutex);
}

static bool has_name(const pawl_lock *lock, const char *name)
{
    for (size_t i = 0; i < lock->count; i++)
        if (strcmp(lock->names[i].name, name) == 0)
            return true;
    return false;
}

void client_held_forget(struct client_held *held, const char *lock_id, const char *name)
{
    assert(lock_id != NULL || name != NULL);
    (void)pthread_mutex_lock(&held->mutex);
    for (pawl_lock *lock = held->first; lock != NULL; lock = lock->next_held)
        if ((lock_id != NULL && strcmp(lock->lock_id, lock_id) == 0) ||
            (name != NULL && has_name(lock, name)))
            lock->is_over = true;
    (void)pthread_mutex_unlock(&held->mutex);
}

static bool is_valid(pawl_lock *lock, int64_t now_ms)
{
    bool is = !lock->is_over;
    (void)pthread_mutex_lock(&lock->mutex);
    for (size_t i = 0; i < lock->count; i++)
        is = is && lock->names[i].deadline_ms > now_ms;
    (void)pthread_mutex_unlock(&lock->mutex);
    return is;
}

bool client_held_has(struct client_held *held, const char *name, int64_t now_ms)
{
    bool has = false;
    (void)pthread_mutex_lock(&held->mutex);
    for (pawl_lock *lock = held->first; lock != NULL && !has; lock = lock->next_held)
        has = has_name(lock, name) && is_valid(lock, now_ms);
    (void)pthread_mutex_unlock(&held->mutex);
    return has;
}
