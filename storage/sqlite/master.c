#include "storage/sqlite/master.h"

#include "storage/sqlite/master_link.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    SENT_MAX = 2, /* batches under way: while one is being written, the next one is filled */
};

/* ---- what comes back ------------------------------------------------------------------------- */

static void on_notices(void *context, const struct storage_notice *notices, size_t count)
{
    struct storage_sqlite_master *master = context;
    storage_inbox_notice(&master->inbox, notices, count);
}

static void tell_of_released(const struct storage_sqlite_master *master, size_t count)
{
    if (!storage_sqlite_link_events(master)->released || master->link == LINK_CLOSED)
        return;
    for (size_t i = 0; i < count; i++)
        storage_sqlite_link_events(master)->released(storage_sqlite_link_events(master)->context,
                                                     master->inbox.told[i].lock_id,
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
        storage_sqlite_link_take(master, job);
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
    storage_sqlite_link_begin(master);
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

/* Frees the memory when the last job is back. */
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
    storage_sqlite_link_submit(master, job);
}

/* Returns the batch to add to; requests under different views never share one. NULL: too much is
 * under way. */
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
    assert(job); /* views change rarely, and a turn of the store takes all waiting jobs */
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
        storage_sqlite_link_retry(master);
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
    storage_sqlite_link_submit(master, job);
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
    storage_sqlite_link_handshake(sqlite_of(base),
                                  storage_job_new(sqlite_of(base), STORAGE_JOB_FACTS));
}

static void sqlite_restamp(struct storage_master *base, const struct fence_facts *facts)
{
    struct storage_sqlite_master *master = sqlite_of(base);
    begin_handshake(master);
    struct storage_job *job = storage_job_new(master, STORAGE_JOB_RESTAMP);
    if (job)
        job->facts = *facts;
    storage_sqlite_link_handshake(master, job);
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
    storage_sqlite_link_submit(master, job);
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
