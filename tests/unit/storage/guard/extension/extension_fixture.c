#include "tests/unit/storage/guard/extension/extension_fixture.h"

#include "tests/lib/case.h"
#include "tests/lib/tempdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void extension_load(sqlite3 *db)
{
    char path[EXTENSION_TEXT_MAX], *text = NULL;
    const char *build = getenv("PAWL_BUILD");
    snprintf(path, sizeof(path), "%s/storage/pawl.so", build ? build : "build");
    assert_int_equal(sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL), 0);
    if (sqlite3_load_extension(db, path, NULL, &text) != SQLITE_OK)
        fail_msg("%s", text);
}

sqlite3 *extension_open(const char *path)
{
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    extension_load(db);
    extension_run(db, "PRAGMA recursive_triggers = ON");
    return db;
}

int extension_fixture_setup(void **state)
{
    struct extension_fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    f->dir = tempdir_new();
    snprintf(f->path, sizeof(f->path), "%s/guarded.db", f->dir);
    f->a = extension_open(f->path);
    extension_run(f->a, "PRAGMA journal_mode = WAL; SELECT pawl_install();"
                        "CREATE TABLE t (id INTEGER PRIMARY KEY, who TEXT UNIQUE)");
    f->b = extension_open(f->path);
    *state = f;
    return 0;
}

int extension_fixture_teardown(void **state)
{
    struct extension_fixture *f = *state;
    sqlite3_close(f->a);
    sqlite3_close(f->b);
    tempdir_remove(f->dir);
    free(f);
    return 0;
}

void extension_run(sqlite3 *db, const char *text)
{
    if (sqlite3_exec(db, text, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", text, sqlite3_errmsg(db));
}

int extension_code(sqlite3 *db, const char *text)
{
    return sqlite3_exec(db, text, NULL, NULL, NULL) & 0xff;
}

void extension_refuses(sqlite3 *db, const char *text, const char *start)
{
    if (sqlite3_exec(db, text, NULL, NULL, NULL) == SQLITE_OK)
        fail_msg("%s: is not refused", text);
    if (strncmp(sqlite3_errmsg(db), start, strlen(start)) != 0)
        fail_msg("%s: '%s' and not '%s'", text, sqlite3_errmsg(db), start);
}

int64_t extension_number(sqlite3 *db, const char *text)
{
    sqlite3_stmt *stmt = NULL;
    if (sqlite3_prepare_v2(db, text, -1, &stmt, NULL) != SQLITE_OK ||
        sqlite3_step(stmt) != SQLITE_ROW)
        fail_msg("%s: %s", text, sqlite3_errmsg(db));
    const int64_t number = sqlite3_column_int64(stmt, 0);
    assert_int_equal(sqlite3_finalize(stmt), SQLITE_OK);
    return number;
}
