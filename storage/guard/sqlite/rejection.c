#include "storage/guard/sqlite/rejection.h"

#include "storage/sql/sql.h"

#include <assert.h>
#include <time.h>

int storage_rejection_install(sqlite3 *db)
{
    /* AUTOINCREMENT: a number is never used twice, so the order of numbers is the order of time. */
    return storage_sql_exec(db, "CREATE TABLE IF NOT EXISTS pawl_rejection ("
                                "  number INTEGER PRIMARY KEY AUTOINCREMENT,"
                                "  at_ms INTEGER NOT NULL,"
                                "  resource TEXT NOT NULL,"
                                "  kind INTEGER NOT NULL,"
                                "  token INTEGER NOT NULL,"
                                "  highest_token INTEGER NOT NULL) STRICT");
}

static int64_t wall_clock_ms(void)
{
    struct timespec now;
    int failed = clock_gettime(CLOCK_REALTIME, &now);
    assert(!failed);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int insert(sqlite3 *db, const struct storage_rejection *rejection)
{
    struct storage_sql sql =
        storage_sql_prepare(db, "INSERT INTO pawl_rejection"
                                "  (at_ms, resource, kind, token, highest_token)"
                                "  VALUES (?1, ?2, ?3, ?4, ?5)");
    storage_sql_bind_int(&sql, 1, wall_clock_ms());
    storage_sql_bind_text(&sql, 2, rejection->resource);
    storage_sql_bind_int(&sql, 3, (int64_t)rejection->kind);
    storage_sql_bind_int(&sql, 4, rejection->token);
    storage_sql_bind_int(&sql, 5, rejection->highest_token);
    return storage_sql_run(&sql);
}

static int drop_oldest(sqlite3 *db)
{
    struct storage_sql sql =
        storage_sql_prepare(db, "DELETE FROM pawl_rejection WHERE number <= ?1");
    storage_sql_bind_int(&sql, 1, sqlite3_last_insert_rowid(db) - STORAGE_REJECTIONS_MAX);
    return storage_sql_run(&sql);
}

int storage_rejection_record(sqlite3 *db, const struct storage_rejection *rejection)
{
    assert(!sqlite3_get_autocommit(db)); /* both or neither, so that the bound holds */
    int err = insert(db, rejection);
    return err ? err : drop_oldest(db);
}

int storage_rejection_list(sqlite3 *db, size_t max, struct storage_rejection *rejections,
                           size_t *ret_count)
{
    assert(max <= STORAGE_REJECTIONS_MAX);
    size_t count = 0;
    struct storage_sql sql =
        storage_sql_prepare(db, "SELECT at_ms, resource, kind, token, highest_token"
                                "  FROM pawl_rejection ORDER BY number DESC LIMIT ?1");
    storage_sql_bind_int(&sql, 1, (int64_t)max);
    while (storage_sql_row(&sql)) {
        struct storage_rejection *rejection = &rejections[count++];
        rejection->at_ms = sqlite3_column_int64(sql.stmt, 0);
        storage_sql_column_text(&sql, 1, rejection->resource, sizeof rejection->resource);
        rejection->kind = (enum storage_rejection_kind)sqlite3_column_int(sql.stmt, 2);
        rejection->token = sqlite3_column_int64(sql.stmt, 3);
        rejection->highest_token = sqlite3_column_int64(sql.stmt, 4);
    }
    int err = storage_sql_finish(&sql);
    if (err)
        return err;
    *ret_count = count;
    return 0;
}
