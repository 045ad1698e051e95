/* The embedded master: a real file, through storage/master.h and storage/sqlite/. What a row does
 * behind its back is done by another connection to the file. */
#include "storage/sqlite/master.h"
#include "tests/contract/master.h"
#include "tests/lib/case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NOTICES_MAX = 8,
    PATIENCE_MS = 10000, /* for anything awaited; then the test fails */
    NOTICE_MS = 50,      /* for a notice on its way: it comes with the replies of its turn */
};

struct contract_master {
    char folder[64];
    uv_loop_t loop;
    struct storage_sqlite_store *store;
    struct storage_master *master;
    uint64_t generation; /* each request has a view of its own */
    bool ready;

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
    snprintf(master->holder, sizeof(master->holder), "%s", reply->holder);
    snprintf(master->owner, sizeof(master->owner), "%s", reply->owner);
    master->reply.holder = master->holder;
    master->reply.owner = master->owner;
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

static void on_released(void *context, const char *lock_id, const char *resource)
{
    struct contract_master *master = context;
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

/* After a refusal it shakes hands anew. */
static void await_ready(struct contract_master *master)
{
    if (!master->ready)
        await(master, &master->shaken, master->shaken + 1);
}

/* ---- as a master of the contract ------------------------------------------------------------- */

static struct contract_master *sqlite_new(bool durable)
{
    char why[STORAGE_WHY_MAX];
    struct contract_master *master = calloc(1, sizeof(*master));
    assert_non_null(master);
    (void)durable; /* it always is */
    snprintf(master->folder, sizeof(master->folder), "/tmp/pawl-contract.XXXXXX");
    assert_non_null(mkdtemp(master->folder));
    assert_int_equal(uv_loop_init(&master->loop), 0);
    const struct storage_file_config file = {
        .folder = master->folder, .members = CONTRACT_MASTERS, .me = CONTRACT_ME};
    if (storage_sqlite_store_open(&file, &master->store, why) != 0)
        fail_msg("%s", why);
    struct storage_sqlite_config config = {
        .loop = &master->loop,
        .store = master->store,
        .index = CONTRACT_ME,
        .probe_ms = PATIENCE_MS,
        .events = {.context = master,
                   .facts = on_facts,
                   .down = on_down,
                   .reply = on_reply,
                   .released = on_released,
                   .rejoin = on_rejoin},
    };
    assert_int_equal(storage_sqlite_master_new(&config, &master->master), 0);
    await_ready(master);
    return master;
}

static void remove_folder(const char *folder)
{
    static const char *const files[] = {"pawl.db", "pawl.db-wal", "pawl.db-shm", "pawl.witness"};
    char path[128];
    for (unsigned i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, files[i]);
        (void)remove(path);
    }
    (void)remove(folder);
}

static void sqlite_free(struct contract_master *master)
{
    storage_master_free(master->master);
    uv_run(&master->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&master->loop), 0);
    storage_sqlite_store_close(master->store);
    remove_folder(master->folder);
    free(master->page);
    free(master);
}

static struct fence_facts sqlite_facts(struct contract_master *master)
{
    await_ready(master);
    storage_master_handshake(master->master);
    await(master, &master->shaken, master->shaken + 1);
    return master->facts;
}

static struct fence_reply sqlite_ask(struct contract_master *master,
                                     const struct fence_request *request,
                                     const struct fence_view *view)
{
    struct storage_master *masters[CONTRACT_MASTERS] = {[CONTRACT_ME] = master->master};
    struct fence_fleet fleet;
    fence_fleet_init(&fleet, CONTRACT_MASTERS);
    snprintf(fleet.fleet_id, sizeof(fleet.fleet_id), "%s", CONTRACT_FLEET);
    fleet.generation = ++master->generation;
    fleet.master[CONTRACT_ME].named = *view;
    await_ready(master);
    storage_masters_submit(masters, UINT32_C(1) << CONTRACT_ME, request, &fleet);
    await(master, &master->replies, master->replies + 1);
    return master->reply;
}

static struct fence_rejoin_reply sqlite_rejoin(struct contract_master *master,
                                               const struct fence_rejoin_request *request)
{
    await_ready(master);
    storage_master_rejoin(master->master, request);
    await(master, &master->replies, master->replies + 1);
    return master->rejoin;
}

static struct fence_facts sqlite_restamp(struct contract_master *master,
                                         const struct fence_facts *facts)
{
    await_ready(master);
    storage_master_restamp(master->master, facts);
    await(master, &master->shaken, master->shaken + 1);
    return master->facts;
}

static bool sqlite_heard(struct contract_master *master, struct contract_notice *ret_notice)
{
    if (master->told == master->untold)
        (void)run(master, &master->untold, master->untold + 1, NOTICE_MS);
    if (master->told == master->untold)
        return false;
    *ret_notice = master->notices[master->told++];
    return true;
}

static void sqlite_pass(struct contract_master *master, unsigned ms)
{
    unsigned never = 0;
    (void)run(master, &never, 1, ms);
}

/* What another program does to the file. */
static void write_behind(const struct contract_master *master, const char *text, int64_t first,
                         int64_t second)
{
    sqlite3 *db = NULL;
    assert_int_equal(
        sqlite3_open_v2(storage_sqlite_store_path(master->store), &db, SQLITE_OPEN_READWRITE, NULL),
        SQLITE_OK);
    sqlite3_stmt *stmt = NULL;
    for (; *text; sqlite3_finalize(stmt)) {
        assert_int_equal(sqlite3_prepare_v2(db, text, -1, &stmt, &text), SQLITE_OK);
        if (sqlite3_bind_parameter_count(stmt) > 0)
            sqlite3_bind_int64(stmt, 1, first);
        if (sqlite3_bind_parameter_count(stmt) > 1)
            sqlite3_bind_int64(stmt, 2, second);
        assert_int_equal(sqlite3_step(stmt), SQLITE_DONE);
    }
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void sqlite_harm(struct contract_master *master, const struct contract_harming *harming)
{
    switch (harming->harm) {
    case CONTRACT_FORGET:
        write_behind(master,
                     "DELETE FROM marker; DELETE FROM counter; DELETE FROM named; DELETE FROM lock",
                     0, 0);
        break;
    case CONTRACT_RENUMBER:
        write_behind(master, "UPDATE marker SET member = ?1", CONTRACT_ME + 2, 0);
        break;
    case CONTRACT_FOLLOW:
        write_behind(master, "UPDATE file SET commits = commits + 1", 0, 0);
        break;
    case CONTRACT_SET_COUNTER:
        write_behind(master, "INSERT OR REPLACE INTO counter (slot, number) VALUES (?1, ?2)",
                     harming->slot, harming->number);
        break;
    case CONTRACT_SET_FLOOR:
        write_behind(master, "UPDATE marker SET floor = ?1", harming->number, 0);
        break;
    default:
        fail_msg("it has no keys, and no settings");
    }
}

const struct contract_ops contract_ops = {
    .has_keys = false,
    .has_settings = false,
    .new = sqlite_new,
    .free = sqlite_free,
    .facts = sqlite_facts,
    .ask = sqlite_ask,
    .rejoin = sqlite_rejoin,
    .restamp = sqlite_restamp,
    .heard = sqlite_heard,
    .pass = sqlite_pass,
    .harm = sqlite_harm,
};
