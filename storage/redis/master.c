/* One master: connects its parts to its connection, and reports to its owner. */
#include "storage/redis/master.h"

#include "storage/redis/auth.h"
#include "storage/redis/connection.h"
#include "storage/redis/handshake.h"
#include "storage/redis/outbox.h"
#include "storage/redis/probe.h"
#include "storage/redis/rejoin_call.h"
#include "storage/redis/scan.h"
#include "storage/redis/session.h"
#include "storage/redis/share_positions.h"
#include "storage/redis/subscribe.h"
#include "storage/redis/sweep.h"

#include <assert.h>
#include <stdlib.h>

struct storage_redis_master {
    struct storage_master base; /* first: ops get a pointer to it */
    struct storage_redis_config config;
    char address[STORAGE_ADDRESS_MAX];
    struct storage_connection connection;
    struct storage_session session;
    struct storage_outbox outbox;
    struct storage_listener listener;
    struct storage_sweeper sweeper;
    struct storage_probe probe;
    int open; /* the open parts: the connection, the sweeper */
};

/* ---- what the connection tells --------------------------------------------------------------- */

static void on_link_connected(void *context)
{
    struct storage_redis_master *master = context;
    storage_handshake_open(&master->session);
}

static void on_link_ready(void *context)
{
    struct storage_redis_master *master = context;
    const struct storage_master_events *events = &master->config.events;
    storage_probe_begin(&master->probe);
    storage_listener_open(&master->listener);
    events->facts(events->context, master->config.index, &master->session.reading.facts);
}

static void on_link_failed(void *context, enum fence_reason reason)
{
    const struct storage_redis_master *master = context;
    const struct storage_master_events *events = &master->config.events;
    events->down(events->context, master->config.index, reason);
}

static void on_link_ended(void *context)
{
    struct storage_redis_master *master = context;
    storage_sweeper_stop(&master->sweeper);
    storage_listener_close(&master->listener);
    storage_outbox_drop(&master->outbox);
}

/* Frees the memory with the last part. */
static void on_part_closed(void *context)
{
    struct storage_redis_master *master = context;
    assert(master->open > 0);
    if (--master->open > 0)
        return;
    storage_outbox_fini(&master->outbox);
    free(master);
}

/* ---- its life -------------------------------------------------------------------------------- */

static const struct storage_master_ops redis_ops;

static void open_connection(struct storage_redis_master *master)
{
    const struct storage_connection_config config = {
        .loop = master->config.loop,
        .url = &master->config.url,
        .events = {.context = master,
                   .connected = on_link_connected,
                   .ready = on_link_ready,
                   .failed = on_link_failed,
                   .ended = on_link_ended,
                   .closed = on_part_closed},
    };
    storage_connection_open(&master->connection, &config);
}

int storage_redis_master_new(const struct storage_redis_config *config,
                             struct storage_redis_master **ret_master)
{
    assert(config->index < config->members && config->members <= FENCE_MASTERS_MAX);
    assert(config->probe_ms == 0 ||
           (config->probe_ms >= STORAGE_PROBE_MIN_MS && config->probe_ms <= STORAGE_PROBE_MAX_MS));
    struct storage_redis_master *master = calloc(1, sizeof(*master));
    if (!master)
        return FENCE_ENOMEM;
    int error = storage_outbox_init(&master->outbox, &master->session);
    if (error) {
        free(master);
        return error;
    }
    master->base.ops = &redis_ops;
    master->config = *config;
    storage_redis_url_show(&config->url, master->address);
    master->session.connection = &master->connection;
    master->session.events = &master->config.events;
    master->session.index = config->index;
    master->session.members = config->members;
    master->session.refuses_module = config->refuses_module;
    master->listener.session = &master->session;
    master->probe.session = &master->session;
    master->probe.listener = &master->listener;
    master->probe.sweeper = &master->sweeper;
    storage_probe_set_interval(&master->probe,
                               config->probe_ms ? config->probe_ms : STORAGE_PROBE_MS);
    open_connection(master);
    storage_sweeper_init(&master->sweeper, &master->connection);
    master->open = 2;
    *ret_master = master;
    return 0;
}

void storage_redis_master_free(struct storage_redis_master *master)
{
    if (!master)
        return;
    storage_connection_close(&master->connection);
    storage_sweeper_fini(&master->sweeper, on_part_closed, master);
}

struct storage_master *storage_redis_master_base(struct storage_redis_master *master)
{
    return &master->base;
}

void storage_redis_master_submit(struct storage_redis_master *master,
                                 const struct storage_request *request,
                                 const struct fence_view *view, uint64_t generation)
{
    storage_outbox_submit(&master->outbox, request, view, generation);
}

void storage_redis_master_flush(struct storage_redis_master *master)
{
    /* Sends everything before a reset. So clean-ups reach a master that was only paused, behind the
     * requests that they clean up. */
    if (storage_outbox_could_send(&master->outbox))
        storage_outbox_seal(&master->outbox);
    storage_connection_flush(&master->connection);
}

const char *storage_redis_master_detail(const struct storage_redis_master *master)
{
    return master->connection.detail;
}

/* ---- as a master of any kind ----------------------------------------------------------------- */

static struct storage_redis_master *redis_of(struct storage_master *base)
{
    assert(base->ops == &redis_ops);
    return (struct storage_redis_master *)base;
}

static const struct storage_redis_master *redis_of_const(const struct storage_master *base)
{
    assert(base->ops == &redis_ops);
    return (const struct storage_redis_master *)base;
}

static void redis_submit(struct storage_master *const masters[], uint32_t set,
                         const struct fence_request *request, const struct fence_fleet *fleet)
{
    struct storage_request encoded; /* the same bytes for all */
    assert(fleet->n <= FENCE_MASTERS_MAX);
    storage_request_encode(request, &encoded);
    for (unsigned i = 0; i < fleet->n; i++)
        if (set >> i & 1)
            storage_outbox_submit(&redis_of(masters[i])->outbox, &encoded, &fleet->master[i].named,
                                  fleet->generation);
}

static bool redis_could_send(const struct storage_master *base)
{
    return storage_outbox_could_send(&redis_of_const(base)->outbox);
}

static void redis_flush(struct storage_master *base)
{
    storage_redis_master_flush(redis_of(base));
}

static void redis_reset(struct storage_master *base)
{
    storage_connection_reset(&redis_of(base)->connection);
}

/* Earlier requests are sent before a step of a rejoin, a handshake and a restamp. */

static void redis_rejoin(struct storage_master *base, const struct fence_rejoin_request *request)
{
    struct storage_redis_master *master = redis_of(base);
    assert(master->connection.link == STORAGE_LINK_READY);
    storage_outbox_seal(&master->outbox);
    storage_rejoin_send(&master->session, request);
}

static void redis_place(struct storage_master *base, const struct fence_place *place)
{
    assert(redis_of(base)->connection.link == STORAGE_LINK_READY);
    storage_tell_place(&redis_of(base)->session, place);
}

static void redis_handshake(struct storage_master *base)
{
    struct storage_redis_master *master = redis_of(base);
    assert(master->connection.link == STORAGE_LINK_READY);
    storage_outbox_seal(&master->outbox);
    storage_connection_handshake(&master->connection);
    storage_handshake_begin(&master->session);
}

static void redis_restamp(struct storage_master *base, const struct fence_facts *facts)
{
    struct storage_redis_master *master = redis_of(base);
    storage_outbox_seal(&master->outbox);
    storage_connection_handshake(&master->connection);
    storage_handshake_restamp(&master->session, facts);
}

static int redis_scan(struct storage_master *base, const struct fence_scan *scan,
                      storage_found_fn *on_found, void *context)
{
    return storage_scan_names(&redis_of(base)->session, scan, on_found, context);
}

static int redis_holders(struct storage_master *base, enum fence_listing_kind kind,
                         const struct fence_lock_name *names, size_t count,
                         storage_found_fn *on_found, void *context)
{
    return storage_scan_holders(&redis_of(base)->session, kind, names, count, on_found, context);
}

/* The current subscription needs no password any more; the next one uses the new one. */
static void redis_password(struct storage_master *base, const char *password,
                           storage_refused_fn *refused, void *context)
{
    struct storage_redis_master *master = redis_of(base);
    if (!master->config.url.password_may_change)
        return;
    storage_auth_change(&master->config.url, password);
    master->session.refused = refused;
    master->session.refused_context = context;
    storage_connection_hurry(&master->connection);
    if (master->connection.link == STORAGE_LINK_READY)
        storage_handshake_renew(&master->session);
}

static const char *redis_address(const struct storage_master *base)
{
    return redis_of_const(base)->address;
}

static const char *redis_detail(const struct storage_master *base)
{
    return storage_redis_master_detail(redis_of_const(base));
}

static uint64_t redis_round_trip_us(const struct storage_master *base)
{
    return redis_of_const(base)->connection.round_trip_us;
}

static void redis_free(struct storage_master *base)
{
    storage_redis_master_free(redis_of(base));
}

static const struct storage_master_ops redis_ops = {
    .submit = redis_submit,
    .could_send = redis_could_send,
    .flush = redis_flush,
    .reset = redis_reset,
    .rejoin = redis_rejoin,
    .place = redis_place,
    .handshake = redis_handshake,
    .restamp = redis_restamp,
    .scan = redis_scan,
    .holders = redis_holders,
    .password = redis_password,
    .address = redis_address,
    .detail = redis_detail,
    .round_trip_us = redis_round_trip_us,
    .free = redis_free,
};
