/* The way from the store to a loop: finished jobs, and notices. The store's thread adds them, and
 * wakes the loop to take them out. */
#ifndef STORAGE_SQLITE_INBOX_H
#define STORAGE_SQLITE_INBOX_H

#include "storage/sqlite/store_job.h"

#include <pthread.h>

#include <uv.h>

struct storage_inbox {
    uv_async_t async;
    void (*comes)(void *context); /* called on the loop: there are jobs or notices */
    void *context;
    struct storage_notice told[STORAGE_NOTICES_MAX]; /* taken out last */

    pthread_mutex_t lock; /* guards all that is below */
    struct storage_job *first;
    struct storage_job *last;
    struct storage_notice notices[STORAGE_NOTICES_MAX];
    size_t count;
};

/* FENCE_EIO: the system gives no descriptor. */
FENCE_CHECKED int storage_inbox_open(struct storage_inbox *inbox, uv_loop_t *loop,
                                     void (*comes)(void *context), void *context);

/* Closes the handle; then @closed is called. Nothing may be added any more. */
void storage_inbox_close(struct storage_inbox *inbox, uv_close_cb closed);

/* Adds a job or notices; called on the store's thread. Notices are copied, and may get lost. */
void storage_inbox_put(struct storage_inbox *inbox, struct storage_job *job);
void storage_inbox_notice(struct storage_inbox *inbox, const struct storage_notice *notices,
                          size_t count);

/* Takes all: jobs in order, and *@ret_count notices in @inbox->told. Called on the loop's
 * thread. */
struct storage_job *storage_inbox_take(struct storage_inbox *inbox, size_t *ret_count);

#endif
