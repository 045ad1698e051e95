#include "server/pawld/workers.h"

#include "server/system/log.h"
#include "server/system/options.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int pawld_workers_make(struct pawld_workers *workers, const struct server_worker_config *config,
                       unsigned count)
{
    assert(workers->made == 0 && count > 0 && count <= SERVER_WORKERS_MAX);
    int status = 0;
    for (; workers->made < count && !status; workers->made += !status) {
        struct server_worker_config each = *config;
        each.index = workers->made;
        each.others = workers->made == 0 ? &workers->others : NULL;
        status = server_worker_new(&each, &workers->worker[workers->made]);
    }
    return status;
}

void pawld_workers_each(struct pawld_workers *workers, void (*act)(struct server_worker *worker))
{
    for (unsigned i = 0; i < workers->made; i++)
        act(workers->worker[i]);
}

static void *run_other(void *context)
{
    const struct pawld_worker_thread *own = context;
    struct pawld_workers *workers = own->workers;
    char name[16]; /* as long as the system allows */
    (void)snprintf(name, sizeof(name), "worker %u", own->index + 1);
    (void)pthread_setname_np(pthread_self(), name);
    server_worker_run(workers->worker[own->index]);
    const unsigned before = atomic_fetch_sub(&workers->others, 1);
    assert(before > 0);
    server_worker_look(workers->worker[0]);
    return NULL;
}

static int start_other(struct pawld_workers *workers, unsigned i)
{
    assert(i > 0 && i < workers->made); /* the first one runs on this thread */
    struct pawld_worker_thread *own = &workers->threads[i];
    *own = (struct pawld_worker_thread){.workers = workers, .index = i};
    atomic_fetch_add(&workers->others, 1);
    const int error = pthread_create(&own->thread, NULL, run_other, own);
    if (error)
        atomic_fetch_sub(&workers->others, 1);
    return error;
}

int pawld_workers_start(struct pawld_workers *workers)
{
    assert(workers->made > 0 && workers->started == 0);
    for (workers->started = 1; workers->started < workers->made; workers->started++) {
        const int error = start_other(workers, workers->started);
        if (!error)
            continue;
        server_log(SERVER_LOG_ERROR, "cannot start worker %u: %s", workers->started + 1,
                   strerror(error));
        return SERVER_EXIT_FAILED;
    }
    return SERVER_EXIT_DONE;
}

/* Joins another worker. A worker that is stuck would delay the end for ever. */
static void join_other(struct pawld_workers *workers, unsigned i)
{
    struct timespec until = {.tv_sec = 0};
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PAWLD_STUCK_S;
    if (pthread_timedjoin_np(workers->threads[i].thread, NULL, &until) == 0)
        return;
    server_log(SERVER_LOG_ERROR,
               "worker %u is stuck, and the process exits without waiting for this worker", i + 1);
    _exit(SERVER_EXIT_FAILED);
}

void pawld_workers_run(struct pawld_workers *workers)
{
    assert(workers->started > 0);
    server_worker_run(workers->worker[0]);
    for (unsigned i = 1; i < workers->started; i++)
        join_other(workers, i);
}

void pawld_workers_free(struct pawld_workers *workers)
{
    for (unsigned i = 0; i < workers->made; i++)
        server_worker_free(workers->worker[i]);
}
