#include "storage/sqlite/tables.h"

#include "storage/sqlite/state.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "PAWL", which SQLite stores in the head of the file for other programs. */
#define APPLICATION_ID "1346459468"

static const char schema[] =
    "PRAGMA application_id = " APPLICATION_ID ";"
    "PRAGMA user_version = 1;"
    "CREATE TABLE file (id INTEGER PRIMARY KEY CHECK (id = 1), file_id TEXT NOT NULL, "
    "boot_id TEXT NOT NULL, lineage TEXT NOT NULL, openings INTEGER NOT NULL, "
    "commits INTEGER NOT NULL, taken_over INTEGER NOT NULL, "
    "retired INTEGER NOT NULL DEFAULT 0) STRICT;"
    "CREATE TABLE marker (id INTEGER PRIMARY KEY CHECK (id = 1), fleet_id TEXT NOT NULL, "
    "member INTEGER NOT NULL, server_id TEXT NOT NULL, lineage TEXT NOT NULL, "
    "ttl_max_ms INTEGER NOT NULL, durable INTEGER NOT NULL, active INTEGER NOT NULL, "
    "next INTEGER NOT NULL, progress INTEGER NOT NULL, intact INTEGER NOT NULL, "
    "mark INTEGER NOT NULL, floor INTEGER NOT NULL, view TEXT NOT NULL) STRICT;"
    "CREATE TABLE counter (slot INTEGER PRIMARY KEY, "
    "number INTEGER NOT NULL CHECK (number BETWEEN 0 AND 9007199254740991)) STRICT;"
    /* attempt: NULL if no attempt may undo it. sources: NULL if this master gave the number, else
     * the set of masters where it counted. lease_ms: from the last write on. */
    "CREATE TABLE lock (hash INTEGER NOT NULL, resource TEXT NOT NULL, lock_id TEXT NOT NULL, "
    "attempt INTEGER, number INTEGER NOT NULL, extensions INTEGER NOT NULL, sources INTEGER, "
    "owner TEXT NOT NULL, expires_ms INTEGER NOT NULL, lease_ms INTEGER NOT NULL, "
    "PRIMARY KEY (hash, resource)) STRICT, WITHOUT ROWID;";

/* A file of an earlier version lacks this table. Rows are only added, so walks go by the id. */
static const char later_schema[] =
    "CREATE TABLE IF NOT EXISTS named (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, "
    "number INTEGER NOT NULL CHECK (number BETWEEN 1 AND 9007199254740991)) STRICT;";

/* A marker of an earlier version lacks this column. 0: the fleet names no cap. */
static const char extensions_column[] =
    "ALTER TABLE marker ADD COLUMN extensions_max INTEGER NOT NULL DEFAULT 0";

/* A marker of the version after that lacks this column. 0: the fleet names none. */
static const char readers_column[] =
    "ALTER TABLE marker ADD COLUMN readers INTEGER NOT NULL DEFAULT 0";

/* A file row of an earlier version lacks this column. 0: an earlier pawld made the last commit. */
static const char time_column[] =
    "ALTER TABLE file ADD COLUMN committed_ns INTEGER NOT NULL DEFAULT 0";

enum {
    URI_MAX = 3 * (STORAGE_FOLDER_MAX + 16) + 1,
};

/* ---- reading ------------------------------------------------------------------------------ */

int64_t storage_tables_number(sqlite3 *db, const char *question, int *ret_error)
{
    assert(ret_error != NULL);
    struct storage_sql sql = storage_sql_prepare(db, question);
    int64_t number = storage_sql_row(&sql) ? sqlite3_column_int64(sql.stmt, 0) : 0;
    int error = storage_sql_finish(&sql);
    if (error)
        *ret_error = error;
    return number;
}

bool storage_tables_are_ours(int64_t application)
{
    return application == strtoll(APPLICATION_ID, NULL, 10);
}

static bool has_column(sqlite3 *db, const char *question, int *ret_error)
{
    return storage_tables_number(db, question, ret_error) != 0;
}

static bool has_time_column(sqlite3 *db, int *ret_error)
{
    return has_column(db,
                      "SELECT count(*) FROM pragma_table_info('file') WHERE name = 'committed_ns'",
                      ret_error);
}

void storage_tables_read(sqlite3 *db, struct storage_identity *identity, int *ret_error)
{
    struct storage_sql sql =
        storage_sql_prepare(db, "SELECT file_id, openings, commits, retired FROM file");
    if (storage_sql_row(&sql)) {
        storage_sql_column_text(&sql, 0, identity->file_id, sizeof(identity->file_id));
        identity->openings = (uint64_t)sqlite3_column_int64(sql.stmt, 1);
        identity->commits = (uint64_t)sqlite3_column_int64(sql.stmt, 2);
        identity->retired = sqlite3_column_int64(sql.stmt, 3) != 0;
    }
    int error = storage_sql_finish(&sql);
    if (!error && has_time_column(db, &error))
        identity->committed_ns = storage_tables_number(db, "SELECT committed_ns FROM file", &error);
    if (error)
        *ret_error = error;
}

/* Any name is a path of a URI once these characters are escaped. */
static void escape_path(const char *path, char ret_text[static URI_MAX])
{
    static const char hex[] = "0123456789ABCDEF";
    char *to = ret_text;
    for (const char *from = path; *from; from++) {
        unsigned char byte = (unsigned char)*from;
        bool plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                     (byte >= '0' && byte <= '9') || strchr("/-_.~", byte);
        if (plain) {
            *to++ = (char)byte;
        } else {
            *to++ = '%';
            *to++ = hex[byte >> 4];
            *to++ = hex[byte & 15];
        }
    }
    *to = '\0';
    assert(to - ret_text < URI_MAX);
}

/* Reports whether the file gives no information: it is damaged, or has no tables. */
static bool is_silent(int code)
{
    code &= 0xff; /* without its details */
    return code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_ERROR ||
           code == SQLITE_CANTOPEN;
}

static int read_base(sqlite3 *db, struct storage_identity *identity)
{
    struct storage_sql sql = storage_sql_prepare(db, "SELECT commits FROM file");
    bool there = storage_sql_row(&sql);
    uint64_t commits = there ? (uint64_t)sqlite3_column_int64(sql.stmt, 0) : 0;
    int code = sql.code;
    int error = storage_sql_finish(&sql);
    if (is_silent(code))
        return 0;
    if (!error && there) {
        identity->base_known = true;
        identity->base_commits = commits;
    }
    return error;
}

/* For a file opened as immutable, SQLite ignores the log, and locks nothing. */
int storage_tables_read_base(const char *path, struct storage_identity *identity)
{
    char escaped[URI_MAX];
    char uri[URI_MAX + 32];
    sqlite3 *db = NULL;
    assert(strlen(path) <= STORAGE_FOLDER_MAX + 16);
    escape_path(path, escaped);
    (void)snprintf(uri, sizeof(uri), "file:%s?immutable=1", escaped);
    int code = sqlite3_open_v2(uri, &db,
                               SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);
    int error = code == SQLITE_OK ? read_base(db, identity) : storage_sql_error(code);
    (void)sqlite3_close(db);
    return error;
}

/* ---- opening ------------------------------------------------------------------------------ */

static int make_tables(sqlite3 *db, const char *file_id, bool takes_over)
{
    assert(strlen(file_id) == STORAGE_FILE_ID_LEN);
    char lineage[FENCE_LINEAGE_MAX + 1];
    storage_state_new_lineage(lineage);
    int error = storage_sql_exec(db, schema);
    if (error)
        return error;
    struct storage_sql sql = storage_sql_prepare(
        db, "INSERT INTO file (id, file_id, boot_id, lineage, openings, commits, taken_over) "
            "VALUES (1, ?1, '', ?2, 0, 0, ?3)");
    storage_sql_bind_text(&sql, 1, file_id);
    storage_sql_bind_text(&sql, 2, lineage);
    storage_sql_bind_int(&sql, 3, takes_over);
    return storage_sql_run(&sql);
}

/* Gives a file that is taken over a new lineage, which was never admitted. */
static int forget_lineage(sqlite3 *db, const char *file_id)
{
    assert(strlen(file_id) == STORAGE_FILE_ID_LEN);
    char lineage[FENCE_LINEAGE_MAX + 1];
    storage_state_new_lineage(lineage);
    struct storage_sql sql = storage_sql_prepare(
        db, "UPDATE file SET lineage = ?1, file_id = ?2, taken_over = 1, retired = 0");
    storage_sql_bind_text(&sql, 1, lineage);
    storage_sql_bind_text(&sql, 2, file_id);
    return storage_sql_run(&sql);
}

/* Counts an opening. On another clock, for instance after a reboot, the begin of a lease is
 * unknown: the whole lease is waited for. The name of the column is from an earlier pawld. */
static int count_opening(sqlite3 *db, const char *clock_id)
{
    struct storage_sql sql = storage_sql_prepare(db, "UPDATE lock SET expires_ms = ?1 + lease_ms "
                                                     "WHERE (SELECT boot_id FROM file) <> ?2");
    storage_sql_bind_int(&sql, 1, (int64_t)storage_state_clock_ms());
    storage_sql_bind_text(&sql, 2, clock_id);
    int error = storage_sql_run(&sql);
    if (error)
        return error;
    sql = storage_sql_prepare(
        db, "UPDATE file SET openings = openings + 1, commits = commits + 1, boot_id = ?1, "
            "committed_ns = ?2");
    storage_sql_bind_text(&sql, 1, clock_id);
    storage_sql_bind_int(&sql, 2, storage_state_wall_ns());
    return storage_sql_run(&sql);
}

static int add_later_schema(sqlite3 *db)
{
    int error = storage_sql_exec(db, later_schema);
    bool has = has_column(
        db, "SELECT count(*) FROM pragma_table_info('marker') WHERE name = 'extensions_max'",
        &error);
    if (!error && !has)
        error = storage_sql_exec(db, extensions_column);
    has = has_column(db, "SELECT count(*) FROM pragma_table_info('marker') WHERE name = 'readers'",
                     &error);
    if (!error && !has)
        error = storage_sql_exec(db, readers_column);
    has = has_time_column(db, &error);
    return error || has ? error : storage_sql_exec(db, time_column);
}

int storage_tables_open(sqlite3 *db, const struct storage_opening *opening)
{
    int error = storage_sql_exec(db, "BEGIN IMMEDIATE");
    if (error)
        return error;
    if (opening->makes_tables)
        error = make_tables(db, opening->file_id, opening->takes_over);
    else if (opening->takes_over)
        error = forget_lineage(db, opening->file_id);
    if (!error)
        error = add_later_schema(db);
    if (!error)
        error = count_opening(db, opening->clock_id);
    if (!error)
        error = storage_sql_exec(db, "COMMIT");
    return error;
}
