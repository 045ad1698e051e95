#include "storage/sqlite/inbox.h"

#include <assert.h>
#include <string.h>

static void on_inbox(uv_async_t *async)
{
    struct storage_inbox *inbox = async->data;
    inbox->comes(inbox->context);
}

int storage_inbox_open(struct storage_inbox *inbox, uv_loop_t *loop, void (*comes)(void *context),
                       void *context)
{
    assert(comes != NULL);
    if (uv_async_init(loop, &inbox->async, on_inbox) != 0)
        return FENCE_EIO;
    inbox->async.data = inbox;
    inbox->comes = comes;
    inbox->context = context;
    pthread_mutex_init(&inbox->lock, NULL);
    return 0;
}

void storage_inbox_close(struct storage_inbox *inbox, uv_close_cb closed)
{
    pthread_mutex_destroy(&inbox->lock);
    uv_close((uv_handle_t *)&inbox->async, closed);
}

/* Wakes the loop under the lock: once the loop has the job, it may close the handle. */

void storage_inbox_put(struct storage_inbox *inbox, struct storage_job *job)
{
    job->next = NULL;
    pthread_mutex_lock(&inbox->lock);
    assert((inbox->first == NULL) == (inbox->last == NULL));
    if (inbox->last)
        inbox->last->next = job;
    else
        inbox->first = job;
    inbox->last = job;
    (void)uv_async_send(&inbox->async);
    pthread_mutex_unlock(&inbox->lock);
}

void storage_inbox_notice(struct storage_inbox *inbox, const struct storage_notice *notices,
                          size_t count)
{
    pthread_mutex_lock(&inbox->lock);
    assert(inbox->count <= STORAGE_NOTICES_MAX);
    size_t room = STORAGE_NOTICES_MAX - inbox->count;
    size_t kept = count < room ? count : room;
    memcpy(&inbox->notices[inbox->count], notices, kept * sizeof(*notices));
    inbox->count += kept;
    (void)uv_async_send(&inbox->async);
    pthread_mutex_unlock(&inbox->lock);
}

struct storage_job *storage_inbox_take(struct storage_inbox *inbox, size_t *ret_count)
{
    pthread_mutex_lock(&inbox->lock);
    assert(inbox->count <= STORAGE_NOTICES_MAX);
    struct storage_job *jobs = inbox->first;
    *ret_count = inbox->count;
    memcpy(inbox->told, inbox->notices, inbox->count * sizeof(inbox->told[0]));
    inbox->first = inbox->last = NULL;
    inbox->count = 0;
    pthread_mutex_unlock(&inbox->lock);
    return jobs;
}
