#include "storage/sqlite/store.h"

#include "storage/sqlite/store_job.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ATTACHED_MAX = 64, /* loops of a process */
    SWEEP_MS = 1000,
};

/* What was committed since the last checkpoint would be lost in a crash. */
static const char log_is_off[] = "the log pawl.db-wal was removed or replaced. Restart pawld "
                                 "(SIGTERM): pawld keeps all commits";

struct storage_sqlite_store {
    struct storage_file file;
    struct storage_state state; /* the thread's */
    uint64_t swept_ms;
    bool failed;  /* the last turn was rolled back */
    bool log_off; /* the log was not at its path in this turn */
    pthread_t thread;

    pthread_mutex_t lock; /* guards all that is below */
    pthread_cond_t comes;
    struct storage_job *first; /* that wait, in order */
    struct storage_job *last;
    bool ends;

    pthread_mutex_t attached_lock; /* guards all that is below; held while a notice is delivered */
    const struct storage_told *attached[ATTACHED_MAX];
    unsigned attached_count;
};

/* ---- the thread ------------------------------------------------------------------------------ */

/* Waits for jobs and returns all; NULL: the store ends. */
static struct storage_job *wait_for_jobs(struct storage_sqlite_store *store)
{
    pthread_mutex_lock(&store->lock);
    while (!store->first && !store->ends)
        pthread_cond_wait(&store->comes, &store->lock);
    struct storage_job *jobs = store->first;
    assert((store->first == NULL) == (store->last == NULL));
    store->first = store->last = NULL;
    pthread_mutex_unlock(&store->lock);
    return jobs;
}

/* Checks the path. If another file is moved to the path, the next start would lose all of this
 * data. */
static void look_at_path(struct storage_sqlite_store *store)
{
    struct storage_state *state = &store->state;
    int error = state->code == SQLITE_OK ? storage_file_look(&store->file) : 0;
    store->log_off = error == FENCE_ENOENT;
    if (error == FENCE_ECONFLICT) {
        storage_state_new_lineage(state->lineage);
        state->changed = true;
    } else if (error) {
        state->code = SQLITE_IOERR; /* the file may be visible again later: nothing is done until
                                     * then */
    }
}

static void sweep(struct storage_sqlite_store *store)
{
    struct storage_state *state = &store->state;
    if (!state->changed || state->turn.now_ms < store->swept_ms + SWEEP_MS)
        return;
    storage_state_sweep(state);
    store->swept_ms = state->turn.now_ms;
}

/* Does a job. After a failed turn, each handshake must first see that the file takes writes. */
static void do_job(struct storage_sqlite_store *store, struct storage_job *job)
{
    if (job->kind == STORAGE_JOB_FACTS)
        look_at_path(store);
    store->state.changed = store->state.changed || store->failed;
    storage_job_do(job, &store->state);
}

/* Does all jobs in one transaction. */
static bool do_jobs(struct storage_sqlite_store *store, struct storage_job *jobs)
{
    assert(jobs != NULL);
    struct storage_state *state = &store->state;
    store->log_off = false;
    storage_state_begin(state);
    for (struct storage_job *job = jobs; job; job = job->next)
        do_job(store, job);
    sweep(store);
    uint64_t before = state->commits;
    bool done = storage_state_end(state);
    if (done && state->commits != before)
        storage_file_committed(&store->file, state->commits);
    store->failed = !done;
    return done;
}

static void explain_failure(const struct storage_sqlite_store *store, struct storage_job *job)
{
    const struct storage_state *state = &store->state;
    assert(state->code != SQLITE_OK && !job->failed);
    int error = sqlite3_system_errno(state->db);
    job->failed = true;
    if (store->log_off) {
        (void)snprintf(job->why, sizeof(job->why), "%s", log_is_off);
        return;
    }
    (void)snprintf(job->why, sizeof(job->why), "%s%s%s", sqlite3_errstr(state->code),
                   error ? ": " : "", error ? strerror(error) : "");
}

static void tell_notices(struct storage_sqlite_store *store)
{
    const struct storage_state *state = &store->state;
    assert(state->notices_count <= STORAGE_NOTICES_MAX);
    if (state->notices_count == 0)
        return;
    pthread_mutex_lock(&store->attached_lock);
    for (unsigned i = 0; i < store->attached_count; i++)
        store->attached[i]->notices(store->attached[i]->context, state->notices,
                                    state->notices_count);
    pthread_mutex_unlock(&store->attached_lock);
}

static void *run_store(void *context)
{
    struct storage_sqlite_store *store = context;
    for (struct storage_job *jobs; (jobs = wait_for_jobs(store));) {
        bool done = do_jobs(store, jobs);
        if (done)
            tell_notices(store);
        while (jobs) {
            struct storage_job *job = jobs;
            jobs = job->next;
            if (!done)
                explain_failure(store, job);
            job->done(job);
        }
        storage_file_checkpoint(&store->file);
    }
    return NULL;
}

/* ---- its life -------------------------------------------------------------------------------- */

int storage_sqlite_store_open(const struct storage_file_config *config,
                              struct storage_sqlite_store **ret_store,
                              char ret_why[static STORAGE_WHY_MAX])
{
    struct storage_sqlite_store *store = calloc(1, sizeof(*store));
    if (!store) {
        (void)snprintf(ret_why, STORAGE_WHY_MAX, "out of memory");
        return FENCE_ENOMEM;
    }
    int error = storage_file_open(config, &store->file, &store->state, ret_why);
    if (error) {
        free(store);
        return error;
    }
    pthread_mutex_init(&store->lock, NULL);
    pthread_mutex_init(&store->attached_lock, NULL);
    pthread_cond_init(&store->comes, NULL);
    if (pthread_create(&store->thread, NULL, run_store, store) == 0) {
        *ret_store = store;
        return 0;
    }
    (void)snprintf(ret_why, STORAGE_WHY_MAX, "the operating system cannot start a thread");
    storage_file_close(&store->file, &store->state);
    free(store);
    return FENCE_ENOMEM;
}

const struct storage_file *storage_sqlite_store_file(const struct storage_sqlite_store *store)
{
    return &store->file;
}

void storage_sqlite_store_close(struct storage_sqlite_store *store)
{
    if (!store)
        return;
    assert(store->attached_count == 0);
    pthread_mutex_lock(&store->lock);
    store->ends = true;
    pthread_cond_signal(&store->comes);
    pthread_mutex_unlock(&store->lock);
    pthread_join(store->thread, NULL);
    assert(store->first == NULL);
    storage_file_close(&store->file, &store->state);
    pthread_cond_destroy(&store->comes);
    pthread_mutex_destroy(&store->attached_lock);
    pthread_mutex_destroy(&store->lock);
    free(store);
}

/* ---- for masters ----------------------------------------------------------------------------- */

void storage_sqlite_store_attach(struct storage_sqlite_store *store,
                                 const struct storage_told *told)
{
    pthread_mutex_lock(&store->attached_lock);
    assert(store->attached_count < ATTACHED_MAX);
    store->attached[store->attached_count++] = told;
    pthread_mutex_unlock(&store->attached_lock);
}

void storage_sqlite_store_detach(struct storage_sqlite_store *store,
                                 const struct storage_told *told)
{
    pthread_mutex_lock(&store->attached_lock);
    unsigned i = 0;
    while (i < store->attached_count && store->attached[i] != told)
        i++;
    assert(i < store->attached_count);
    store->attached[i] = store->attached[--store->attached_count];
    pthread_mutex_unlock(&store->attached_lock);
}

void storage_sqlite_store_submit(struct storage_sqlite_store *store, struct storage_job *job)
{
    assert(job->done != NULL);
    job->next = NULL;
    pthread_mutex_lock(&store->lock);
    assert(!store->ends);
    if (store->last)
        store->last->next = job;
    else
        store->first = job;
    store->last = job;
    pthread_cond_signal(&store->comes);
    pthread_mutex_unlock(&store->lock);
}
