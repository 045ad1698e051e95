#include "storage/sql/sql.h"

#include <assert.h>
#include <string.h>

int storage_sql_error(int code)
{
    switch (code & 0xff) { /* the low byte is the primary code, the rest says more about it */
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
        return 0;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return FENCE_EBUSY;
    case SQLITE_NOMEM:
        return FENCE_ENOMEM;
    default:
        return FENCE_EIO;
    }
}

struct storage_sql storage_sql_prepare(sqlite3 *db, const char *text)
{
    struct storage_sql sql = {NULL, SQLITE_OK};
    sql.code = sqlite3_prepare_v2(db, text, -1, &sql.stmt, NULL);
    return sql;
}

void storage_sql_bind_text(struct storage_sql *sql, int parameter, const char *text)
{
    assert(parameter >= 1 && text != NULL);
    if (sql->code == SQLITE_OK)
        sql->code = sqlite3_bind_text(sql->stmt, parameter, text, -1, SQLITE_STATIC);
}

void storage_sql_bind_int(struct storage_sql *sql, int parameter, int64_t value)
{
    assert(parameter >= 1);
    if (sql->code == SQLITE_OK)
        sql->code = sqlite3_bind_int64(sql->stmt, parameter, value);
}

bool storage_sql_row(struct storage_sql *sql)
{
    if (sql->code != SQLITE_OK)
        return false;
    int code = sqlite3_step(sql->stmt);
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        sql->code = code;
    return code == SQLITE_ROW;
}

void storage_sql_column_text(struct storage_sql *sql, int column, char *buffer, size_t size)
{
    assert(size > 0);
    assert(sql->stmt != NULL && column >= 0);
    const unsigned char *text = sqlite3_column_text(sql->stmt, column);
    size_t len = (size_t)sqlite3_column_bytes(sql->stmt, column);
    if (!text || len >= size) {
        sql->code = text ? SQLITE_TOOBIG : SQLITE_NOMEM;
        return;
    }
    memcpy(buffer, text, len);
    buffer[len] = '\0';
}

int storage_sql_finish(struct storage_sql *sql)
{
    int code = sqlite3_finalize(sql->stmt);
    sql->stmt = NULL;
    return storage_sql_error(sql->code != SQLITE_OK ? sql->code : code);
}

int storage_sql_run(struct storage_sql *sql)
{
    /* Another program's connection may have count_changes on: each write then answers a row. */
    while (storage_sql_row(sql))
        continue;
    return storage_sql_finish(sql);
}

int storage_sql_exec(sqlite3 *db, const char *text)
{
    assert(db != NULL);
    return storage_sql_error(sqlite3_exec(db, text, NULL, NULL, NULL));
}
