#include "tests/integration/storage/redis/master_fixture.h"

#include "fence/protocol/owner.h"
#include "server/loop/bootstrap.h"
#include "tests/lib/case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct fence_request master_fixture_take = {
    .kind = FENCE_REQUEST_TAKE,
    .tag = 1 << 16,
    .resource = "name",
    .lock_id = "aaaaaaaaaaaaaaaaaaaaaaaaaaa",
    .owner = "",
    .attempt = 1,
    .ttl_ms = 30000,
};

static void on_facts(void *context, unsigned i, const struct fence_facts *facts)
{
    struct master_fixture *fixture = context;
    assert_int_equal(i, 0);
    fixture->facts = *facts;
    fixture->facts_seen++;
}

static void on_probed(void *context, unsigned i, const struct fence_facts *facts)
{
    struct master_fixture *fixture = context;
    assert_int_equal(i, 0);
    fixture->seen = *facts;
    fixture->probes++;
}

static void on_down(void *context, unsigned i, enum fence_reason reason)
{
    struct master_fixture *fixture = context;
    assert_int_equal(i, 0);
    fixture->reason = reason;
    fixture->downs++;
}

static void on_reply(void *context, unsigned i, const struct fence_reply *reply)
{
    struct master_fixture *fixture = context;
    assert_int_equal(i, 0);
    assert_true(fixture->replies < FIXTURE_REPLIES_MAX);
    struct fence_reply *kept = &fixture->reply[fixture->replies++];
    *kept = *reply;
    if (reply->kind == FENCE_REPLY_STALE)
        fixture->known = *reply->view;
    if (reply->numbers)
        memcpy(fixture->numbers, reply->numbers, sizeof(fixture->numbers));
    if (reply->kind != FENCE_REPLY_HELD)
        return;
    snprintf(fixture->holder, sizeof(fixture->holder), "%s", reply->holder);
    snprintf(fixture->owner, sizeof(fixture->owner), "%s", reply->owner);
    kept->holder = fixture->holder;
    kept->owner = fixture->owner;
}

static void on_place(void *context, const struct fence_place *place)
{
    struct master_fixture *fixture = context;
    char label[FENCE_OWNER_MAX + 1];
    snprintf(fixture->place, sizeof(fixture->place), "%s %s key '%s' ticket %lld waited %llu",
             place->resource, place->lock_id, fence_owner_split(place->owner, label),
             (long long)place->ticket, (unsigned long long)place->waited_us);
    fixture->places++;
}

static void on_released(void *context, const char *lock_id, const char *resource)
{
    struct master_fixture *fixture = context;
    snprintf(fixture->released_id, sizeof(fixture->released_id), "%s", lock_id);
    snprintf(fixture->released_resource, sizeof(fixture->released_resource), "%s", resource);
    fixture->released++;
}

static void make_fleet(const struct storage_redis_url *url)
{
    const struct server_bootstrap_config config = {.addresses = {.n = 1, .urls = url},
                                                   .params.ttl_max_ms = 300000};
    struct fence_bootstrap made;
    char why[SERVER_BOOTSTRAP_WHY_MAX];
    int error = server_bootstrap(&config, &made, why);
    assert_string_equal(why, "");
    assert_int_equal(error, 0);
}

struct master_fixture *master_fixture_new(enum redis_persistence persistence)
{
    struct master_fixture *fixture = calloc(1, sizeof(*fixture));
    assert_non_null(fixture);
    fixture->fleet = redis_fleet_new(1, persistence);
    assert_int_equal(uv_loop_init(&fixture->loop), 0);
    struct storage_redis_config config = {
        .loop = &fixture->loop,
        .members = 1,
        .events = {.context = fixture,
                   .facts = on_facts,
                   .probed = on_probed,
                   .down = on_down,
                   .reply = on_reply,
                   .released = on_released,
                   .place = on_place},
    };
    const char *why = NULL;
    assert_int_equal(storage_redis_url_parse(fixture->fleet->master[0].url, &config.url, &why), 0);
    make_fleet(&config.url);
    assert_int_equal(storage_redis_master_new(&config, &fixture->redis), 0);
    fixture->master = storage_redis_master_base(fixture->redis);
    master_fixture_await(fixture, &fixture->facts_seen, 1);
    return fixture;
}

void master_fixture_make_anew(struct master_fixture *fixture)
{
    struct storage_redis_url url;
    const char *why = NULL;
    freeReplyObject(redis_fleet_command(fixture->fleet, 0, "FLUSHALL"));
    assert_int_equal(storage_redis_url_parse(fixture->fleet->master[0].url, &url, &why), 0);
    make_fleet(&url);
    fixture->generation++;
}

void master_fixture_free(struct master_fixture *fixture)
{
    storage_master_free(fixture->master);
    uv_run(&fixture->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&fixture->loop), 0);
    redis_fleet_free(fixture->fleet);
    free(fixture);
}

int master_fixture_setup_durable(void **state)
{
    *state = master_fixture_new(REDIS_ALWAYS);
    return 0;
}

int master_fixture_setup_volatile(void **state)
{
    *state = master_fixture_new(REDIS_VOLATILE);
    return 0;
}

int master_fixture_teardown(void **state)
{
    master_fixture_free(*state);
    return 0;
}

static void on_patience_over(uv_timer_t *timer)
{
    fail_msg("what was awaited did not come within %d ms", FIXTURE_PATIENCE_MS);
}

void master_fixture_await(struct master_fixture *fixture, const unsigned *counter, unsigned target)
{
    uv_timer_t patience;
    assert_int_equal(uv_timer_init(&fixture->loop, &patience), 0);
    uv_update_time(&fixture->loop);
    uv_timer_start(&patience, on_patience_over, FIXTURE_PATIENCE_MS, 0);
    while (*counter < target) {
        storage_master_flush(fixture->master); /* as a service does before each sleep */
        uv_run(&fixture->loop, UV_RUN_ONCE);
    }
    uv_close((uv_handle_t *)&patience, NULL);
    uv_run(&fixture->loop, UV_RUN_NOWAIT);
}

static void on_run_over(uv_timer_t *timer)
{
    bool *over = timer->data;
    *over = true;
}

void master_fixture_run(struct master_fixture *fixture, unsigned for_ms)
{
    bool over = false;
    uv_timer_t end;
    assert_int_equal(uv_timer_init(&fixture->loop, &end), 0);
    end.data = &over;
    uv_update_time(&fixture->loop);
    uv_timer_start(&end, on_run_over, for_ms, 0);
    while (!over) {
        storage_master_flush(fixture->master);
        uv_run(&fixture->loop, UV_RUN_ONCE);
    }
    uv_close((uv_handle_t *)&end, NULL);
    uv_run(&fixture->loop, UV_RUN_NOWAIT);
}

void master_fixture_submit(struct master_fixture *fixture, const struct fence_request *request)
{
    struct storage_request encoded;
    storage_request_encode(request, &encoded);
    storage_redis_master_submit(fixture->redis, &encoded, &fixture->facts.view,
                                fixture->generation);
}

void master_fixture_flush(struct master_fixture *fixture)
{
    storage_master_flush(fixture->master);
}

const struct fence_reply *master_fixture_ask(struct master_fixture *fixture,
                                             const struct fence_request *request)
{
    fixture->replies = 0;
    master_fixture_submit(fixture, request);
    master_fixture_flush(fixture);
    master_fixture_await(fixture, &fixture->replies, 1);
    return &fixture->reply[0];
}
