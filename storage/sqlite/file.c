#include "storage/sqlite/file.h"

#include "storage/sqlite/tables.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    CHECKPOINT_PAGES = 1000, /* pages in the log, since the last one */
};

/* ---- moving a fleet -------------------------------------------------------------------------- */

int storage_file_highest(const struct storage_file *file, int64_t *ret_highest)
{
    int error = 0;
    int64_t whole =
        storage_tables_number(file->db,
                              "SELECT count(*) FROM marker, file WHERE retired OR (active AND "
                              "marker.lineage = file.lineage)",
                              &error);
    int64_t counter = storage_tables_number(file->db, STORAGE_HIGHEST_TEXT, &error);
    int64_t floor =
        storage_tables_number(file->db, "SELECT coalesce(max(floor), 0) FROM marker", &error);
    if (error)
        return error;
    if (whole == 0)
        return FENCE_ENOENT;
    *ret_highest = counter > floor ? counter : floor;
    return 0;
}

/* The lineage of a retired file belongs to no marker, and names the fleet that follows. */
int storage_file_retire(struct storage_file *file, const char *follower)
{
    assert(follower[0] != '\0' && strlen(follower) <= FENCE_ID_HEX_LEN);
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
    struct storage_seen *seen = &file->witness.seen;
    seen->commits = commits;
    storage_record_note(file->record, seen->openings, commits);
    int unseen = storage_witness_note(&file->witness); /* on failure the next start refuses the
                                                        * file */
    (void)unseen;
}

/* Reports whether only attributes changed. A change of owner, mode or links is no write, but gives
 * the database another ctime. */
static bool was_only_changed(const struct storage_seen *seen, const struct storage_look *look)
{
    const struct storage_look then = {
        .owner = seen->owner, .group = seen->group, .mode = seen->mode, .links = seen->links};
    return !storage_look_same_attributes(look, &then);
}

static int look_at_database(struct storage_file *file)
{
    assert(file->path[0] != '\0' && file->witness.open);
    const struct storage_seen *seen = &file->witness.seen;
    struct storage_look look;
    int error = storage_look_at(file->path, &look);
    if (error)
        return error == FENCE_ENOENT ? FENCE_ECONFLICT : FENCE_EIO;
    storage_witness_look_after(&file->witness);
    if (look.inode != seen->inode || look.born_ns != seen->born_ns)
        return FENCE_ECONFLICT;
    if (seen->checkpointing)
        return 0;
    if (look.written_ns != seen->written_ns)
        return FENCE_ECONFLICT;
    if (look.changed_ns == seen->changed_ns)
        return 0;
    if (!was_only_changed(seen, &look))
        return FENCE_ECONFLICT;
    storage_witness_see(&file->witness, &look);
    return storage_witness_sync(&file->witness);
}

static int open_log(const struct storage_file *file)
{
    char path[sizeof(file->path) + sizeof("-wal")];
    (void)snprintf(path, sizeof(path), "%s-wal", file->path);
    return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO must not block */
}

int storage_file_know_log(struct storage_file *file)
{
    struct storage_look log;
    const int fd = open_log(file);
    if (fd < 0)
        return FENCE_EIO;
    const int error = storage_look_into(fd, &log);
    close(fd); /* drops no lock: SQLite locks the other two files */
    if (!error)
        file->log_inode = log.inode;
    return error;
}

/* A log that was emptied gets its pages at their old places, behind a hole. */
static bool has_head(int fd)
{
    static const unsigned char magic[] = {0x37, 0x7f, 0x06}; /* then the order of bytes */
    unsigned char head[sizeof(magic)];
    return pread(fd, head, sizeof(head), 0) == sizeof(head) &&
           memcmp(head, magic, sizeof(magic)) == 0;
}

/* Pages that are in the database too need no log: a checkpoint of another program may empty it. */
static int look_at_log(const struct storage_file *file)
{
    struct storage_look log;
    const int fd = open_log(file);
    if (fd < 0)
        return errno == ENOENT ? FENCE_ENOENT : 0; /* too many open files prove nothing */
    const bool is_other = storage_look_into(fd, &log) != 0 || log.inode != file->log_inode;
    const bool is_in_database = file->log_pages == file->checkpointed_pages &&
                                (file->log_pages == 0 || !file->witness.seen.base_unsure);
    const bool is_whole = is_in_database || has_head(fd);
    close(fd);
    if (is_other)
        return FENCE_ENOENT;
    return is_whole ? 0 : FENCE_ECONFLICT;
}

int storage_file_look(struct storage_file *file)
{
    int error = look_at_database(file);
    return error ? error : look_at_log(file);
}

/* ---- checkpoints -------------------------------------------------------------------------- */

/* Between the two notes it is unknown when the database was written to last. One that somebody
 * else wrote to is left as it is, so that the next look and the next start see that. A log that was
 * emptied would bring zeros into the database. */
static bool begin_checkpoint(struct storage_file *file)
{
    if (look_at_database(file) != 0 || look_at_log(file) == FENCE_ECONFLICT)
        return false;
    file->witness.seen.checkpointing = 1;
    return storage_witness_sync(&file->witness) == 0;
}

/* If a program that reads the file blocks the checkpoint, the log keeps the missing pages. */
static void checkpoint(struct storage_file *file)
{
    struct storage_seen *seen = &file->witness.seen;
    int log = -1, brought_in = -1;
    int code =
        sqlite3_wal_checkpoint_v2(file->db, NULL, SQLITE_CHECKPOINT_PASSIVE, &log, &brought_in);
    seen->base_unsure = code != SQLITE_OK || log < 0 || log != brought_in;
    if (!seen->base_unsure)
        seen->base_commits = seen->commits;
}

static int end_checkpoint(struct storage_file *file)
{
    struct storage_look look;
    int error = storage_look_at(file->path, &look);
    if (error)
        return FENCE_EIO;
    storage_witness_see(&file->witness, &look);
    file->witness.seen.checkpointing = 0;
    return storage_witness_sync(&file->witness);
}

int storage_file_bring_in(struct storage_file *file, bool checkpoints)
{
    assert(file->witness.open && file->db != NULL);
    if (checkpoints)
        checkpoint(file);
    return end_checkpoint(file);
}

void storage_file_checkpoint(struct storage_file *file)
{
    if (file->log_pages < file->checkpointed_pages)
        file->checkpointed_pages = 0; /* the log restarted */
    if (file->log_pages < file->checkpointed_pages + CHECKPOINT_PAGES || !begin_checkpoint(file))
        return;
    /* If it fails, for instance on a full disk, the log grows: the next checkpoint has more to
     * do. */
    checkpoint(file);
    file->checkpointed_pages = file->log_pages;
    int unseen = end_checkpoint(file); /* on failure the next start accepts any time */
    (void)unseen;
}

void storage_file_close(struct storage_file *file, struct storage_state *state)
{
    assert(file->witness.open && file->db != NULL);
    storage_state_close(state);
    bool begun = begin_checkpoint(file);
    if (begun)
        checkpoint(file);
    int code = sqlite3_db_config(file->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, (int)!begun, NULL);
    assert(code == SQLITE_OK);
    code = sqlite3_close(file->db);
    assert(code == SQLITE_OK);
    file->witness.seen.clean = 1;
    int unsure = begun ? end_checkpoint(file) : storage_witness_sync(&file->witness);
    (void)unsure; /* on failure the next start asks for less, and accepts any time */
    if (file->record >= 0)
        close(file->record);
    storage_witness_close(&file->witness);
}
