#include "storage/sqlite/file.h"
#include "storage/sqlite/rows.h"
#include "storage/sqlite/tables.h"

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

/* Settings that make a commit survive a crash. Waiters and broken grants are kept in memory only: a
 * broken grant has ended in any case, and its holder is told that the lock is lost. */
static const char settings[] =
    "PRAGMA journal_mode = WAL;"
    "PRAGMA synchronous = FULL;"
    "PRAGMA wal_autocheckpoint = 0;" /* storage_file_checkpoint() does it */
    "PRAGMA temp_store = MEMORY;"
    "CREATE TEMP TABLE waiting (resource TEXT PRIMARY KEY, until_ms INTEGER NOT NULL, "
    "ticket INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TEMP TABLE next (resource TEXT PRIMARY KEY, until_ms INTEGER NOT NULL, "
    "ticket INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TEMP TABLE broken (resource TEXT NOT NULL, lock_id TEXT NOT NULL, "
    "token INTEGER NOT NULL, by TEXT NOT NULL, until_ms INTEGER NOT NULL, "
    "PRIMARY KEY (resource, lock_id)) WITHOUT ROWID;";

/* In the column mark. */
#define MARK_NEW "1"
static_assert(FENCE_MARK_NEW == 1, "MARK_NEW");

/* Reports whether the settings are in force: some file systems do not support them. */
static const char is_durable[] =
    "SELECT (SELECT journal_mode FROM pragma_journal_mode) = 'wal' AND "
    "(SELECT synchronous FROM pragma_synchronous) = 2";

enum {
    BUSY_MS = 2000, /* for a program that reads the file, or copies it */
};

/* ---- the files ---------------------------------------------------------------------------- */

static int cannot(char ret_why[static STORAGE_WHY_MAX], int error, const char *path,
                  const char *what)
{
    (void)snprintf(ret_why, STORAGE_WHY_MAX, "%s: %s", path, what);
    return error;
}

/* Returns the last failure of @db, in SQLite's words except for failures that need an action. */
static const char *failure_of(sqlite3 *db)
{
    const int code = sqlite3_errcode(db), error = sqlite3_system_errno(db);
    if (code == SQLITE_BUSY)
        return "another program has locked this file. Find that program (fuser pawl.db), and end "
               "that program";
    if (code == SQLITE_FULL || (code == SQLITE_IOERR && (error == ENOSPC || error == EDQUOT)))
        return "the disk is full. Free space, then try again";
    return sqlite3_errmsg(db);
}

/* The system does not let us have what is at @path. */
static int cannot_use(char ret_why[static STORAGE_WHY_MAX], const char *path)
{
    (void)snprintf(ret_why, STORAGE_WHY_MAX,
                   "%s: %s. Give pawld a writable folder (--data), or create the parent folder",
                   path, strerror(errno));
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
    assert(!file->witness.open);
    char path[sizeof(file->path)];
    int pid = 0;
    (void)snprintf(path, sizeof(path), "%s/pawl.witness", folder);
    int error = storage_witness_open(path, &file->witness, &pid);
    if (error == FENCE_EBUSY)
        (void)snprintf(ret_why, STORAGE_WHY_MAX,
                       "%s: another pawld (process %d) serves from this folder. Stop that pawld "
                       "first, or give this pawld another folder (--data)",
                       folder, pid);
    else if (error)
        return cannot_use(ret_why, path);
    return error;
}

/* Creates the file before SQLite opens it: SQLite creates a file only when it writes, and removes
 * the log of an empty one. */
static int make_file(const char *path, struct storage_identity *identity,
                     char ret_why[static STORAGE_WHY_MAX])
{
    char log_path[STORAGE_FOLDER_MAX + 32];
    struct storage_look log;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return cannot_use(ret_why, path);
    close(fd);
    (void)snprintf(log_path, sizeof(log_path), "%s-wal", path);
    int error = storage_look_at(log_path, &log);
    identity->has_log = !error && log.bytes > 0;
    if (!error || error == FENCE_ENOENT)
        error = storage_look_at(path, &identity->look);
    return error ? cannot(ret_why, FENCE_EIO, path, strerror(errno)) : 0;
}

/* Leaves a refused file unchanged: SQLite would checkpoint its log when it closes the file. */
static void leave_log(struct storage_file *file, bool leaves)
{
    int code = sqlite3_db_config(file->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, (int)leaves, NULL);
    assert(code == SQLITE_OK);
}

static int open_database(struct storage_file *file, char ret_why[static STORAGE_WHY_MAX])
{
    assert(file->db == NULL);
    int code =
        sqlite3_open_v2(file->path, &file->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (code != SQLITE_OK)
        return cannot(ret_why, FENCE_EIO, file->path,
                      file->db ? failure_of(file->db) : "out of memory");
    sqlite3_busy_timeout(file->db, BUSY_MS);
    leave_log(file, true);
    return 0;
}

/* ---- what is found ------------------------------------------------------------------------ */

static int identify_tables(struct storage_file *file, struct storage_identity *identity,
                           char ret_why[static STORAGE_WHY_MAX])
{
    int error = 0;
    int64_t application = storage_tables_number(file->db, "PRAGMA application_id", &error);
    int64_t version = storage_tables_number(file->db, "PRAGMA user_version", &error);
    identity->has_tables =
        storage_tables_number(file->db, "SELECT count(*) FROM sqlite_schema", &error) > 0;
    if (!error && identity->has_tables && !storage_tables_are_ours(application))
        return cannot(ret_why, FENCE_EIO, file->path,
                      "this file does not belong to pawld. Give pawld another folder (--data)");
    if (!error && version > 1)
        return cannot(ret_why, FENCE_EIO, file->path,
                      "a newer version of pawld created this file. Use that version");
    if (!error && identity->has_tables)
        storage_tables_read(file->db, identity, &error);
    return error ? cannot(ret_why, FENCE_EIO, file->path, failure_of(file->db)) : 0;
}

/* A file of 0 bytes goes to the judge before SQLite reads it. */
static int identify(struct storage_file *file, struct storage_identity *identity,
                    char ret_why[static STORAGE_WHY_MAX])
{
    int error = make_file(file->path, identity, ret_why);
    if (!error)
        error = open_database(file, ret_why);
    if (error || identity->look.bytes == 0)
        return error;
    error = storage_tables_read_base(file->path, identity);
    if (error)
        return cannot(ret_why, error, file->path, "it cannot be read");
    return identify_tables(file, identity, ret_why);
}

static int gather_evidence(const struct storage_file_config *config, struct storage_file *file,
                           struct storage_evidence *evidence, char ret_why[static STORAGE_WHY_MAX])
{
    const struct storage_witness *witness = &file->witness;
    int error = identify(file, &evidence->file, ret_why);
    if (error)
        return error;
    if (storage_witness_boot(evidence->boot_id) != 0)
        return cannot(ret_why, FENCE_EIO, config->folder, "the kernel does not report its boot id");
    if (storage_witness_clock(evidence->boot_id, evidence->clock_id) != 0)
        return cannot(ret_why, FENCE_EIO, config->folder,
                      "the kernel does not report the offset of the boot clock "
                      "(/proc/self/timens_offsets)");
    evidence->version = witness->version;
    evidence->seen = witness->seen;
    evidence->witness = witness->found;
    const char *file_id =
        evidence->file.has_tables ? evidence->file.file_id : evidence->seen.file_id;
    evidence->has_record = storage_record_read(file_id, &evidence->record);
    evidence->is_anothers = !evidence->has_record && storage_record_is_anothers(file_id);
    evidence->replaced = evidence->has_record && evidence->record.replaced != 0 &&
                         storage_record_is_of(&evidence->record, config->folder);
    return 0;
}

/* ---- taking it up ------------------------------------------------------------------------- */

static int refuse_retired(const char *folder, char ret_why[static STORAGE_WHY_MAX])
{
    (void)snprintf(
        ret_why, STORAGE_WHY_MAX,
        "%s: the fleet in this folder was moved to other masters (pawld move). Start pawld with "
        "the new masters (--master). If the move was interrupted, run the move again",
        folder);
    return FENCE_ECONFLICT;
}

static void random_hex(char *ret_text, size_t digits)
{
    unsigned char random[FENCE_ID_HEX_LEN / 2];
    assert(digits / 2 <= sizeof(random));
    randombytes_buf(random, digits / 2);
    sodium_bin2hex(ret_text, digits + 1, random, digits / 2);
}

/* Notes the counts in the witness before the file is written for the first time, or taken over: one
 * opening. If the opening breaks off, no later start takes the rest for a new file. */
static void begin_witness(struct storage_witness *witness, const struct storage_evidence *evidence,
                          bool takes_over)
{
    struct storage_seen *seen = &witness->seen;
    bool goes_on = seen->magic[0] != '\0' && seen->openings == 0;
    if (!goes_on)
        random_hex(seen->file_id, STORAGE_FILE_ID_LEN);
    seen->openings = takes_over;
    seen->commits = 0;
    seen->base_commits = 0;
    seen->base_unsure = 0;
    seen->checkpointing = 1; /* SQLite writes to a new file by itself */
    storage_witness_see(witness, &evidence->file.look);
}

/* Notes a change that the witness missed in a crash, so that it never misses more than the last
 * one. */
static void catch_up(struct storage_witness *witness, const struct storage_identity *identity)
{
    witness->seen.openings = identity->openings;
    witness->seen.commits = identity->commits;
    storage_witness_see(witness, &identity->look);
}

static int write_witness(struct storage_file *file, const struct storage_evidence *evidence)
{
    assert(evidence->boot_id[0] != '\0');
    struct storage_seen *seen = &file->witness.seen;
    memset(seen->magic, 0, sizeof(seen->magic));
    memcpy(seen->magic, STORAGE_WITNESS_MAGIC, sizeof(STORAGE_WITNESS_MAGIC));
    memcpy(seen->boot_id, evidence->boot_id, sizeof(seen->boot_id));
    seen->pid = getpid();
    seen->clean = 0;
    seen->foreign_clock = 0; /* the folder may be on another file system now */
    return storage_witness_sync(&file->witness);
}

/* Marks the records of the databases that a new one replaces. */
static void replace_records(const struct storage_evidence *evidence, const char *folder,
                            const char *file_id)
{
    assert(file_id[0] != '\0');
    const char *const ids[] = {evidence->file.file_id, evidence->seen.file_id};
    for (unsigned i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
        if (ids[i][0] != '\0' && strcmp(ids[i], file_id) != 0)
            storage_record_replace(ids[i], folder);
}

static int accept(const struct storage_file_config *config, struct storage_file *file,
                  const struct storage_evidence *evidence, bool kept,
                  char ret_why[static STORAGE_WHY_MAX])
{
    const struct storage_identity *identity = &evidence->file;
    assert(!kept || identity->has_tables);
    assert(file->record < 0);
    if (kept)
        catch_up(&file->witness, identity);
    else
        begin_witness(&file->witness, evidence, config->takes_over);
    if (write_witness(file, evidence) != 0 || sync_folder(config->folder) != 0)
        return cannot(ret_why, FENCE_EIO, config->folder, strerror(errno));
    storage_record_sweep();
    if (kept)
        file->record = storage_record_keep(identity->file_id, config->folder, identity->openings,
                                           identity->commits);
    else
        replace_records(evidence, config->folder, file->witness.seen.file_id);
    return 0;
}

/* Some file systems lack what the log needs. */
static int make_durable(struct storage_file *file, char ret_why[static STORAGE_WHY_MAX])
{
    int error = storage_sql_exec(file->db, settings);
    bool durable = !error && storage_tables_number(file->db, is_durable, &error) == 1;
    if (error)
        return cannot(ret_why, error, file->path, failure_of(file->db));
    return durable ? 0
                   : cannot(ret_why, FENCE_EIO, file->path,
                            "SQLite cannot create a write-ahead log in this folder. Give pawld a "
                            "folder on a local disk (--data)");
}

/* Data that are only in the log are lost with the log. So the tables go to the database at once,
 * and so does the rest of an interrupted checkpoint. */
static int witness_opening(struct storage_file *file, const struct storage_file_config *config,
                           const struct storage_identity *now, bool kept)
{
    struct storage_seen *seen = &file->witness.seen;
    seen->openings = now->openings;
    seen->commits = now->commits;
    bool incomplete = seen->checkpointing || seen->base_unsure || !now->base_known;
    int error = storage_file_bring_in(file, !kept || incomplete);
    if (!error && file->record < 0)
        file->record =
            storage_record_keep(now->file_id, config->folder, now->openings, now->commits);
    storage_record_note(file->record, now->openings, now->commits);
    return error;
}

/* Precondition: the file is trusted, or is taken over. */
static int write_opening(const struct storage_file_config *config, struct storage_file *file,
                         struct storage_evidence *evidence, bool kept,
                         char ret_why[static STORAGE_WHY_MAX])
{
    struct storage_identity *identity = &evidence->file;
    const struct storage_opening opening = {
        .file_id = file->witness.seen.file_id,
        .clock_id = evidence->clock_id,
        .makes_tables = !identity->has_tables,
        .takes_over = config->takes_over,
    };
    int error = make_durable(file, ret_why);
    if (error)
        return error;
    error = storage_tables_open(file->db, &opening);
    if (!error)
        storage_tables_read(file->db, identity, &error);
    if (error)
        return cannot(ret_why, error, file->path, failure_of(file->db));
    error = witness_opening(file, config, identity, kept);
    return error ? cannot(ret_why, error, config->folder, strerror(errno)) : 0;
}

static int take_up(const struct storage_file_config *config, struct storage_file *file,
                   struct storage_evidence *evidence, char ret_why[static STORAGE_WHY_MAX])
{
    enum storage_trust trust = storage_detect_restored_file(evidence);
    bool kept = trust == STORAGE_TRUST_KEPT && !config->takes_over;
    bool trusted = trust == STORAGE_TRUST_KEPT || trust == STORAGE_TRUST_NEW;
    if (trusted && evidence->file.retired && !config->moves && !config->takes_over)
        return refuse_retired(config->folder, ret_why);
    if (!trusted && !config->takes_over)
        return storage_explain_restored_file(evidence, trust, config->folder, ret_why);
    int error = accept(config, file, evidence, kept, ret_why);
    return error ? error : write_opening(config, file, evidence, kept, ret_why);
}

/* ---- opening ------------------------------------------------------------------------------ */

static bool is_on_disk(const char *folder)
{
    struct statfs found;
    return statfs(folder, &found) != 0 ||
           (found.f_type != TMPFS_MAGIC && found.f_type != RAMFS_MAGIC);
}

static int set_up_state(const struct storage_file_config *config, const struct storage_file *file,
                        const struct storage_identity *identity, struct storage_state *state,
                        char ret_why[static STORAGE_WHY_MAX])
{
    assert(config->members >= 1 && config->members <= FENCE_MASTERS_MAX);
    assert(config->me < config->members);
    memset(state, 0, sizeof(*state));
    state->turn.store = &storage_rows;
    state->turn.members = config->members;
    state->turn.me = config->me;
    state->turn.durable = is_on_disk(config->folder);
    state->commits = identity->commits;
    random_hex(state->server_id, FENCE_ID_HEX_LEN);
    int error = storage_state_open(state, file->db);
    return error ? cannot(ret_why, error, file->path, failure_of(file->db)) : 0;
}

/* Reports whether the file never belonged to a fleet, and was never meant to continue one. A
 * bootstrap of a new fleet that broke off leaves such a mark. */
static int find_new(struct storage_file *file, char ret_why[static STORAGE_WHY_MAX])
{
    int error = 0;
    int64_t used = storage_tables_number(
        file->db,
        "SELECT (SELECT taken_over FROM file) + (SELECT count(*) FROM counter) "
        "+ (SELECT count(*) FROM named) + (SELECT count(*) FROM lock)",
        &error);
    int64_t marked = storage_tables_number(file->db, "SELECT count(*) FROM marker", &error);
    int64_t finished = storage_tables_number(
        file->db, "SELECT count(*) FROM marker WHERE active OR mark <> " MARK_NEW, &error);
    file->ttl_max_ms = (uint32_t)storage_tables_number(
        file->db, "SELECT coalesce(max(ttl_max_ms), 0) FROM marker", &error);
    file->extensions_max = (uint32_t)storage_tables_number(
        file->db, "SELECT coalesce(max(extensions_max), 0) FROM marker", &error);
    file->readers = (uint32_t)storage_tables_number(
        file->db, "SELECT coalesce(max(readers), 0) FROM marker", &error);
    file->is_new = used == 0 && finished == 0;
    file->needs_floor = used != 0 && marked == 0;
    return error ? cannot(ret_why, error, file->path, failure_of(file->db)) : 0;
}

/* SQLite reports the length of the log after each commit. */
static int on_commit(void *context, sqlite3 *db, const char *name, int pages)
{
    struct storage_file *file = context;
    assert(db == file->db && pages >= 0);
    (void)name;
    file->log_pages = (unsigned)pages;
    return SQLITE_OK;
}

int storage_file_open(const struct storage_file_config *config, struct storage_file *ret_file,
                      struct storage_state *state, char ret_why[static STORAGE_WHY_MAX])
{
    struct storage_file file = {.record = -1};
    struct storage_evidence evidence = {0};
    int error = make_folder(config->folder, ret_why);
    if (error)
        return error;
    (void)snprintf(file.path, sizeof(file.path), "%s/pawl.db", config->folder);
    error = open_witness(config->folder, &file, ret_why);
    if (error)
        return error;
    error = gather_evidence(config, &file, &evidence, ret_why);
    if (!error)
        error = take_up(config, &file, &evidence, ret_why);
    if (!error)
        error = find_new(&file, ret_why);
    if (!error)
        error = set_up_state(config, &file, &evidence.file, state, ret_why);
    if (!error && storage_file_know_log(&file) != 0)
        error = cannot(ret_why, FENCE_EIO, file.path, "its log (pawl.db-wal) cannot be found");
    if (error) {
        (void)sqlite3_close(file.db);
        if (file.record >= 0)
            close(file.record);
        storage_witness_close(&file.witness);
        return error;
    }
    leave_log(&file, false);
    *ret_file = file;
    sqlite3_wal_hook(ret_file->db, on_commit, ret_file);
    return 0;
}
