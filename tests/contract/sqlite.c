/* The embedded master: a real file, through storage/master.h and storage/sqlite/. The act of a row
 * behind its back is done by another connection to the file. */
#include "storage/sqlite/master.h"
#include "tests/contract/driven.h"
#include "tests/lib/case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NOTICE_MS = 50, /* for a notice on its way: it comes with the replies of its turn */
};

struct contract_master {
    struct driven driven; /* first */
    char folder[64];
    struct storage_sqlite_store *store;
};

static struct contract_master *sqlite_new(bool durable)
{
    char why[STORAGE_WHY_MAX];
    struct contract_master *master = calloc(1, sizeof(*master));
    assert_non_null(master);
    (void)durable; /* it always is */
    snprintf(master->folder, sizeof(master->folder), "/tmp/pawl-contract.XXXXXX");
    assert_non_null(mkdtemp(master->folder));
    driven_init(&master->driven);
    const struct storage_file_config file = {
        .folder = master->folder, .members = CONTRACT_MASTERS, .me = CONTRACT_ME};
    if (storage_sqlite_store_open(&file, &master->store, why) != 0)
        fail_msg("%s", why);
    const struct storage_sqlite_config config = {
        .loop = &master->driven.loop,
        .store = master->store,
        .index = CONTRACT_ME,
        .probe_ms = DRIVEN_PATIENCE_MS,
        .events = driven_events(&master->driven),
    };
    assert_int_equal(storage_sqlite_master_new(&config, &master->driven.master), 0);
    driven_await_ready(&master->driven);
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
    driven_fini(&master->driven);
    storage_sqlite_store_close(master->store);
    remove_folder(master->folder);
    free(master);
}

static bool sqlite_heard(struct contract_master *master, struct contract_notice *ret_notice)
{
    struct driven *driven = &master->driven;
    if (driven->told == driven->untold)
        (void)driven_run(driven, &driven->untold, driven->untold + 1, NOTICE_MS);
    return driven_tell(driven, ret_notice);
}

/* The act of another program on the file. */
static void write_behind(const struct contract_master *master, const char *text, int64_t first,
                         int64_t second)
{
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open_v2(storage_sqlite_store_file(master->store)->path, &db,
                                     SQLITE_OPEN_READWRITE, NULL),
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
    .facts = driven_facts,
    .ask = driven_ask,
    .rejoin = driven_rejoin,
    .restamp = driven_restamp,
    .heard = sqlite_heard,
    .pass = driven_pass,
    .harm = sqlite_harm,
};
