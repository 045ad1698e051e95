#include "storage/sqlite/master_link.h"

#include "storage/backoff.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum {
    PROBES_SILENT_MS = 2000, /* if a probe takes longer, the disk hangs */
};

static void on_done(struct storage_job *job)
{
    assert(job->master != NULL);
    storage_inbox_put(&job->master->inbox, job);
}

void storage_sqlite_link_submit(struct storage_sqlite_master *master, struct storage_job *job)
{
    assert(!master->closing && job->master == master);
    job->done = on_done;
    job->epoch = master->epoch;
    job->sent_ns = uv_hrtime();
    master->jobs_out++;
    storage_sqlite_store_submit(master->config.store, job);
}

/* ---- replies --------------------------------------------------------------------------------- */

static void tell_lost(const struct storage_sqlite_master *master, const struct storage_job *job)
{
    assert(job->kind == STORAGE_JOB_REQUESTS);
    for (unsigned i = 0; i < job->count; i++) {
        const struct storage_entry *entry = &job->entries[i];
        const struct fence_reply lost = {
            .kind = FENCE_REPLY_LOST,
            .tag = entry->request.tag,
            .locks = entry->locks,
        };
        storage_sqlite_link_events(master)->reply(storage_sqlite_link_events(master)->context,
                                                  master->config.index, &lost);
    }
}

static void tell_replies(const struct storage_sqlite_master *master, struct storage_job *job)
{
    assert(job->kind == STORAGE_JOB_REQUESTS && !job->failed);
    if (storage_sqlite_link_events(master)->batch)
        storage_sqlite_link_events(master)->batch(storage_sqlite_link_events(master)->context,
                                                  master->config.index, job->count,
                                                  master->round_trip_us);
    for (unsigned i = 0; i < job->count; i++) {
        struct fence_master_answer *answer = &job->entries[i].answer;
        answer->reply.holder = answer->holder;
        answer->reply.owner = answer->owner;
        storage_sqlite_link_events(master)->reply(storage_sqlite_link_events(master)->context,
                                                  master->config.index, &answer->reply);
    }
}

/* ---- the link -------------------------------------------------------------------------------- */

static void on_store_backoff_over(uv_timer_t *timer);

/* Abandons the batches under way: no call waits for them any more. They are done anyway, before all
 * later requests. */
static void give_up_batches(struct storage_sqlite_master *master)
{
    struct storage_job *gathered = master->gathered;
    unsigned epoch = master->epoch++;
    master->gathered = NULL;
    master->sent = 0;
    master->probe = NULL;
    master->leads = false;
    for (unsigned i = 0; i < STORAGE_BATCHES;
         i++) /* gathered requests, too: they have this epoch */
        if (master->batches.out[i] && master->batches.jobs[i]->epoch == epoch)
            tell_lost(master, master->batches.jobs[i]);
    if (gathered)
        storage_batches_give(&master->batches, gathered);
}

void storage_sqlite_link_retry(struct storage_sqlite_master *master)
{
    assert(master->link != LINK_CLOSED);
    give_up_batches(master);
    master->link = LINK_BACKOFF;
    uv_timer_start(&master->timer, on_store_backoff_over, storage_backoff_ms(master->failures++),
                   0);
}

static void fail_link(struct storage_sqlite_master *master, enum fence_reason reason,
                      const char *detail)
{
    if (master->link == LINK_BACKOFF || master->link == LINK_CLOSED)
        return;
    (void)snprintf(master->detail, sizeof(master->detail), "%s", detail);
    master->link = LINK_BACKOFF;
    storage_sqlite_link_events(master)->down(storage_sqlite_link_events(master)->context,
                                             master->config.index, reason);
    if (master->link == LINK_BACKOFF)
        storage_sqlite_link_retry(master);
}

void storage_sqlite_link_handshake(struct storage_sqlite_master *master, struct storage_job *job)
{
    if (job)
        storage_sqlite_link_submit(master, job);
    else
        uv_timer_start(&master->timer, on_store_backoff_over, STORAGE_BACKOFF_MAX_MS, 0);
}

static void on_store_backoff_over(uv_timer_t *timer)
{
    struct storage_sqlite_master *master = timer->data;
    assert(master->link == LINK_BACKOFF || master->link == LINK_HANDSHAKE);
    master->link = LINK_HANDSHAKE;
    storage_sqlite_link_handshake(master, storage_job_new(master, STORAGE_JOB_FACTS));
}

void storage_sqlite_link_begin(struct storage_sqlite_master *master)
{
    uv_timer_start(&master->timer, on_store_backoff_over, 0, 0);
}

/* ---- probes ---------------------------------------------------------------------------------- */

static void ask_probe_of_store(struct storage_sqlite_master *master)
{
    assert(master->link == LINK_READY && master->probe == NULL);
    struct storage_job *job = storage_job_new(master, STORAGE_JOB_FACTS);
    if (!job)
        return; /* the next one is due soon */
    job->probes = true;
    master->probe = job;
    master->probe_since_ms = storage_state_clock_ms();
    storage_sqlite_link_submit(master, job);
}

static void on_store_probe_due(uv_timer_t *timer)
{
    struct storage_sqlite_master *master = timer->data;
    assert(master->link == LINK_READY);
    if (!master->probe)
        ask_probe_of_store(master);
    else if (storage_state_clock_ms() > master->probe_since_ms + PROBES_SILENT_MS)
        fail_link(master, FENCE_REASON_SILENT, "the disk does not answer");
}

/* Returns the change that a handshake would judge differently from the last one. */
static const char *find_change_of_file(const struct storage_sqlite_master *master,
                                       const struct fence_facts *is)
{
    const struct fence_facts *was = &master->facts;
    unsigned me = master->config.index;
    if (strcmp(was->lineage, is->lineage) != 0)
        return "another program has written to its file, or the file was moved";
    if (master->leads)
        return NULL;
    if (was->marked && !is->marked)
        return "its marker was removed";
    if (was->view.incarnation[me] != is->view.incarnation[me])
        return "its marker was rewritten";
    return NULL;
}

static void take_probe(struct storage_sqlite_master *master, const struct storage_job *job)
{
    const char *change = find_change_of_file(master, &job->facts);
    if (change)
        fail_link(master, FENCE_REASON_CHANGED, change);
    else if (storage_sqlite_link_events(master)->probed)
        storage_sqlite_link_events(master)->probed(storage_sqlite_link_events(master)->context,
                                                   master->config.index, &job->facts);
}

/* ---- what comes back ------------------------------------------------------------------------- */

static void take_store_facts(struct storage_sqlite_master *master, const struct storage_job *job)
{
    assert(job->kind == STORAGE_JOB_FACTS || job->kind == STORAGE_JOB_RESTAMP);
    if (job->probes && job != master->probe)
        return; /* the job is from before a handshake */
    master->probe = NULL;
    if (job->failed) {
        fail_link(master, FENCE_REASON_UNWILLING, job->why);
    } else if (job->probes) {
        take_probe(master, job);
    } else {
        master->facts = job->facts;
        master->link = LINK_READY;
        if (storage_sqlite_link_events(master)->probed)
            uv_timer_start(&master->timer, on_store_probe_due, master->config.probe_ms,
                           master->config.probe_ms);
        storage_sqlite_link_events(master)->facts(storage_sqlite_link_events(master)->context,
                                                  master->config.index, &job->facts);
    }
}

static const char *explain_refusal(enum fence_refusal refusal)
{
    return refusal == FENCE_REFUSAL_FORGOT
               ? "another program has written to its file, or the file was moved"
               : "its marker was removed or changed";
}

static void take_requests(struct storage_sqlite_master *master, struct storage_job *job)
{
    const bool current = job->epoch == master->epoch && master->link != LINK_CLOSED;
    const bool failed = job->failed;
    const enum fence_refusal refusal = job->refusal;
    if (current && failed)
        fail_link(master, FENCE_REASON_UNWILLING, job->why); /* it reports that all are lost */
    if (current && !failed) {
        assert(master->sent > 0);
        master->sent--;
        master->failures = 0;
        job->epoch = master->epoch - 1; /* its replies were reported, if they lose the link */
        tell_replies(master, job);
    }
    if (current && !failed && (refusal == FENCE_REFUSAL_GONE || refusal == FENCE_REFUSAL_FORGOT))
        fail_link(master, FENCE_REASON_CHANGED, explain_refusal(refusal));
    storage_batches_give(&master->batches, job);
}

static void take_rejoin(struct storage_sqlite_master *master, struct storage_job *job)
{
    struct fence_rejoin_reply lost = {.outcome = FENCE_REJOIN_LOST, .tag = job->request.tag};
    bool of_use = !job->failed && job->epoch == master->epoch;
    if (storage_sqlite_link_events(master)->rejoin)
        storage_sqlite_link_events(master)->rejoin(storage_sqlite_link_events(master)->context,
                                                   master->config.index,
                                                   of_use ? &job->reply : &lost);
    if (job->failed && job->epoch == master->epoch)
        fail_link(master, FENCE_REASON_UNWILLING, job->why);
    else if (of_use && job->reply.outcome == FENCE_REJOIN_LOST)
        fail_link(master, FENCE_REASON_CHANGED, explain_refusal(FENCE_REFUSAL_GONE));
}

static void take_found(struct storage_sqlite_master *master, struct storage_job *job)
{
    assert(job->told != NULL);
    struct fence_found found = {.part = FENCE_PART_TIMEOUT};
    if (!job->failed && job->epoch == master->epoch)
        storage_job_tell_found(job, &found);
    job->told(job->context, master->config.index, &found);
}

void storage_sqlite_link_take(struct storage_sqlite_master *master, struct storage_job *job)
{
    assert(job->master == master && master->jobs_out > 0);
    const bool closed = master->link == LINK_CLOSED;
    master->jobs_out--;
    if (job->epoch == master->epoch && !closed)
        master->round_trip_us = (uv_hrtime() - job->sent_ns) / 1000;
    if (job->kind == STORAGE_JOB_REQUESTS) {
        take_requests(master, job);
        return;
    }
    if (!closed && job->kind == STORAGE_JOB_REJOIN)
        take_rejoin(master, job);
    else if (!closed && (job->kind == STORAGE_JOB_NAMES || job->kind == STORAGE_JOB_HOLDERS))
        take_found(master, job);
    else if (!closed && job->epoch == master->epoch)
        take_store_facts(master, job);
    storage_job_free(job);
}
