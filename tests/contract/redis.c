/* A real Redis, through the code of storage/redis/. No looks are made: what a row does to the
 * master is found by the request that comes next, and not by chance before. */
#include "storage/redis/master.h"
#include "tests/contract/driven.h"
#include "tests/lib/case.h"
#include "tests/lib/redis_fleet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A notice of our own, behind all that were published before. */
#define FENCE_ID       "contract-notice-of-its-own"
#define FENCE_RESOURCE "contract/notice"

struct contract_master {
    struct driven driven; /* first */
    struct storage_master_events heard;
    struct redis_fleet *fleet;
    bool listens;
    bool softened;   /* its settings changed */
    unsigned fences; /* notices of our own that came */
};

/* ---- notices --------------------------------------------------------------------------------- */

static void on_down(void *context, unsigned i, enum fence_reason reason)
{
    struct contract_master *master = context;
    master->listens = false;
    master->heard.down(context, i, reason);
}

static void on_freed(void *context, const char *lock_id, const char *resource)
{
    struct contract_master *master = context;
    if (strcmp(resource, FENCE_RESOURCE) == 0)
        master->fences++;
    else
        master->heard.released(context, lock_id, resource);
}

static void publish(struct contract_master *master)
{
    freeReplyObject(
        redis_fleet_command(master->fleet, 0, "PUBLISH pawl:freed " FENCE_ID ":" FENCE_RESOURCE));
}

static void await_listener(struct contract_master *master)
{
    enum {
        TRIES = 500,
        TRY_MS = 20,
    };
    for (unsigned tries = 0; !master->listens; tries++) {
        assert_in_range(tries, 0, TRIES);
        master->fences = 0;
        publish(master);
        master->listens = driven_run(&master->driven, &master->fences, 1, TRY_MS);
    }
}

/* ---- as a master of the contract ------------------------------------------------------------- */

static struct contract_master *redis_new(bool durable)
{
    struct contract_master *master = calloc(1, sizeof(*master));
    assert_non_null(master);
    master->fleet = redis_fleet_new(1, durable ? REDIS_ALWAYS : REDIS_VOLATILE);
    driven_init(&master->driven);
    master->heard = driven_events(&master->driven);
    struct storage_redis_config config = {
        .loop = &master->driven.loop,
        .index = CONTRACT_ME,
        .members = CONTRACT_MASTERS,
        .events = master->heard,
    };
    config.events.down = on_down;
    config.events.released = on_freed;
    const char *why = NULL;
    assert_int_equal(storage_redis_url_parse(master->fleet->master[0].url, &config.url, &why), 0);
    struct storage_redis_master *redis = NULL;
    assert_int_equal(storage_redis_master_new(&config, &redis), 0);
    master->driven.master = storage_redis_master_base(redis);
    driven_await_ready(&master->driven);
    await_listener(master);
    return master;
}

static void redis_free(struct contract_master *master)
{
    driven_fini(&master->driven);
    redis_fleet_free(master->fleet);
    free(master);
}

static struct fence_reply redis_ask(struct contract_master *master,
                                    const struct fence_request *request,
                                    const struct fence_view *view)
{
    driven_await_ready(&master->driven);
    if (request->take.waits)
        await_listener(master);
    struct fence_reply reply = driven_ask(master, request, view);
    /* The module refuses what a script does, and pawld does not count. */
    if (master->softened && getenv("PAWL_TEST_MODULE") && reply.kind == FENCE_REPLY_REFUSED)
        reply.kind = FENCE_REPLY_LOST;
    return reply;
}

static bool redis_heard(struct contract_master *master, struct contract_notice *ret_notice)
{
    await_listener(master);
    master->fences = 0;
    publish(master);
    driven_await(&master->driven, &master->fences, 1);
    return driven_tell(&master->driven, ret_notice);
}

static void command(struct contract_master *master, const char *text)
{
    freeReplyObject(redis_fleet_command(master->fleet, 0, text));
}

static void redis_harm(struct contract_master *master, const struct contract_harming *harming)
{
    struct redis_fleet *fleet = master->fleet;
    switch (harming->harm) {
    case CONTRACT_FORGET:
        command(master, "FLUSHALL");
        break;
    case CONTRACT_RENUMBER:
        freeReplyObject(
            redis_fleet_command(fleet, 0, "HSET pawl:fleet member %d", CONTRACT_ME + 2));
        break;
    case CONTRACT_FOLLOW:
        command(master, "REPLICAOF 127.0.0.1 1");
        command(master, "REPLICAOF NO ONE");
        break;
    case CONTRACT_SOFTEN:
        command(master, "CONFIG SET appendfsync everysec");
        master->softened = true;
        break;
    case CONTRACT_SET_COUNTER:
        freeReplyObject(redis_fleet_command(fleet, 0, "HSET pawl:fleet %u %lld",
                                            (unsigned)harming->slot, (long long)harming->number));
        break;
    case CONTRACT_SET_FLOOR:
        freeReplyObject(redis_fleet_command(fleet, 0, "HSET pawl:fleet floor %lld",
                                            (long long)harming->number));
        break;
    case CONTRACT_FOREIGN_LOCK:
        freeReplyObject(redis_fleet_command(fleet, 0, "SET pawl:lock:%s x", harming->resource));
        break;
    case CONTRACT_ENDLESS_LOCK:
        freeReplyObject(redis_fleet_command(fleet, 0, "EVAL %s 1 pawl:lock:%s", REDIS_FLEET_PERSIST,
                                            harming->resource));
        break;
    case CONTRACT_MISCOUNT:
        freeReplyObject(
            redis_fleet_command(fleet, 0, "HSET pawl:fleet %u x", (unsigned)harming->slot));
        break;
    case CONTRACT_KEEP_FOR_LONG:
        freeReplyObject(
            redis_fleet_command(fleet, 0, "SET pawl:next:%s 1 PX 3600000", harming->resource));
        break;
    case CONTRACT_MISCOUNT_NAME:
        freeReplyObject(redis_fleet_command(fleet, 0, "HSET pawl:fleet n:%s x", harming->resource));
        break;
    }
}

const struct contract_ops contract_ops = {
    .has_keys = true,
    .has_positions = true,
    .has_settings = true,
    .new = redis_new,
    .free = redis_free,
    .facts = driven_facts,
    .ask = redis_ask,
    .rejoin = driven_rejoin,
    .restamp = driven_restamp,
    .heard = redis_heard,
    .pass = driven_pass,
    .harm = redis_harm,
};
