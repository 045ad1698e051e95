#include "tests/chaos/record.h"

#include "tests/lib/case.h"

#include <stdlib.h>

#include <sqlite3.h>

enum {
    BUSY_TIMEOUT_MS = 5000,
};

static sqlite3 *open_database(const char *path)
{
    sqlite3 *db = NULL;
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
        fail_msg("cannot open %s: %s", path, sqlite3_errmsg(db));
    sqlite3_busy_timeout(db, BUSY_TIMEOUT_MS);
    return db;
}

static void execute(sqlite3 *db, const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
}

/* A claim shows as the guard's rise. It rises in a write's transaction, too, before the write. */
void record_install(const char *path)
{
    sqlite3 *db = open_database(path);
    execute(db, "CREATE TABLE chaos_record ("
                "  number INTEGER PRIMARY KEY AUTOINCREMENT,"
                "  name TEXT NOT NULL,"
                "  token INTEGER NOT NULL,"
                "  balance INTEGER NOT NULL,"
                "  version INTEGER NOT NULL)");
    execute(db, "CREATE TRIGGER chaos_first_write AFTER INSERT ON account BEGIN"
                "  INSERT INTO chaos_record(name, token, balance, version)"
                "    VALUES (new.id, new.token, new.balance, new.version); END");
    execute(db, "CREATE TRIGGER chaos_write AFTER UPDATE ON account BEGIN"
                "  INSERT INTO chaos_record(name, token, balance, version)"
                "    VALUES (new.id, new.token, new.balance, new.version); END");
    execute(db,
            "CREATE TRIGGER chaos_first_claim AFTER INSERT ON pawl_guard BEGIN"
            "  INSERT INTO chaos_record(name, token, balance, version)"
            "    VALUES (replace(new.resource, 'accounts/', ''), new.highest_token, 0, 0); END");
    execute(db,
            "CREATE TRIGGER chaos_claim AFTER UPDATE ON pawl_guard BEGIN"
            "  INSERT INTO chaos_record(name, token, balance, version)"
            "    VALUES (replace(new.resource, 'accounts/', ''), new.highest_token, 0, 0); END");
    sqlite3_close(db);
}

static size_t count_all(sqlite3 *db)
{
    sqlite3_stmt *stmt = NULL;
    if (sqlite3_prepare_v2(db, "SELECT count(*) FROM chaos_record", -1, &stmt, NULL) != SQLITE_OK ||
        sqlite3_step(stmt) != SQLITE_ROW)
        fail_msg("cannot count the record: %s", sqlite3_errmsg(db));
    const size_t count = (size_t)sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    return count;
}

void record_read(const char *path, struct history_entry **ret_entries, size_t *ret_count)
{
    sqlite3 *db = open_database(path);
    const size_t size = count_all(db);
    struct history_entry *entries = calloc(size + 1, sizeof(*entries));
    assert_non_null(entries);
    sqlite3_stmt *stmt = NULL;
    if (sqlite3_prepare_v2(db,
                           "SELECT name, token, balance, version FROM chaos_record ORDER BY number",
                           -1, &stmt, NULL) != SQLITE_OK)
        fail_msg("cannot read the record: %s", sqlite3_errmsg(db));
    size_t count = 0;
    for (; count < size && sqlite3_step(stmt) == SQLITE_ROW; count++) {
        entries[count] = (struct history_entry){
            .name = (unsigned)sqlite3_column_int(stmt, 0),
            .token = sqlite3_column_int64(stmt, 1),
            .balance = sqlite3_column_int64(stmt, 2),
            .version = sqlite3_column_int64(stmt, 3),
        };
        assert_in_range(entries[count].name, 0, HISTORY_NAMES_MAX - 1);
    }
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    *ret_entries = entries;
    *ret_count = count;
}
