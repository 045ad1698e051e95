#include "api/client/client.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

pawl_lock *client_lock_new(const pawl_client *client, const char *const *names, size_t count,
                           const char *lock_id, int64_t ttl_ms)
{
    assert(count >= 1 && count <= PAWL_NAMES_MAX);
    pawl_lock *lock = calloc(1, sizeof(*lock) + count * sizeof(lock->names[0]));
    if (lock == NULL)
        return NULL;
    lock->owner = client->owner;
    (void)pthread_mutex_init(&lock->mutex, NULL);
    lock->count = count;
    lock->ttl_ms = ttl_ms;
    for (size_t i = 0; i < count; i++)
        memcpy(lock->names[i].name, names[i], strnlen(names[i], PAWL_NAME_MAX));
    memcpy(lock->lock_id, lock_id, strnlen(lock_id, PAWL_LOCK_ID_MAX));
    return lock;
}

int pawl_lock_resume(pawl_client *client, const struct pawl_grant *grant, pawl_lock **ret_lock)
{
    char path[CLIENT_PATH_MAX];
    const size_t id_len =
        grant->lock_id != NULL ? strnlen(grant->lock_id, PAWL_LOCK_ID_MAX + 1) : 0;
    int error = client_check_owner(client);
    if (error < 0)
        return error;
    if (grant->name_count < 1 || grant->name_count > PAWL_NAMES_MAX || id_len == 0 ||
        id_len > PAWL_LOCK_ID_MAX || grant->ttl_ms < 0) {
        client_say(client, "a lock must have 1 to %d names, and a lock id of 22 to %d characters",
                   PAWL_NAMES_MAX, PAWL_LOCK_ID_MAX);
        return PAWL_EINVAL;
    }
    for (size_t i = 0; i < grant->name_count; i++) {
        error = client_path(client, "/v1/locks/", grant->names[i], path);
        if (error < 0)
            return error;
    }
    pawl_lock *lock =
        client_lock_new(client, grant->names, grant->name_count, grant->lock_id, grant->ttl_ms);
    if (lock == NULL) {
        client_say(client, "out of memory");
        return PAWL_ENOMEM;
    }
    for (size_t i = 0; i < grant->name_count && grant->tokens != NULL; i++)
        client_lock_set(lock, i, grant->tokens[i], 0);
    *ret_lock = lock;
    return 0;
}

void pawl_lock_free(pawl_lock *lock)
{
    if (lock == NULL)
        return;
    if (client_owner_is_here(&lock->owner)) { /* a thread of the parent may have locked it */
        client_held_leave(lock->held, lock);
        (void)pthread_mutex_destroy(&lock->mutex);
    }
    free(lock);
}

void client_lock_set(pawl_lock *lock, size_t index, int64_t token, int64_t deadline_ms)
{
    assert(index < lock->count);
    (void)pthread_mutex_lock(&lock->mutex);
    if (token > 0)
        lock->names[index].token = token;
    lock->names[index].deadline_ms = deadline_ms;
    (void)pthread_mutex_unlock(&lock->mutex);
}

void client_lock_lose(pawl_lock *lock)
{
    (void)pthread_mutex_lock(&lock->mutex);
    lock->is_lost = true;
    (void)pthread_mutex_unlock(&lock->mutex);
}

/* ---- questions of any thread ----------------------------------------------------------------- */

/* Locks the mutex. In a child of a fork, a thread that does not exist there may hold it. But
 * nothing changes there any more, so the child skips it. */
static void enter(const pawl_lock *lock)
{
    if (client_owner_is_here(&lock->owner))
        (void)pthread_mutex_lock(&((pawl_lock *)(uintptr_t)lock)->mutex);
}

static void leave(const pawl_lock *lock)
{
    if (client_owner_is_here(&lock->owner))
        (void)pthread_mutex_unlock(&((pawl_lock *)(uintptr_t)lock)->mutex);
}

/* All names of a writer have the greatest token of its seats. */
int64_t pawl_lock_token(const pawl_lock *lock, size_t index)
{
    if (index >= lock->count)
        return -1;
    enter(lock);
    int64_t token = lock->names[index].token;
    for (size_t i = 0; i < lock->count && client_lock_writes(lock); i++)
        if (lock->names[i].token > token)
            token = lock->names[i].token;
    leave(lock);
    return token;
}

int64_t pawl_lock_deadline_ms(const pawl_lock *lock)
{
    if (!client_owner_is_here(&lock->owner))
        return 0; /* nothing is held */
    enter(lock);
    int64_t earliest_ms = lock->names[0].deadline_ms;
    for (size_t i = 1; i < lock->count; i++)
        if (lock->names[i].deadline_ms < earliest_ms)
            earliest_ms = lock->names[i].deadline_ms;
    leave(lock);
    return earliest_ms;
}

int64_t pawl_lock_left_ms(const pawl_lock *lock)
{
    enter(lock);
    const bool is_lost = lock->is_lost;
    leave(lock);
    const int64_t left_ms = pawl_lock_deadline_ms(lock) - pawl_now_ms();
    return left_ms > 0 && !is_lost ? left_ms : 0;
}

int64_t pawl_lock_ttl_ms(const pawl_lock *lock)
{
    return lock->ttl_ms;
}

size_t pawl_lock_count(const pawl_lock *lock)
{
    return client_lock_writes(lock) ? 1 : lock->count;
}

const char *pawl_lock_name(const pawl_lock *lock, size_t index)
{
    if (client_lock_writes(lock))
        return index == 0 ? lock->written : NULL;
    return index < lock->count ? lock->names[index].name : NULL;
}

int pawl_lock_seat(const pawl_lock *lock)
{
    const char *mark = strchr(lock->names[0].name, '#');
    if (client_lock_writes(lock))
        return -1;
    return mark != NULL ? (int)strtol(mark + 1, NULL, 10) : -1;
}

const char *pawl_lock_id(const pawl_lock *lock)
{
    return lock->lock_id;
}
