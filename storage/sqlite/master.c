#include "storage/sqlite/master.h"

#include "storage/backoff.h"
#include "storage/sqlite/batches.h"
#include "storage/sqlite/inbox.h"
#include "storage/sqlite/job.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SENT_MAX = 2,            /* batches under way: while one is being written, the next is there */
    PROBES_SILENT_MS = 2000, /* a probe that takes longer says that the disk hangs */
};

enum link {
    LINK_BACKOFF,
    LINK_HANDSHAKE,
    LINK_READY,
    LINK_CLOSED,
};

struct storage_sqlite_master {
    struct storage_master base; /* first: ops get a pointer to it */
    struct storage_sqlite_config config;
    struct storage_told told_by_store;
    enum link link;
    unsigned failures; /* since it was last steady */
    bool reset_wanted;
    char detail[STORAGE_JOB_WHY_MAX];
    uint64_t round_trip_us;
    struct fence_facts facts; /* facts of the handshake */
    bool leads;               /* this connection marked the master: its marker is to change */

    struct storage_batches batches;
    struct storage_job *gathered; /* one of these; NULL: nothing was submitted */
    unsigned sent;                /* batches of this connection that are under way */
    unsigned epoch;               /* counts connections: what an earlier one asked is lost */
    unsigned jobs_out;
    struct storage_job *probe;
    uint64_t probe_since_ms;

    uv_timer_t timer;
    unsigned open; /* handles */
    bool closing;
    struct storage_inbox inbox;
};

/* ---- between the threads --------------------------------------------------------------------- */

static void on_done(struct storage_job *job)
{
    assert(job->master != NULL);
    storage_inbox_put(&job->master->inbox, job);
}

static void on_notices(void *context, const struct storage_notice *notices, size_t count)
{
    struct storage_sqlite_master *master = context;
    storage_inbox_notice(&master->inbox, notices, count);
}

static void submit_job(struct storage_sqlite_master *master, struct storage_job *job)
{
    assert(!master->closing && job->master == master);
    job->done = on_done;
    job->epoch = master->epoch;
    job->sent_ns = uv_hrtime();
    master->jobs_out++;
    storage_sqlite_store_submit(master->config.store, job);
}

/* ---- replies --------------------------------------------------------------------------------- */

static const struct storage_master_events *events_of(const struct storage_sqlite_master *master)
{
    return &master->config.events;
}

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
        events_of(master)->reply(events_of(master)->context, master->config.index, &lost);
    }
}

static void tell_replies(const struct storage_sqlite_master *master, struct storage_job *job)
{
    assert(job->kind == STORAGE_JOB_REQUESTS && !job->failed);
    if (events_of(master)->batch)
        events_of(master)->batch(events_of(master)->context, master->config.index, job->count,
                                 master->round_trip_us);
    for (unsigned i = 0; i < job->count; i++) {
        struct fence_master_answer *answer = &job->entries[i].answer;
        answer->reply.holder = answer->holder;
        answer->reply.owner = answer->owner;
        events_of(master)->reply(events_of(master)->context, master->config.index, &answer->reply);
    }
}

/* ---- the link -------------------------------------------------------------------------------- */

static void on_store_backoff_over(uv_timer_t *timer);

/* No call waits any more for what is under way. It is done anyway, before whatever is asked
 * next. */
static void give_up_batches(struct storage_sqlite_master *master)
{
    struct storage_job *gathered = master->gathered;
    unsigned epoch = master->epoch++;
    master->gathered = NULL;
    master->sent = 0;
    master->probe = NULL;
    master->leads = false;
    for (unsigned i = 0; i < STORAGE_BATCHES;
         i++) /* also what was gathered: it has this epoch too */
        if (master->batches.out[i] && master->batches.jobs[i]->epoch == epoch)
            tell_lost(master, master->batches.jobs[i]);
    if (gathered)
        storage_batches_give(&master->batches, gathered);
}

static void shake_hands_later(struct storage_sqlite_master *master)
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
    events_of(master)->down(events_of(master)->context, master->config.index, reason);
    if (master->link == LINK_BACKOFF)
        shake_hands_later(master);
}

/* If there is no memory for it, it is asked later. */
static void shake_hands(struct storage_sqlite_master *master, struct storage_job *job)
{
    if (job)
        submit_job(master, job);
    else
        uv_timer_start(&master->timer, on_store_backoff_over, STORAGE_BACKOFF_MAX_MS, 0);
}

static void on_store_backoff_over(uv_timer_t *timer)
{
    struct storage_sqlite_master *master = timer->data;
    assert(master->link == LINK_BACKOFF || master->link == LINK_HANDSHAKE);
    master->link = LINK_HANDSHAKE;
    shake_hands(master, storage_job_new(master, STORAGE_JOB_FACTS));
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
    submit_job(master, job);
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

/* The change that a handshake would judge differently from the last one. */
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
    else if (events_of(master)->probed)
        events_of(master)->probed(events_of(master)->context, master->config.index, &job->facts);
}

/* ---- what comes back ------------------------------------------------------------------------- */

static void take_store_facts(struct storage_sqlite_master *master, const struct storage_job *job)
{
    assert(job->kind == STORAGE_JOB_FACTS || job->kind == STORAGE_JOB_RESTAMP);
    if (job->probes && job != master->probe)
        return; /* of before a handshake */
    master->probe = NULL;
    if (job->failed) {
        fail_link(master, FENCE_REASON_UNWILLING, job->why);
    } else if (job->probes) {
        take_probe(master, job);
    } else {
        master->facts = job->facts;
        master->link = LINK_READY;
        if (events_of(master)->probed)
            uv_timer_start(&master->timer, on_store_probe_due, master->config.probe_ms,
                           master->config.probe_ms);
        events_of(master)->facts(events_of(master)->context, master->config.index, &job->facts);
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
        fail_link(master, FENCE_REASON_UNWILLING, job->why); /* which tells that all are lost */
    if (current && !failed) {
        assert(master->sent > 0);
        master->sent--;
        master->failures = 0;
        job->epoch = master->epoch - 1; /* its replies were told, if the link is lost by them */
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
    if (events_of(master)->rejoin)
        events_of(master)->rejoin(events_of(master)->context, master->config.index,
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

static void take_job(struct storage_sqlite_master *master, struct storage_job *job)
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

static void tell_of_released(const struct storage_sqlite_master *master, size_t count)
{
    if (!events_of(master)->released || master->link == LINK_CLOSED)
        return;
    for (size_t i = 0; i < count; i++)
        events_of(master)->released(events_of(master)->context, master->inbox.told[i].lock_id,
                                    master->inbox.told[i].resource);
}

static void close_if_done(struct storage_sqlite_master *master);

static void on_inbox_filled(void *context)
{
    struct storage_sqlite_master *master = context;
    size_t count = 0;
    struct storage_job *job = storage_inbox_take(&master->inbox, &count);
    while (job) {
        struct storage_job *next = job->next;
        take_job(master, job);
        job = next;
    }
    tell_of_released(master, count);
    close_if_done(master);
}

/* ---- its life -------------------------------------------------------------------------------- */

static const struct storage_master_ops sqlite_ops;

static void free_memory(struct storage_sqlite_master *master)
{
    storage_batches_fini(&master->batches);
    free(master);
}

int storage_sqlite_master_new(const struct storage_sqlite_config *config,
                              struct storage_master **ret_master)
{
    struct storage_sqlite_master *master = calloc(1, sizeof(*master));
    if (!master)
        return FENCE_ENOMEM;
    master->base.ops = &sqlite_ops;
    master->config = *config;
    if (storage_batches_init(&master->batches, master) != 0 ||
        storage_inbox_open(&master->inbox, config->loop, on_inbox_filled, master) != 0) {
        free_memory(master);
        return FENCE_ENOMEM;
    }
    uv_timer_init(config->loop, &master->timer);
    master->timer.data = master;
    master->open = 2;
    master->told_by_store = (struct storage_told){.context = master, .notices = on_notices};
    storage_sqlite_store_attach(config->store, &master->told_by_store);
    uv_timer_start(&master->timer, on_store_backoff_over, 0, 0);
    *ret_master = &master->base;
    return 0;
}

static void close_handle(struct storage_sqlite_master *master)
{
    assert(master->open > 0);
    if (--master->open == 0)
        free_memory(master);
}

static void on_store_timer_closed(uv_handle_t *handle)
{
    close_handle(handle->data);
}

static void on_inbox_closed(uv_handle_t *handle)
{
    const struct storage_inbox *inbox = handle->data;
    close_handle(inbox->context);
}

/* The memory goes when the last job is back. */
static void close_if_done(struct storage_sqlite_master *master)
{
    if (master->link != LINK_CLOSED || master->jobs_out > 0 || master->closing)
        return;
    master->closing = true;
    storage_inbox_close(&master->inbox, on_inbox_closed);
    uv_close((uv_handle_t *)&master->timer, on_store_timer_closed);
}

static struct storage_sqlite_master *sqlite_of(struct storage_master *base)
{
    return (struct storage_sqlite_master *)base;
}

static const struct storage_sqlite_master *sqlite_of_const(const struct storage_master *base)
{
    return (const struct storage_sqlite_master *)base;
}

static void sqlite_free(struct storage_master *base)
{
    struct storage_sqlite_master *master = sqlite_of(base);
    assert(master->link != LINK_CLOSED);
    storage_sqlite_store_detach(master->config.store, &master->told_by_store);
    uv_timer_stop(&master->timer);
    master->link = LINK_CLOSED;
    master->epoch++;
    close_if_done(master);
}

/* ---- requests -------------------------------------------------------------------------------- */

static void seal_batch(struct storage_sqlite_master *master)
{
    struct storage_job *job = master->gathered;
    if (!job)
        return;
    assert(job->count > 0);
    master->gathered = NULL;
    master->sent++;
    submit_job(master, job);
}

/* Requests under different views never go together. NULL: too much is under way. */
static struct storage_job *gather_batch(struct storage_sqlite_master *master,
                                        const struct fence_fleet *fleet)
{
    if (master->gathered && master->gathered->generation != fleet->generation)
        seal_batch(master);
    if (!master->gathered)
        master->gathered = storage_batches_take(&master->batches, master->epoch);
    return master->gathered;
}

static void submit_one(struct storage_sqlite_master *master, const struct fence_request *request,
                       const struct fence_fleet *fleet)
{
    struct storage_job *job = gather_batch(master, fleet);
    assert(job); /* views change seldom, and a turn of the store takes everything that waits */
    job->generation = fleet->generation;
    job->view = fleet->master[master->config.index].named;
    memcpy(job->fleet_id, fleet->fleet_id, sizeof(job->fleet_id));
    storage_job_add(job, request);
}

static void sqlite_submit(struct storage_master *const masters[], uint32_t set,
                          const struct fence_request *request, const struct fence_fleet *fleet)
{
    for (unsigned i = 0; i < fleet->n; i++)
        if (set >> i & 1)
            submit_one(sqlite_of(masters[i]), request, fleet);
}

static bool sqlite_could_send(const struct storage_master *base)
{
    const struct storage_sqlite_master *master = sqlite_of_const(base);
    return master->link == LINK_READY && master->gathered && master->sent < SENT_MAX;
}

static void sqlite_flush(struct storage_master *base)
{
    struct storage_sqlite_master *master = sqlite_of(base);
    if (sqlite_could_send(base))
        seal_batch(master);
    if (!master->reset_wanted)
        return;
    master->reset_wanted = false;
    if (master->link != LINK_CLOSED)
        shake_hands_later(master);
}

static void sqlite_reset(struct storage_master *base)
{
    sqlite_of(base)->reset_wanted = true;
}

/* ---- the rest -------------------------------------------------------------------------------- */

static void sqlite_rejoin(struct storage_master *base, const struct fence_rejoin_request *request)
{
    struct storage_sqlite_master *master = sqlite_of(base);
    assert(master->link == LINK_READY);
    seal_batch(master);
    struct storage_job *job = storage_job_new_rejoin(master, request);
    if (!job)
        return; /* no reply comes: the core's timeout ends the step */
    master->leads = master->leads || request->step == FENCE_REJOIN_MARK;
    submit_job(master, job);
}

static void begin_handshake(struct storage_sqlite_master *master)
{
    assert(master->link == LINK_READY);
    seal_batch(master);
    uv_timer_stop(&master->timer);
    master->probe = NULL;
    master->leads = false;
    master->link = LINK_HANDSHAKE;
}

/* No other server uses the file. */
static void sqlite_place(struct storage_master *base, const struct fence_place *place)
{
    (void)base;
    (void)place;
}

static void sqlite_handshake(struct storage_master *base)
{
    begin_handshake(sqlite_of(base));
    shake_hands(sqlite_of(base), storage_job_new(sqlite_of(base), STORAGE_JOB_FACTS));
}

static void sqlite_restamp(struct storage_master *base, const struct fence_facts *facts)
{
    struct storage_sqlite_master *master = sqlite_of(base);
    begin_handshake(master);
    struct storage_job *job = storage_job_new(master, STORAGE_JOB_RESTAMP);
    if (job)
        job->facts = *facts;
    shake_hands(master, job);
}

static int ask_found(struct storage_sqlite_master *master, struct storage_job *job,
                     storage_found_fn *told, void *context)
{
    assert(told != NULL);
    if (!job || master->link != LINK_READY) {
        int error = job ? FENCE_EIO : FENCE_ENOMEM;
        storage_job_free(job);
        return error;
    }
    job->told = told;
    job->context = context;
    submit_job(master, job);
    return 0;
}

static int sqlite_scan(struct storage_master *base, const struct fence_scan *scan,
                       storage_found_fn *told, void *context)
{
    struct storage_job *job = storage_job_new_names(sqlite_of(base), scan);
    return ask_found(sqlite_of(base), job, told, context);
}

static int sqlite_holders(struct storage_master *base, enum fence_listing_kind kind,
                          const struct fence_lock_name *names, size_t count, storage_found_fn *told,
                          void *context)
{
    struct storage_job *job = storage_job_new_holders(sqlite_of(base), kind, names, count);
    return ask_found(sqlite_of(base), job, told, context);
}

static const char *sqlite_address(const struct storage_master *base)
{
    return storage_sqlite_store_file(sqlite_of_const(base)->config.store)->path;
}

static void sqlite_password(struct storage_master *base, const char *password,
                            storage_refused_fn *refused, void *context)
{
    (void)base, (void)password, (void)refused, (void)context; /* a file asks for none */
}

static const char *sqlite_detail(const struct storage_master *base)
{
    return sqlite_of_const(base)->detail;
}

static uint64_t sqlite_round_trip_us(const struct storage_master *base)
{
    return sqlite_of_const(base)->round_trip_us;
}

static const struct storage_master_ops sqlite_ops = {
    .submit = sqlite_submit,
    .could_send = sqlite_could_send,
    .flush = sqlite_flush,
    .reset = sqlite_reset,
    .rejoin = sqlite_rejoin,
    .place = sqlite_place,
    .handshake = sqlite_handshake,
    .restamp = sqlite_restamp,
    .scan = sqlite_scan,
    .holders = sqlite_holders,
    .password = sqlite_password,
    .address = sqlite_address,
    .detail = sqlite_detail,
    .round_trip_us = sqlite_round_trip_us,
    .free = sqlite_free,
};
