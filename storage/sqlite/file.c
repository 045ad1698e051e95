#include "storage/sqlite/file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <sodium.h>

/* "PAWL", which SQLite keeps in the head of the file for whom it may concern. */
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
    /* attempt: NULL where no attempt may undo it. sources: NULL where this master gave the number,
     * else the set of those where it counted. lease_ms: from the last write on. */
    "CREATE TABLE lock (hash INTEGER NOT NULL, resource TEXT NOT NULL, lock_id TEXT NOT NULL, "
    "attempt INTEGER, number INTEGER NOT NULL, extensions INTEGER NOT NULL, sources INTEGER, "
    "owner TEXT NOT NULL, expires_ms INTEGER NOT NULL, lease_ms INTEGER NOT NULL, "
    "PRIMARY KEY (hash, resource)) STRICT, WITHOUT ROWID;";

/* A file of an earlier version lacks it. Rows only come, so that walks go by the id. */
static const char later_schema[] =
    "CREATE TABLE IF NOT EXISTS named (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, "
    "number INTEGER NOT NULL CHECK (number BETWEEN 1 AND 9007199254740991)) STRICT;";

/* So does a marker of an earlier version. 0: the fleet names no cap. */
static const char extensions_column[] =
    "ALTER TABLE marker ADD COLUMN extensions_max INTEGER NOT NULL DEFAULT 0";

/* What makes a commit survive a crash. And who waits, and which grants were broken, which need not:
 * a grant that was broken is gone without it, and its holder is told that the lock is lost. */
static const char settings[] =
    "PRAGMA journal_mode = WAL;"
    "PRAGMA synchronous = FULL;"
    "PRAGMA wal_autocheckpoint = 0;" /* storage_file_checkpoint() does it */
    "PRAGMA temp_store = MEMORY;"
    "CREATE TEMP TABLE waiting (resource TEXT PRIMARY KEY, until_ms INTEGER NOT NULL) WITHOUT "
    "ROWID;"
    "CREATE TEMP TABLE broken (resource TEXT NOT NULL, lock_id TEXT NOT NULL, "
    "token INTEGER NOT NULL, by TEXT NOT NULL, until_ms INTEGER NOT NULL, "
    "PRIMARY KEY (resource, lock_id)) WITHOUT ROWID;";

/* In the column mark. */
#define MARK_NEW "1"
static_assert(FENCE_MARK_NEW == 1, "MARK_NEW");

/* Whether these took hold: not every file system lets them. */
static const char is_durable[] =
    "SELECT (SELECT journal_mode FROM pragma_journal_mode) = 'wal' AND "
    "(SELECT synchronous FROM pragma_synchronous) = 2";

enum {
    CHECKPOINT_PAGES = 1000, /* of the log, since the last one */
    BUSY_MS = 2000,          /* for a program that looks at the file, or copies it */
};

/* ---- opening --------------------------------------------------------------------------------- */

static int cannot(char ret_why[static STORAGE_WHY_MAX], int error, const char *path,
                  const char *what)
{
    (void)snprintf(ret_why, STORAGE_WHY_MAX, "%s: %s", path, what);
    return error;
}

/* The system does not let us have what is at @path. */
static int cannot_use(char ret_why[static STORAGE_WHY_MAX], const char *path)
{
    (void)snprintf(
        ret_why, STORAGE_WHY_MAX,
        "%s: %s. Name a folder that pawld may write to, or make the one above it (--data)", path,
        strerror(errno));
    return FENCE_EIO;
}

/* Makes sure that the names of new files are on the disk too. */
static int sync_folder(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return FENCE_EIO;
    int failed = fsync(fd);
    close(fd);
    return failed ? FENCE_EIO : 0;
}

static int make_folder(const char *folder, char ret_why[static STORAGE_WHY_MAX])
{
    if (strlen(folder) > STORAGE_FOLDER_MAX)
        return cannot(ret_why, FENCE_EINVAL, "--data", "the name of the folder is too long");
    if (mkdir(folder, 0700) != 0)
        return errno == EEXIST ? 0 : cannot_use(ret_why, folder);
    char parent[STORAGE_FOLDER_MAX + sizeof("/..")];
    (void)snprintf(parent, sizeof(parent), "%s/..", folder);
    return sync_folder(parent) ? cannot(ret_why, FENCE_EIO, parent, strerror(errno)) : 0;
}

static int open_witness(const char *folder, struct storage_file *file,
                        char ret_why[static STORAGE_WHY_MAX])
{
    char path[sizeof(file->path)];
    int pid = 0;
    (void)snprintf(path, sizeof(path), "%s/pawl.witness", folder);
    int error = storage_witness_open(path, &file->witness, &pid);
    if (error == FENCE_EBUSY)
        (void)snprintf(ret_why, STORAGE_WHY_MAX,
                       "%s: another pawld (process %d) serves from this folder. Stop it first, or "
                       "give this one a folder of its own (--data)",
                       folder, pid);
    else if (error)
        return cannot_use(ret_why, path);
    return error;
}

/* Before SQLite, which makes a file only when it writes to it. */
static int make_file(struct storage_file *file, struct storage_identity *identity,
                     char ret_why[static STORAGE_WHY_MAX])
{
    int fd = open(file->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return cannot_use(ret_why, file->path);
    close(fd);
    int error = storage_witness_look(file->path, &identity->look);
    return error ? cannot(ret_why, FENCE_EIO, file->path, strerror(errno)) : 0;
}

/* A file that is refused is left as it is: SQLite would bring its log into it as it closes. */
static void leave_log(struct storage_file *file, bool leaves)
{
    int code = sqlite3_db_config(file->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, (int)leaves, NULL);
    assert(code == SQLITE_OK);
}

static int open_database(struct storage_file *file, char ret_why[static STORAGE_WHY_MAX])
{
    int code =
        sqlite3_open_v2(file->path, &file->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (code != SQLITE_OK)
        return cannot(ret_why, FENCE_EIO, file->path,
                      file->db ? sqlite3_errmsg(file->db) : "out of memory");
    sqlite3_busy_timeout(file->db, BUSY_MS);
    leave_log(file, true);
    return 0;
}

static int refuse_retired(const char *folder, char ret_why[static STORAGE_WHY_MAX])
{
    (void)snprintf(ret_why, STORAGE_WHY_MAX,
                   "%s: its fleet was moved to other masters (pawld move). Serve from those, with "
                   "--master. If the move was broken off, run it again",
                   folder);
    return FENCE_ECONFLICT;
}

static int64_t number_of(sqlite3 *db, const char *question, int *ret_error)
{
    struct storage_sql sql = storage_sql_prepare(db, question);
    int64_t number = storage_sql_row(&sql) ? sqlite3_column_int64(sql.stmt, 0) : 0;
    int error = storage_sql_finish(&sql);
    if (error)
        *ret_error = error;
    return number;
}

static void read_identity(sqlite3 *db, struct storage_identity *identity, int *ret_error)
{
    struct storage_sql sql = storage_sql_prepare(db, "SELECT file_id, openings, commits FROM file");
    if (storage_sql_row(&sql)) {
        storage_sql_column_text(&sql, 0, identity->file_id, sizeof(identity->file_id));
        identity->openings = (uint64_t)sqlite3_column_int64(sql.stmt, 1);
        identity->commits = (uint64_t)sqlite3_column_int64(sql.stmt, 2);
    }
    int error = storage_sql_finish(&sql);
    if (error)
        *ret_error = error;
}

static int identify(struct storage_file *file, struct storage_identity *identity,
                    char ret_why[static STORAGE_WHY_MAX])
{
    int error = 0;
    int64_t application = number_of(file->db, "PRAGMA application_id", &error);
    int64_t version = number_of(file->db, "PRAGMA user_version", &error);
    int64_t tables = number_of(file->db, "SELECT count(*) FROM sqlite_schema", &error);
    identity->blank = tables == 0;
    if (!error && !identity->blank && application != strtoll(APPLICATION_ID, NULL, 10))
        return cannot(ret_why, FENCE_EIO, file->path,
                      "this is no file of pawld's. Give pawld a folder of its own (--data)");
    if (!error && version > 1)
        return cannot(ret_why, FENCE_EIO, file->path,
                      "a newer pawld made this file. Serve from it with that one");
    if (!error && !identity->blank)
        read_identity(file->db, identity, &error);
    if (!error && !identity->blank)
        identity->retired = number_of(file->db, "SELECT retired FROM file", &error) != 0;
    return error ? cannot(ret_why, FENCE_EIO, file->path, sqlite3_errmsg(file->db)) : 0;
}

static void random_hex(char *ret_text, size_t digits)
{
    unsigned char random[FENCE_ID_HEX_LEN / 2];
    assert(digits / 2 <= sizeof(random));
    randombytes_buf(random, digits / 2);
    sodium_bin2hex(ret_text, digits + 1, random, digits / 2);
}

/* What the witness has to have seen before a file is written for the first time, or taken over.
 * That was opened once: where it breaks off, no later start takes what is left for a new file. */
static void begin_witness(struct storage_witness *witness, const struct storage_identity *identity,
                          bool takes_over)
{
    struct storage_seen *seen = &witness->seen;
    if (storage_witness_is_new(witness) || seen->openings > 0)
        random_hex(seen->file_id, STORAGE_FILE_ID_LEN);
    seen->openings = takes_over;
    seen->commits = 0;
    seen->inode = identity->look.inode;
    seen->born_ns = identity->look.born_ns;
    memcpy(seen->magic, STORAGE_WITNESS_MAGIC, sizeof(STORAGE_WITNESS_MAGIC));
}

/* What it missed in a crash is seen now, so that it never lacks more than the last. */
static void catch_up(struct storage_witness *witness, const struct storage_identity *identity)
{
    witness->seen.openings = identity->openings;
    witness->seen.commits = identity->commits;
}

static int make_tables(sqlite3 *db, const struct storage_seen *seen, bool takes_over)
{
    char lineage[FENCE_LINEAGE_MAX + 1];
    storage_state_new_lineage(lineage);
    int error = storage_sql_exec(db, schema);
    if (error)
        return error;
    struct storage_sql sql = storage_sql_prepare(
        db, "INSERT INTO file (id, file_id, boot_id, lineage, openings, commits, taken_over) "
            "VALUES (1, ?1, '', ?2, 0, 0, ?3)");
    storage_sql_bind_text(&sql, 1, seen->file_id);
    storage_sql_bind_text(&sql, 2, lineage);
    storage_sql_bind_int(&sql, 3, takes_over);
    return storage_sql_run(&sql);
}

/* A file that is taken over descends from nothing that was admitted. */
static int forget_lineage(sqlite3 *db, const struct storage_seen *seen)
{
    char lineage[FENCE_LINEAGE_MAX + 1];
    storage_state_new_lineage(lineage);
    struct storage_sql sql = storage_sql_prepare(
        db, "UPDATE file SET lineage = ?1, file_id = ?2, taken_over = 1, retired = 0");
    storage_sql_bind_text(&sql, 1, lineage);
    storage_sql_bind_text(&sql, 2, seen->file_id);
    return storage_sql_run(&sql);
}

/* After another boot nobody knows how long ago a lease began: all of it is waited for. */
static int count_opening(sqlite3 *db, const char *boot_id)
{
    struct storage_sql sql = storage_sql_prepare(db, "UPDATE lock SET expires_ms = ?1 + lease_ms "
                                                     "WHERE (SELECT boot_id FROM file) <> ?2");
    storage_sql_bind_int(&sql, 1, (int64_t)storage_state_clock_ms());
    storage_sql_bind_text(&sql, 2, boot_id);
    int error = storage_sql_run(&sql);
    if (error)
        return error;
    sql = storage_sql_prepare(
        db, "UPDATE file SET openings = openings + 1, commits = commits + 1, boot_id = ?1");
    storage_sql_bind_text(&sql, 1, boot_id);
    return storage_sql_run(&sql);
}

/* Not every file system has what the log needs. */
static int make_durable(struct storage_file *file, char ret_why[static STORAGE_WHY_MAX])
{
    int error = storage_sql_exec(file->db, settings);
    bool durable = !error && number_of(file->db, is_durable, &error) == 1;
    if (error)
        return cannot(ret_why, error, file->path, sqlite3_errmsg(file->db));
    return durable ? 0
                   : cannot(ret_why, FENCE_EIO, file->path,
                            "SQLite cannot keep a write-ahead log there. Give pawld a folder on a "
                            "local disk (--data)");
}

static int add_later_schema(sqlite3 *db)
{
    int error = storage_sql_exec(db, later_schema);
    int64_t has = number_of(
        db, "SELECT count(*) FROM pragma_table_info('marker') WHERE name = 'extensions_max'",
        &error);
    return error || has != 0 ? error : storage_sql_exec(db, extensions_column);
}

static int write_opening(struct storage_file *file, const struct storage_identity *identity,
                         bool takes_over, const char *boot_id)
{
    sqlite3 *db = file->db;
    int error = storage_sql_exec(db, "BEGIN IMMEDIATE");
    if (error)
        return error;
    if (identity->blank)
        error = make_tables(db, &file->witness.seen, takes_over);
    else if (takes_over)
        error = forget_lineage(db, &file->witness.seen);
    if (!error)
        error = add_later_schema(db);
    if (!error)
        error = count_opening(db, boot_id);
    if (!error)
        error = storage_sql_exec(db, "COMMIT");
    return error;
}

/* Notes when the database was written to last, by us. */
static int witness_written(struct storage_file *file)
{
    struct storage_look look;
    int error = storage_witness_look(file->path, &look);
    if (error)
        return error;
    file->witness.seen.written_ns = look.written_ns;
    file->witness.seen.checkpointing = 0;
    return storage_witness_sync(&file->witness);
}

static int witness_opening(struct storage_file *file, const struct storage_identity *now,
                           const char *boot_id)
{
    struct storage_seen *seen = &file->witness.seen;
    seen->openings = now->openings;
    seen->commits = now->commits;
    memcpy(seen->boot_id, boot_id, sizeof(seen->boot_id));
    return witness_written(file);
}

static bool is_on_disk(const char *folder)
{
    struct statfs found;
    return statfs(folder, &found) != 0 ||
           (found.f_type != TMPFS_MAGIC && found.f_type != RAMFS_MAGIC);
}

static int take_up(const struct storage_file_config *config, struct storage_file *file,
                   struct storage_identity *identity, const char *boot_id,
                   char ret_why[static STORAGE_WHY_MAX])
{
    enum storage_trust trust = storage_trust_judge(identity, &file->witness.seen,
                                                   storage_witness_is_new(&file->witness), boot_id);
    bool kept = trust == STORAGE_TRUST_NEW || trust == STORAGE_TRUST_KEPT;
    if (kept && identity->retired && !config->moves && !config->takes_over)
        return refuse_retired(config->folder, ret_why);
    if (!kept && !config->takes_over)
        return storage_trust_explain(trust, config->folder, ret_why);
    if (trust != STORAGE_TRUST_KEPT)
        begin_witness(&file->witness, identity, config->takes_over);
    else
        catch_up(&file->witness, identity);
    file->witness.seen.checkpointing = 1; /* SQLite writes to a new file by itself */
    if (storage_witness_sync(&file->witness) != 0 || sync_folder(config->folder) != 0)
        return cannot(ret_why, FENCE_EIO, config->folder, strerror(errno));
    int error = make_durable(file, ret_why);
    if (error)
        return error;
    error = write_opening(file, identity, config->takes_over, boot_id);
    if (!error)
        read_identity(file->db, identity, &error);
    if (error)
        return cannot(ret_why, error, file->path, sqlite3_errmsg(file->db));
    error = witness_opening(file, identity, boot_id);
    return error ? cannot(ret_why, error, config->folder, strerror(errno)) : 0;
}

static int set_up_state(const struct storage_file_config *config, const struct storage_file *file,
                        const struct storage_identity *identity, struct storage_state *state,
                        char ret_why[static STORAGE_WHY_MAX])
{
    memset(state, 0, sizeof(*state));
    state->members = config->members;
    state->me = config->me;
    state->durable = is_on_disk(config->folder);
    state->commits = identity->commits;
    random_hex(state->server_id, FENCE_ID_HEX_LEN);
    int error = storage_state_open(state, file->db);
    return error ? cannot(ret_why, error, file->path, sqlite3_errmsg(file->db)) : 0;
}

/* Whether it was never a fleet's, and never meant to go on for one. A bootstrap of a new fleet that
 * broke off leaves a mark that says so. */
static int find_new(struct storage_file *file, char ret_why[static STORAGE_WHY_MAX])
{
    int error = 0;
    int64_t used =
        number_of(file->db,
                  "SELECT (SELECT taken_over FROM file) + (SELECT count(*) FROM counter) "
                  "+ (SELECT count(*) FROM named) + (SELECT count(*) FROM lock)",
                  &error);
    int64_t marked = number_of(file->db, "SELECT count(*) FROM marker", &error);
    int64_t finished = number_of(
        file->db, "SELECT count(*) FROM marker WHERE active OR mark <> " MARK_NEW, &error);
    file->ttl_max_ms =
        (uint32_t)number_of(file->db, "SELECT coalesce(max(ttl_max_ms), 0) FROM marker", &error);
    file->extensions_max = (uint32_t)number_of(
        file->db, "SELECT coalesce(max(extensions_max), 0) FROM marker", &error);
    file->is_new = used == 0 && finished == 0;
    file->needs_floor = used != 0 && marked == 0;
    return error ? cannot(ret_why, error, file->path, sqlite3_errmsg(file->db)) : 0;
}

/* SQLite tells how long the log is after each commit. */
static int on_commit(void *context, sqlite3 *db, const char *name, int pages)
{
    struct storage_file *file = context;
    (void)db;
    (void)name;
    file->log_pages = (unsigned)pages;
    return SQLITE_OK;
}

int storage_file_open(const struct storage_file_config *config, struct storage_file *ret_file,
                      struct storage_state *state, char ret_why[static STORAGE_WHY_MAX])
{
    struct storage_file file = {0};
    struct storage_identity identity = {0};
    char boot_id[STORAGE_BOOT_ID_MAX + 1];
    int error = make_folder(config->folder, ret_why);
    if (error)
        return error;
    (void)snprintf(file.path, sizeof(file.path), "%s/pawl.db", config->folder);
    error = open_witness(config->folder, &file, ret_why);
    if (error)
        return error;
    if (storage_witness_boot(boot_id) != 0)
        error = cannot(ret_why, FENCE_EIO, config->folder, "the kernel does not name its boot");
    if (!error)
        error = make_file(&file, &identity, ret_why);
    if (!error)
        error = open_database(&file, ret_why);
    if (!error)
        error = identify(&file, &identity, ret_why);
    if (!error)
        error = take_up(config, &file, &identity, boot_id, ret_why);
    if (!error)
        error = find_new(&file, ret_why);
    if (!error)
        error = set_up_state(config, &file, &identity, state, ret_why);
    if (error) {
        (void)sqlite3_close(file.db);
        storage_witness_close(&file.witness);
        return error;
    }
    leave_log(&file, false);
    *ret_file = file;
    sqlite3_wal_hook(ret_file->db, on_commit, ret_file);
    return 0;
}

/* ---- moving a fleet -------------------------------------------------------------------------- */

int storage_file_highest(const struct storage_file *file, int64_t *ret_highest)
{
    int error = 0;
    int64_t whole = number_of(file->db,
                              "SELECT count(*) FROM marker, file WHERE retired OR (active AND "
                              "marker.lineage = file.lineage)",
                              &error);
    int64_t counter = number_of(file->db, STORAGE_HIGHEST_TEXT, &error);
    int64_t floor = number_of(file->db, "SELECT coalesce(max(floor), 0) FROM marker", &error);
    if (error)
        return error;
    if (whole == 0)
        return FENCE_ENOENT;
    *ret_highest = counter > floor ? counter : floor;
    return 0;
}

/* The lineage of a retired file is that of no marker, and names the fleet that follows. */
int storage_file_retire(struct storage_file *file, const char *follower)
{
    struct storage_sql sql = storage_sql_prepare(
        file->db, "UPDATE file SET retired = 1, lineage = 'retired:' || ?1, commits = commits + 1");
    storage_sql_bind_text(&sql, 1, follower);
    int error = storage_sql_run(&sql);
    if (!error)
        storage_file_committed(file, file->witness.seen.commits + 1);
    return error;
}

int storage_file_follower(const struct storage_file *file, char ret_id[static FENCE_ID_HEX_LEN + 1])
{
    struct storage_sql sql = storage_sql_prepare(
        file->db,
        "SELECT substr(lineage, 9) FROM file WHERE retired AND lineage LIKE 'retired:_%'");
    const bool is = storage_sql_row(&sql);
    if (is)
        storage_sql_column_text(&sql, 0, ret_id, FENCE_ID_HEX_LEN + 1);
    const int error = storage_sql_finish(&sql);
    if (error)
        return error;
    return is ? 0 : FENCE_ENOENT;
}

/* ---- while it is open ------------------------------------------------------------------------ */

void storage_file_committed(struct storage_file *file, uint64_t commits)
{
    file->witness.seen.commits = commits;
    int unseen = storage_witness_note(&file->witness); /* then the next start refuses it */
    (void)unseen;
}

/* Between the two notes nobody knows when the database was written to last. */
static bool begin_checkpoint(struct storage_file *file)
{
    file->witness.seen.checkpointing = 1;
    return storage_witness_sync(&file->witness) == 0;
}

static void end_checkpoint(struct storage_file *file)
{
    int unseen = witness_written(file); /* then the next start takes any time */
    (void)unseen;
}

void storage_file_checkpoint(struct storage_file *file)
{
    if (file->log_pages < file->checkpointed_pages)
        file->checkpointed_pages = 0; /* the log began anew */
    if (file->log_pages < file->checkpointed_pages + CHECKPOINT_PAGES || !begin_checkpoint(file))
        return;
    /* Where it fails, as on a full disk, the log grows: the next one has more to do. */
    (void)sqlite3_wal_checkpoint_v2(file->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    file->checkpointed_pages = file->log_pages;
    end_checkpoint(file);
}

int storage_file_look(const struct storage_file *file)
{
    const struct storage_seen *seen = &file->witness.seen;
    struct storage_look look;
    int error = storage_witness_look(file->path, &look);
    if (error)
        return error == FENCE_ENOENT ? FENCE_ECONFLICT : FENCE_EIO;
    bool same = look.inode == seen->inode && look.born_ns == seen->born_ns;
    bool ours = seen->checkpointing || look.written_ns == seen->written_ns;
    return same && ours ? 0 : FENCE_ECONFLICT;
}

void storage_file_close(struct storage_file *file, struct storage_state *state)
{
    storage_state_close(state);
    bool begun = begin_checkpoint(file); /* which SQLite does as it closes */
    int code = sqlite3_close(file->db);
    assert(code == SQLITE_OK);
    if (begun)
        end_checkpoint(file);
    storage_witness_close(&file->witness);
}
