/* A real Redis, through the code of storage/redis/. No looks are made: what a row does to the
 * master is found by the request that comes next, and not by chance before. */
#include "storage/redis/master.h"
#include "tests/contract/master.h"
#include "tests/lib/case.h"
#include "tests/lib/redis_fleet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NOTICES_MAX = 8,
    PATIENCE_MS = 10000, /* for anything awaited; then the test fails */
};

/* A notice of our own, behind all that were published before. */
#define FENCE_ID       "contract-notice-of-its-own"
#define FENCE_RESOURCE "contract/notice"

struct contract_master {
    struct redis_fleet *fleet;
    uv_loop_t loop;
    struct storage_redis_master *redis;
    struct storage_master *master; /* the same */
    uint64_t generation;           /* each request has a view of its own */
    bool ready;
    bool listens;

    unsigned shaken;
    struct fence_facts facts;
    unsigned replies; /* of both kinds */
    struct fence_reply reply;
    struct fence_rejoin_reply rejoin;
    struct fence_view view;
    int64_t numbers[FENCE_GROUP_MAX];
    char holder[FENCE_LOCK_ID_MAX + 1];
    char owner[FENCE_OWNER_MAX + 1];
    char *page;

    struct contract_notice notices[NOTICES_MAX];
    unsigned told;
    unsigned untold;
    unsigned fences; /* notices of our own that came */
};

/* ---- what it tells --------------------------------------------------------------------------- */

static void on_facts(void *context, unsigned i, const struct fence_facts *facts)
{
    struct contract_master *master = context;
    assert_int_equal(i, CONTRACT_ME);
    master->facts = *facts;
    master->ready = true;
    master->shaken++;
}

static void on_down(void *context, unsigned i, enum fence_reason reason)
{
    struct contract_master *master = context;
    (void)i;
    (void)reason;
    master->ready = false;
    master->listens = false;
}

static const struct fence_view *keep_view(struct contract_master *master,
                                          const struct fence_view *view)
{
    if (view)
        master->view = *view;
    return view ? &master->view : NULL;
}

static void on_reply(void *context, unsigned i, const struct fence_reply *reply)
{
    struct contract_master *master = context;
    (void)i;
    master->reply = *reply;
    master->reply.view = keep_view(master, reply->view);
    if (reply->kind == FENCE_REPLY_HELD) {
        snprintf(master->holder, sizeof(master->holder), "%s", reply->holder);
        master->reply.holder = master->holder;
    }
    if (reply->owner) {
        snprintf(master->owner, sizeof(master->owner), "%s", reply->owner);
        master->reply.owner = master->owner;
    }
    if (reply->numbers) {
        memcpy(master->numbers, reply->numbers, reply->locks * sizeof(int64_t));
        master->reply.numbers = master->numbers;
    }
    master->replies++;
}

static void on_rejoin(void *context, unsigned i, const struct fence_rejoin_reply *reply)
{
    struct contract_master *master = context;
    (void)i;
    free(master->page);
    master->page = malloc(reply->page.len + 1);
    assert_non_null(master->page);
    if (reply->page.len > 0)
        memcpy(master->page, reply->page.bytes, reply->page.len);
    master->rejoin = *reply;
    master->rejoin.page.bytes = master->page;
    master->rejoin.view = keep_view(master, reply->view);
    master->replies++;
}

static void on_freed(void *context, const char *lock_id, const char *resource)
{
    struct contract_master *master = context;
    if (strcmp(resource, FENCE_RESOURCE) == 0) {
        master->fences++;
        return;
    }
    assert_in_range(master->untold, 0, NOTICES_MAX - 1);
    struct contract_notice *notice = &master->notices[master->untold++];
    snprintf(notice->lock_id, sizeof(notice->lock_id), "%s", lock_id);
    snprintf(notice->resource, sizeof(notice->resource), "%s", resource);
}

/* ---- the loop -------------------------------------------------------------------------------- */

static void on_time(uv_timer_t *timer)
{
    bool *over = timer->data;
    *over = true;
}

/* Runs the loop until *@counter is @target. False if that does not happen within @ms. */
static bool run(struct contract_master *master, const unsigned *counter, unsigned target,
                unsigned ms)
{
    bool over = false;
    uv_timer_t timer;
    assert_int_equal(uv_timer_init(&master->loop, &timer), 0);
    timer.data = &over;
    uv_update_time(&master->loop);
    uv_timer_start(&timer, on_time, ms, 0);
    while (!over && *counter != target) {
        storage_master_flush(master->master);
        uv_run(&master->loop, UV_RUN_ONCE);
    }
    uv_close((uv_handle_t *)&timer, NULL);
    uv_run(&master->loop, UV_RUN_NOWAIT);
    return *counter == target;
}

static void await(struct contract_master *master, const unsigned *counter, unsigned target)
{
    if (!run(master, counter, target, PATIENCE_MS))
        fail_msg("what was awaited did not come within %d ms", PATIENCE_MS);
}

/* After a refusal the connection is opened anew. */
static void await_ready(struct contract_master *master)
{
    if (!master->ready)
        await(master, &master->shaken, master->shaken + 1);
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
        master->listens = run(master, &master->fences, 1, TRY_MS);
    }
}

/* ---- as a master of the contract ------------------------------------------------------------- */

static struct contract_master *redis_new(bool durable)
{
    struct contract_master *master = calloc(1, sizeof(*master));
    assert_non_null(master);
    master->fleet = redis_fleet_new(1, durable ? REDIS_ALWAYS : REDIS_VOLATILE);
    assert_int_equal(uv_loop_init(&master->loop), 0);
    struct storage_redis_config config = {
        .loop = &master->loop,
        .index = CONTRACT_ME,
        .members = CONTRACT_MASTERS,
        .events = {.context = master,
                   .facts = on_facts,
                   .down = on_down,
                   .reply = on_reply,
                   .released = on_freed,
                   .rejoin = on_rejoin},
    };
    const char *why = NULL;
    assert_int_equal(storage_redis_url_parse(master->fleet->master[0].url, &config.url, &why), 0);
    assert_int_equal(storage_redis_master_new(&config, &master->redis), 0);
    master->master = storage_redis_master_base(master->redis);
    await_ready(master);
    await_listener(master);
    return master;
}

static void redis_free(struct contract_master *master)
{
    storage_master_free(master->master);
    uv_run(&master->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&master->loop), 0);
    redis_fleet_free(master->fleet);
    free(master->page);
    free(master);
}

static struct fence_facts redis_facts(struct contract_master *master)
{
    await_ready(master);
    storage_master_handshake(master->master);
    await(master, &master->shaken, master->shaken + 1);
    return master->facts;
}

static struct fence_reply redis_ask(struct contract_master *master,
                                    const struct fence_request *request,
                                    const struct fence_view *view)
{
    struct storage_master *masters[CONTRACT_MASTERS] = {[CONTRACT_ME] = master->master};
    struct fence_fleet fleet;
    fence_fleet_init(&fleet, CONTRACT_MASTERS);
    fleet.generation = ++master->generation;
    fleet.master[CONTRACT_ME].named = *view;
    await_ready(master);
    if (request->waits)
        await_listener(master);
    storage_masters_submit(masters, UINT32_C(1) << CONTRACT_ME, request, &fleet);
    await(master, &master->replies, master->replies + 1);
    return master->reply;
}

static struct fence_rejoin_reply redis_rejoin(struct contract_master *master,
                                              const struct fence_rejoin_request *request)
{
    await_ready(master);
    storage_master_rejoin(master->master, request);
    await(master, &master->replies, master->replies + 1);
    return master->rejoin;
}

static struct fence_facts redis_restamp(struct contract_master *master,
                                        const struct fence_facts *facts)
{
    await_ready(master);
    storage_master_restamp(master->master, facts);
    await(master, &master->shaken, master->shaken + 1);
    return master->facts;
}

static bool redis_heard(struct contract_master *master, struct contract_notice *ret_notice)
{
    await_listener(master);
    master->fences = 0;
    publish(master);
    await(master, &master->fences, 1);
    if (master->told == master->untold)
        return false;
    *ret_notice = master->notices[master->told++];
    return true;
}

static void redis_pass(struct contract_master *master, unsigned ms)
{
    unsigned never = 0;
    (void)run(master, &never, 1, ms);
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
        freeReplyObject(redis_fleet_command(fleet, 0, "PERSIST pawl:lock:%s", harming->resource));
        break;
    case CONTRACT_MISCOUNT:
        freeReplyObject(
            redis_fleet_command(fleet, 0, "HSET pawl:fleet %u x", (unsigned)harming->slot));
        break;
    case CONTRACT_MISCOUNT_NAME:
        freeReplyObject(redis_fleet_command(fleet, 0, "HSET pawl:fleet n:%s x", harming->resource));
        break;
    }
}

const struct contract_ops contract_ops = {
    .has_keys = true,
    .has_settings = true,
    .new = redis_new,
    .free = redis_free,
    .facts = redis_facts,
    .ask = redis_ask,
    .rejoin = redis_rejoin,
    .restamp = redis_restamp,
    .heard = redis_heard,
    .pass = redis_pass,
    .harm = redis_harm,
};
