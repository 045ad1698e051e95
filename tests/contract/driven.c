#include "tests/contract/driven.h"

#include "tests/lib/case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what it tells --------------------------------------------------------------------------- */

static void on_facts(void *context, unsigned i, const struct fence_facts *facts)
{
    struct driven *driven = context;
    assert_int_equal(i, CONTRACT_ME);
    driven->facts = *facts;
    driven->ready = true;
    driven->shaken++;
}

static void on_down(void *context, unsigned i, enum fence_reason reason)
{
    struct driven *driven = context;
    (void)i;
    (void)reason;
    driven->ready = false;
}

static const struct fence_view *keep_view(struct driven *driven, const struct fence_view *view)
{
    if (view)
        driven->view = *view;
    return view ? &driven->view : NULL;
}

static void on_reply(void *context, unsigned i, const struct fence_reply *reply)
{
    struct driven *driven = context;
    (void)i;
    driven->reply = *reply;
    driven->reply.view = keep_view(driven, reply->view);
    if (reply->kind == FENCE_REPLY_HELD) {
        snprintf(driven->holder, sizeof(driven->holder), "%s", reply->holder);
        driven->reply.holder = driven->holder;
    }
    if (reply->owner) {
        snprintf(driven->owner, sizeof(driven->owner), "%s", reply->owner);
        driven->reply.owner = driven->owner;
    }
    if (reply->numbers) {
        memcpy(driven->numbers, reply->numbers, reply->locks * sizeof(int64_t));
        driven->reply.numbers = driven->numbers;
    }
    driven->replies++;
}

static void on_rejoin(void *context, unsigned i, const struct fence_rejoin_reply *reply)
{
    struct driven *driven = context;
    (void)i;
    free(driven->page);
    driven->page = malloc(reply->page.len + 1);
    assert_non_null(driven->page);
    if (reply->page.len > 0)
        memcpy(driven->page, reply->page.bytes, reply->page.len);
    driven->rejoin = *reply;
    driven->rejoin.page.bytes = driven->page;
    driven->rejoin.view = keep_view(driven, reply->view);
    driven->replies++;
}

static void on_released(void *context, const char *lock_id, const char *resource)
{
    struct driven *driven = context;
    assert_in_range(driven->untold, 0, DRIVEN_NOTICES_MAX - 1);
    struct contract_notice *notice = &driven->notices[driven->untold++];
    snprintf(notice->lock_id, sizeof(notice->lock_id), "%s", lock_id);
    snprintf(notice->resource, sizeof(notice->resource), "%s", resource);
}

/* ---- the loop -------------------------------------------------------------------------------- */

static void on_time(uv_timer_t *timer)
{
    bool *over = timer->data;
    *over = true;
}

bool driven_run(struct driven *driven, const unsigned *counter, unsigned target, unsigned ms)
{
    bool over = false;
    uv_timer_t timer;
    assert_int_equal(uv_timer_init(&driven->loop, &timer), 0);
    timer.data = &over;
    uv_update_time(&driven->loop);
    uv_timer_start(&timer, on_time, ms, 0);
    while (!over && *counter != target) {
        storage_master_flush(driven->master);
        uv_run(&driven->loop, UV_RUN_ONCE);
    }
    uv_close((uv_handle_t *)&timer, NULL);
    uv_run(&driven->loop, UV_RUN_NOWAIT);
    return *counter == target;
}

void driven_await(struct driven *driven, const unsigned *counter, unsigned target)
{
    if (!driven_run(driven, counter, target, DRIVEN_PATIENCE_MS))
        fail_msg("what was awaited did not come within %d ms", DRIVEN_PATIENCE_MS);
}

void driven_await_ready(struct driven *driven)
{
    if (!driven->ready)
        driven_await(driven, &driven->shaken, driven->shaken + 1);
}

/* ---- as a master of the contract ------------------------------------------------------------- */

void driven_init(struct driven *driven)
{
    assert_int_equal(uv_loop_init(&driven->loop), 0);
}

void driven_fini(struct driven *driven)
{
    storage_master_free(driven->master);
    uv_run(&driven->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&driven->loop), 0);
    free(driven->page);
}

struct storage_master_events driven_events(struct driven *driven)
{
    return (struct storage_master_events){
        .context = driven,
        .facts = on_facts,
        .down = on_down,
        .reply = on_reply,
        .released = on_released,
        .rejoin = on_rejoin,
    };
}

static struct driven *driven_of(struct contract_master *master)
{
    return (struct driven *)master;
}

struct fence_facts driven_facts(struct contract_master *master)
{
    struct driven *driven = driven_of(master);
    driven_await_ready(driven);
    storage_master_handshake(driven->master);
    driven_await(driven, &driven->shaken, driven->shaken + 1);
    return driven->facts;
}

struct fence_reply driven_ask(struct contract_master *master, const struct fence_request *request,
                              const struct fence_view *view)
{
    struct driven *driven = driven_of(master);
    struct storage_master *masters[CONTRACT_MASTERS] = {[CONTRACT_ME] = driven->master};
    struct fence_fleet fleet;
    fence_fleet_init(&fleet, CONTRACT_MASTERS);
    snprintf(fleet.fleet_id, sizeof(fleet.fleet_id), "%s", CONTRACT_FLEET);
    fleet.generation = ++driven->generation;
    fleet.master[CONTRACT_ME].named = *view;
    driven_await_ready(driven);
    storage_masters_submit(masters, UINT32_C(1) << CONTRACT_ME, request, &fleet);
    driven_await(driven, &driven->replies, driven->replies + 1);
    return driven->reply;
}

struct fence_rejoin_reply driven_rejoin(struct contract_master *master,
                                        const struct fence_rejoin_request *request)
{
    struct driven *driven = driven_of(master);
    driven_await_ready(driven);
    storage_master_rejoin(driven->master, request);
    driven_await(driven, &driven->replies, driven->replies + 1);
    return driven->rejoin;
}

struct fence_facts driven_restamp(struct contract_master *master, const struct fence_facts *facts)
{
    struct driven *driven = driven_of(master);
    driven_await_ready(driven);
    storage_master_restamp(driven->master, facts);
    driven_await(driven, &driven->shaken, driven->shaken + 1);
    return driven->facts;
}

bool driven_tell(struct driven *driven, struct contract_notice *ret_notice)
{
    if (driven->told == driven->untold)
        return false;
    *ret_notice = driven->notices[driven->told++];
    return true;
}

void driven_pass(struct contract_master *master, unsigned ms)
{
    unsigned never = 0;
    (void)driven_run(driven_of(master), &never, 1, ms);
}
