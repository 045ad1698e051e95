#include "storage/guard/sqlite/readers.h"

#include "storage/sql/sql.h"

#include <assert.h>
#include <stdint.h>

static int first_number(sqlite3 *db, const char *query, int64_t *ret_number)
{
    assert(db && ret_number);
    int64_t number = 0;
    struct storage_sql sql = storage_sql_prepare(db, query);
    if (storage_sql_row(&sql))
        number = sqlite3_column_int64(sql.stmt, 0);
    int err = storage_sql_finish(&sql);
    if (!err)
        *ret_number = number;
    return err;
}

static int add_reader_column(sqlite3 *db)
{
    int64_t count = 0;
    int err = first_number(db,
                           "SELECT count(*) FROM pragma_table_info('pawl_guard', 'main')"
                           "  WHERE name = 'reader_token'",
                           &count);
    if (err || count > 0)
        return err;
    return storage_sql_exec(
        db, "ALTER TABLE main.pawl_guard ADD COLUMN reader_token INTEGER NOT NULL DEFAULT 0");
}

/* The question of the triggers of protected tables before there were readers. */
#define EARLIER_TRIGGERS                                                                           \
    "FROM main.sqlite_schema WHERE type = 'trigger' AND name GLOB 'pawl_protect_*'"                \
    "  AND instr(sql, 'pawl_claimed(asked.resource, guard.highest_token)') > 0"

/* One of them, and the text behind CREATE TRIGGER that makes it ask for readers too. NULL: there is
 * none. The caller frees both with sqlite3_free(). */
static int next_trigger(sqlite3 *db, char **ret_name, char **ret_remade)
{
    assert(ret_name && ret_remade);
    int err = 0;
    char *name = NULL, *remade = NULL;
    struct storage_sql sql = storage_sql_prepare(
        db,
        "SELECT name, replace(substr(sql, length('CREATE TRIGGER ') + 1),"
        "    'asked.resource, guard.highest_token)', 'asked.resource, " STORAGE_READERS_TERM ")')"
        "  " EARLIER_TRIGGERS " LIMIT 1");
    if (storage_sql_row(&sql)) {
        name = sqlite3_mprintf("%s", (const char *)sqlite3_column_text(sql.stmt, 0));
        remade = sqlite3_mprintf("%s", (const char *)sqlite3_column_text(sql.stmt, 1));
        err = name && remade ? 0 : FENCE_ENOMEM;
    }
    const int finished = storage_sql_finish(&sql);
    err = err ? err : finished;
    if (err) {
        sqlite3_free(name);
        sqlite3_free(remade);
        return err;
    }
    assert((name == NULL) == (remade == NULL));
    *ret_name = name;
    *ret_remade = remade;
    return 0;
}

static int remake_triggers(sqlite3 *db)
{
    for (;;) {
        char *name = NULL, *remade = NULL;
        int err = next_trigger(db, &name, &remade);
        if (err || !name)
            return err;
        assert(remade);
        char *text =
            sqlite3_mprintf("DROP TRIGGER main.\"%w\"; CREATE TRIGGER main.%s", name, remade);
        err = text ? storage_sql_exec(db, text) : FENCE_ENOMEM;
        sqlite3_free(text);
        sqlite3_free(name);
        sqlite3_free(remade);
        if (err)
            return err;
    }
}

/* An earlier Pawl would admit a writer whose right has ended. It raises a token by an INSERT that
 * has no reader_token, and its extension writes highest_token in each judgement, so triggers refuse
 * both where readers came. */
static int keep_readers(sqlite3 *db)
{
    return storage_sql_exec(
        db,
        "CREATE TRIGGER IF NOT EXISTS pawl_guard_reader_only_rises"
        "  BEFORE UPDATE ON pawl_guard WHEN new.reader_token < old.reader_token"
        "  BEGIN SELECT RAISE(ABORT, 'the guard only rises'); END;"
        "CREATE TRIGGER IF NOT EXISTS pawl_guard_reader_is_not_replaced"
        "  BEFORE INSERT ON pawl_guard WHEN new.reader_token <"
        "    (SELECT reader_token FROM pawl_guard WHERE resource = new.resource)"
        "  BEGIN SELECT RAISE(ABORT, 'the guard only rises: a program that writes a resource"
        " with readers needs a Pawl that knows readers'); END;"
        "CREATE TRIGGER IF NOT EXISTS pawl_guard_writer_is_newer"
        "  BEFORE UPDATE OF highest_token ON pawl_guard WHEN new.highest_token <= old.reader_token"
        "  BEGIN SELECT RAISE(ABORT, 'a reader came: a program that writes a resource"
        " with readers needs a Pawl that knows readers'); END");
}

int storage_readers_known(sqlite3 *db, bool *ret_known)
{
    assert(ret_known);
    int64_t known = 0;
    int err = first_number(db,
                           "SELECT 3 = (SELECT count(*) FROM main.sqlite_schema"
                           "  WHERE type = 'trigger' AND name IN ('pawl_guard_reader_only_rises',"
                           "    'pawl_guard_reader_is_not_replaced', 'pawl_guard_writer_is_newer'))"
                           "  AND NOT EXISTS (SELECT 1 " EARLIER_TRIGGERS ")",
                           &known);
    if (!err)
        *ret_known = known != 0;
    return err;
}

int storage_readers_learn(sqlite3 *db)
{
    assert(db);
    int err = add_reader_column(db);
    if (!err)
        err = remake_triggers(db);
    return err ? err : keep_readers(db);
}
