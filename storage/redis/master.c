/* One master: wires its parts to its connection. */
#include "storage/redis/master.h"

#include "storage/redis/connection.h"
#include "storage/redis/handshake.h"
#include "storage/redis/outbox.h"
#include "storage/redis/probe.h"
#include "storage/redis/rejoin_call.h"
#include "storage/redis/session.h"
#include "storage/redis/subscribe.h"
#include "storage/redis/sweep.h"

#include <assert.h>
#include <stdlib.h>

struct storage_redis_master {
    struct storage_redis_config config;
    struct storage_connection connection;
    struct storage_session session;
    struct storage_outbox outbox;
    struct storage_listener listener;
    struct storage_sweeper sweeper;
    struct storage_look look;
    int open; /* what is not closed yet: the connection, the sweeper */
};

/* ---- what the connection tells --------------------------------------------------------------- */

static void on_link_connected(void *context)
{
    struct storage_redis_master *master = context;
    storage_handshake_begin(&master->session);
}

static void on_link_ready(void *context)
{
    struct storage_redis_master *master = context;
    const struct storage_master_events *events = &master->config.events;
    storage_look_begin(&master->look);
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

/* The memory goes with the last of them. */
static void on_part_closed(void *context)
{
    struct storage_redis_master *master = context;
    if (--master->open > 0)
        return;
    storage_outbox_fini(&master->outbox);
    free(master);
}

/* ---- its life -------------------------------------------------------------------------------- */

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
    struct storage_redis_master *master = calloc(1, sizeof(*master));
    if (!master)
        return FENCE_ENOMEM;
    int error = storage_outbox_init(&master->outbox, &master->session);
    if (error) {
        free(master);
        return error;
    }
    master->config = *config;
    master->session.connection = &master->connection;
    master->session.events = &master->config.events;
    master->session.index = config->index;
    master->session.members = config->members;
    master->listener.session = &master->session;
    master->look.session = &master->session;
    master->look.listener = &master->listener;
    master->look.sweeper = &master->sweeper;
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

/* ---- the owner's side ------------------------------------------------------------------------ */

void storage_redis_master_submit(struct storage_redis_master *master,
                                 const struct storage_request *request,
                                 const struct fence_view *view, uint64_t generation)
{
    storage_outbox_submit(&master->outbox, request, view, generation);
}

bool storage_redis_master_could_send(const struct storage_redis_master *master)
{
    return storage_outbox_could_send(&master->outbox);
}

void storage_redis_master_flush(struct storage_redis_master *master)
{
    /* Before a reset everything goes out: clean-ups reach a master that was only paused behind what
     * they clean up. */
    if (storage_outbox_could_send(&master->outbox))
        storage_outbox_seal(&master->outbox);
    storage_connection_flush(&master->connection);
}

void storage_redis_master_reset(struct storage_redis_master *master)
{
    storage_connection_reset(&master->connection);
}

/* What was asked before goes before each of the next three. */

void storage_redis_master_rejoin(struct storage_redis_master *master,
                                 const struct fence_rejoin_request *request)
{
    assert(master->connection.link == STORAGE_LINK_READY);
    storage_outbox_seal(&master->outbox);
    storage_rejoin_send(&master->session, request);
}

void storage_redis_master_shake(struct storage_redis_master *master)
{
    assert(master->connection.link == STORAGE_LINK_READY);
    storage_outbox_seal(&master->outbox);
    storage_connection_shake(&master->connection);
    storage_handshake_begin(&master->session);
}

void storage_redis_master_restamp(struct storage_redis_master *master,
                                  const struct fence_facts *facts)
{
    storage_outbox_seal(&master->outbox);
    storage_connection_shake(&master->connection);
    storage_handshake_restamp(&master->session, facts);
}

int storage_redis_master_scan(struct storage_redis_master *master, uint64_t cursor,
                              const char *prefix, unsigned keys, storage_found_fn *told,
                              void *context)
{
    return storage_scan_names(&master->session, cursor, prefix, keys, told, context);
}

int storage_redis_master_holders(struct storage_redis_master *master,
                                 const struct storage_lock_name *names, size_t count,
                                 storage_found_fn *told, void *context)
{
    return storage_scan_holders(&master->session, names, count, told, context);
}

const char *storage_redis_master_detail(const struct storage_redis_master *master)
{
    return master->connection.detail;
}

uint64_t storage_redis_master_round_trip_us(const struct storage_redis_master *master)
{
    return master->outbox.round_trip_us;
}
