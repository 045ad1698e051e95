#include "tests/fuzz/guarded.h"

#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    FILE_BYTES_MAX = 1 << 20,
    FIRST_TOKEN = 1,    /* that the main database has seen for each name */
    ATTACHED_TOKEN = 5, /* the same of the other one */
    STATEMENT_MAX = 160,
};

const char *const guarded_names[GUARDED_NAMES] = {"a", "b/1", "c"};

static char folder[GUARDED_PATH_MAX];

static struct {
    char bytes[FILE_BYTES_MAX];
    size_t size;
} made[GUARDED_FILES];

int sqlite3_pawl_init(sqlite3 *db, char **ret_text, const struct sqlite3_api_routines *api);

/* ---- memory ---------------------------------------------------------------------------------- */

static sqlite3_mem_methods memory;
static unsigned until_failure; /* 0: none comes */
static bool has_failed;

static bool fails_now(void)
{
    if (until_failure == 0 || --until_failure > 0)
        return false;
    has_failed = true;
    return true;
}

static void *allocate(int size)
{
    return fails_now() ? NULL : memory.xMalloc(size);
}

static void *reallocate(void *block, int size)
{
    return fails_now() ? NULL : memory.xRealloc(block, size);
}

/* Before SQLite is used. */
static void watch_memory(void)
{
    assert(sqlite3_config(SQLITE_CONFIG_GETMALLOC, &memory) == SQLITE_OK);
    sqlite3_mem_methods watched = memory;
    watched.xMalloc = allocate;
    watched.xRealloc = reallocate;
    assert(sqlite3_config(SQLITE_CONFIG_MALLOC, &watched) == SQLITE_OK);
    /* Else its own connection has memory, which never fails. */
    assert(sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0) == SQLITE_OK);
}

bool guarded_starve(unsigned count)
{
    const bool failed = has_failed;
    has_failed = false;
    until_failure = count;
    return failed;
}

/* ---- files ----------------------------------------------------------------------------------- */

static void path_of(size_t file, const char *ending, char ret_path[static GUARDED_PATH_MAX])
{
    const int len = snprintf(ret_path, GUARDED_PATH_MAX, "%s/%zu.db%s", folder, file, ending);
    assert(len < GUARDED_PATH_MAX);
}

static void remove_file(size_t file)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
    char path[GUARDED_PATH_MAX];
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        path_of(file, endings[i], path);
        (void)unlink(path);
    }
}

static void remove_all(void)
{
    for (size_t i = 0; i < GUARDED_FILES; i++)
        remove_file(i);
    (void)rmdir(folder);
}

static void read_made(size_t file)
{
    char path[GUARDED_PATH_MAX];
    path_of(file, "", path);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert(fd >= 0);
    const ssize_t size = read(fd, made[file].bytes, FILE_BYTES_MAX);
    assert(size > 0 && size < FILE_BYTES_MAX);
    made[file].size = (size_t)size;
    (void)close(fd);
}

static void write_made(size_t file)
{
    char path[GUARDED_PATH_MAX];
    remove_file(file);
    path_of(file, "", path);
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert(fd >= 0);
    const ssize_t size = write(fd, made[file].bytes, made[file].size);
    assert(size == (ssize_t)made[file].size);
    (void)close(fd);
}

/* ---- connections ----------------------------------------------------------------------------- */

static void run(sqlite3 *db, const char *text)
{
    const int code = sqlite3_exec(db, text, NULL, NULL, NULL);
    if (code != SQLITE_OK)
        (void)fprintf(stderr, "%s: %s\n", text, sqlite3_errmsg(db));
    assert(code == SQLITE_OK);
}

/* SQLite hands its table of calls to a function of this kind only. */
static sqlite3 *open_file(size_t file, bool extended)
{
    void (*const entry)(void) = (void (*)(void))sqlite3_pawl_init;
    char path[GUARDED_PATH_MAX];
    sqlite3 *db = NULL;
    path_of(file, "", path);
    if (extended)
        assert(sqlite3_auto_extension(entry) == SQLITE_OK);
    assert(sqlite3_open(path, &db) == SQLITE_OK);
    if (extended)
        assert(sqlite3_cancel_auto_extension(entry) == 1);
    return db;
}

static void make_file(size_t file)
{
    char text[STATEMENT_MAX];
    sqlite3 *db = open_file(file, true);
    run(db, "PRAGMA journal_mode = WAL; PRAGMA recursive_triggers = ON; SELECT pawl_install();"
            "CREATE TABLE t (id INTEGER PRIMARY KEY, r TEXT, v INTEGER UNIQUE);"
            "CREATE TABLE u (k TEXT PRIMARY KEY, r TEXT NOT NULL DEFAULT 'a', g AS (k || r));"
            "SELECT pawl_protect('t', 'r')");
    for (size_t i = 0; i < GUARDED_NAMES; i++) {
        (void)snprintf(text, sizeof(text),
                       "SELECT pawl_claim('%s', %d); INSERT INTO t VALUES (%zu, '%s', %zu)",
                       guarded_names[i], file == 0 ? FIRST_TOKEN : ATTACHED_TOKEN, i,
                       guarded_names[i], i);
        run(db, text);
    }
    assert(sqlite3_close(db) == SQLITE_OK);
    read_made(file);
}

void guarded_begin(void)
{
    const char *shared = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    (void)snprintf(folder, sizeof(folder), "%s/pawl-fuzz-XXXXXX", shared);
    assert(mkdtemp(folder));
    watch_memory();
    for (size_t i = 0; i < GUARDED_FILES; i++)
        make_file(i);
    assert(atexit(remove_all) == 0);
}

/* ---- what was committed ---------------------------------------------------------------------- */

static uint64_t mixed(uint64_t hash, const char *text)
{
    for (; text && *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash;
}

static bool name_index(const char *name, size_t *ret_index)
{
    for (size_t i = 0; i < GUARDED_NAMES; i++) {
        if (name && strcmp(guarded_names[i], name) == 0) {
            *ret_index = i;
            return true;
        }
    }
    return false;
}

static void read_highest(struct guarded_file *file, int64_t highest[static GUARDED_NAMES],
                         int64_t readers[static GUARDED_NAMES])
{
    sqlite3_stmt *stmt = NULL;
    memset(highest, 0, GUARDED_NAMES * sizeof(*highest));
    memset(readers, 0, GUARDED_NAMES * sizeof(*readers));
    assert(sqlite3_prepare_v2(file->watcher,
                              "SELECT resource, highest_token, reader_token FROM pawl_guard", -1,
                              &stmt, NULL) == SQLITE_OK);
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        size_t index;
        if (name_index((const char *)sqlite3_column_text(stmt, 0), &index)) {
            highest[index] = sqlite3_column_int64(stmt, 1);
            readers[index] = sqlite3_column_int64(stmt, 2);
        }
    }
    assert(sqlite3_finalize(stmt) == SQLITE_OK);
}

static void read_rows(const struct guarded *guarded, struct guarded_file *file,
                      uint64_t rows[static GUARDED_NAMES])
{
    sqlite3_stmt *stmt = NULL;
    memset(rows, 0, GUARDED_NAMES * sizeof(*rows));
    assert(sqlite3_prepare_v2(file->watcher, "SELECT r, id || ':' || quote(v) FROM t ORDER BY id",
                              -1, &stmt, NULL) == SQLITE_OK);
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        size_t index;
        if (!name_index((const char *)sqlite3_column_text(stmt, 0), &index)) {
            assert(guarded->knows_others && "a row that nobody claimed");
            continue;
        }
        rows[index] = mixed(rows[index] + 1, (const char *)sqlite3_column_text(stmt, 1));
    }
    assert(sqlite3_finalize(stmt) == SQLITE_OK);
}

static bool has_brought(const struct guarded_writer *writer, size_t name, int64_t token)
{
    for (size_t i = 0; i < writer->count; i++)
        if (writer->brought[i].name == name && writer->brought[i].token == token)
            return true;
    return false;
}

static void look_at_file(struct guarded *guarded, struct guarded_file *file, size_t who)
{
    const struct guarded_writer *writer = &guarded->writers[who];
    int64_t highest[GUARDED_NAMES], readers[GUARDED_NAMES];
    uint64_t rows[GUARDED_NAMES] = {0};
    read_highest(file, highest, readers);
    if (guarded->is_protected)
        read_rows(guarded, file, rows);
    for (size_t i = 0; i < GUARDED_NAMES; i++) {
        assert(highest[i] >= file->highest[i] && "a token goes backward");
        assert(readers[i] >= file->readers[i] && "a reader's token goes backward");
        file->highest[i] = highest[i];
        file->readers[i] = readers[i];
        if (!guarded->is_protected || rows[i] == file->rows[i])
            continue;
        assert((writer->raises_by_hand || has_brought(writer, i, highest[i])) &&
               "a stale write stands");
        assert((writer->raises_by_hand || writer->reads || highest[i] > readers[i]) &&
               "a write stands that a reader had ended");
        file->rows[i] = rows[i];
    }
}

void guarded_look(struct guarded *guarded, size_t who)
{
    struct guarded_writer *writer = &guarded->writers[who];
    const int changes = sqlite3_total_changes(writer->db);
    for (size_t i = 0; i < GUARDED_FILES && changes != writer->changes; i++)
        look_at_file(guarded, &guarded->files[i], who);
    writer->changes = changes;
    writer->raises_by_hand = false;
    writer->reads = false;
}

/* ---- an input -------------------------------------------------------------------------------- */

void guarded_open(struct guarded *guarded)
{
    *guarded = (struct guarded){.is_protected = true};
    for (size_t i = 0; i < GUARDED_FILES; i++) {
        struct guarded_file *file = &guarded->files[i];
        write_made(i);
        path_of(i, "", file->path);
        file->watcher = open_file(i, false);
        read_highest(file, file->highest, file->readers);
        read_rows(guarded, file, file->rows);
    }
    for (size_t i = 0; i < GUARDED_WRITERS; i++) {
        guarded->writers[i].db = open_file(0, i != GUARDED_LIBRARY);
        run(guarded->writers[i].db, "PRAGMA recursive_triggers = ON");
    }
}

void guarded_close(struct guarded *guarded)
{
    for (size_t i = 0; i < GUARDED_WRITERS; i++)
        assert(sqlite3_close(guarded->writers[i].db) == SQLITE_OK);
    for (size_t i = 0; i < GUARDED_FILES; i++)
        assert(sqlite3_close(guarded->files[i].watcher) == SQLITE_OK);
}

void guarded_bring(struct guarded *guarded, size_t who, const char *name, int64_t token)
{
    struct guarded_writer *writer = &guarded->writers[who];
    size_t index;
    if (!name_index(name, &index)) {
        guarded->knows_others = true;
        return;
    }
    assert(writer->count < GUARDED_BROUGHT_MAX);
    writer->brought[writer->count++] = (struct guarded_brought){.name = index, .token = token};
}

void guarded_read(struct guarded *guarded, size_t who)
{
    guarded->writers[who].reads = true;
}

void guarded_forget(struct guarded *guarded, size_t who)
{
    guarded->writers[who].count = 0;
}
