/* The judge of a file: what the evidence may be, and what follows. */
#include "storage/sqlite/detect_restored_file.h"
#include "tests/lib/case.h"

#include <string.h>

#define SECOND INT64_C(1000000000)
#define NOTED  (INT64_C(1700000000) * SECOND)
#define MADE   (NOTED - 500 * SECOND)

#define FILE_ID    "0123456789abcdef0123456789abcdef"
#define SAME_BOOT  "6f0c5a6e-0000-4000-8000-000000000001"
#define OTHER_BOOT "6f0c5a6e-0000-4000-8000-000000000002"

/* A file that is what its witness and its record saw. */
static const struct storage_evidence usual = {
    .file =
        {
            .has_tables = true,
            .has_log = true,
            .file_id = FILE_ID,
            .openings = 3,
            .commits = 40,
            .committed_ns = NOTED,
            .base_known = true,
            .base_commits = 20,
            .look = {.inode = 12,
                     .born_ns = MADE,
                     .written_ns = MADE + 5,
                     .changed_ns = MADE + 5,
                     .owner = 1000,
                     .mode = 0100600,
                     .links = 1,
                     .bytes = 4096},
        },
    .version = STORAGE_WITNESS_2,
    .seen =
        {
            .magic = STORAGE_WITNESS_MAGIC,
            .file_id = FILE_ID,
            .boot_id = SAME_BOOT,
            .inode = 12,
            .born_ns = MADE,
            .openings = 3,
            .commits = 40,
            .written_ns = MADE + 5,
            .noted_ns = NOTED,
            .synced_ns = NOTED - 3000 * SECOND,
            .owner = 1000,
            .mode = 0100600,
            .links = 1,
            .changed_ns = MADE + 5,
            .base_commits = 20,
        },
    .witness = {.written_ns = NOTED, .changed_ns = NOTED},
    .has_record = true,
    .record = {.openings = 3, .commits = 40},
    .boot_id = SAME_BOOT,
};

/* The text of a case: the evidence is changed, then judged. */
static struct storage_evidence now;

static int begin(void **state)
{
    now = usual;
    return 0;
}

static void forget_record(void)
{
    now.has_record = false;
    memset(&now.record, 0, sizeof(now.record));
}

/* And with the boot, the record. */
static void restart(void)
{
    memcpy(now.boot_id, OTHER_BOOT, sizeof(now.boot_id));
    forget_record();
}

#define EXPECT(trust) assert_int_equal(storage_detect_restored_file(&now), STORAGE_TRUST_##trust)

static void file_that_is_what_its_witness_saw_is_trusted(void **state)
{
    EXPECT(KEPT);
    forget_record();
    EXPECT(KEPT);
    restart();
    EXPECT(KEPT);
}

/* A process that is killed may have committed one turn that is not noted. */
static void witness_may_have_missed_one_commit(void **state)
{
    now.file.commits++;
    EXPECT(KEPT);
    now.file.openings++;
    EXPECT(KEPT);
    forget_record();
    EXPECT(KEPT);
}

/* A machine that crashes may lose what was written to the witness since it was last on the disk. */
static void witness_may_have_missed_more_only_if_the_machine_crashed(void **state)
{
    now.file.commits += 2;
    EXPECT(CHANGED);
    forget_record();
    EXPECT(CHANGED);
    restart();
    EXPECT(KEPT);
    now = usual;
    now.file.openings += 2;
    EXPECT(CHANGED);
}

/* The data and the ctime of the witness reach the disk apart. */
static void crash_may_keep_an_older_or_newer_ctime_of_the_witness(void **state)
{
    restart();
    now.witness.changed_ns = usual.seen.synced_ns;
    EXPECT(KEPT);
    now.witness.changed_ns = usual.seen.synced_ns - 3 * SECOND;
    EXPECT(PUT_BACK);
    now.file.commits += 100; /* the last of them an hour after the note that is there */
    now.file.committed_ns = NOTED + 3600 * SECOND;
    now.witness.changed_ns = now.file.committed_ns + 30 * SECOND; /* so long took its fsync */
    EXPECT(KEPT);
    now.witness.changed_ns = now.file.committed_ns + 61 * SECOND;
    EXPECT(PUT_BACK);
}

static void clean_close_keeps_the_ctime_of_the_witness_over_a_boot(void **state)
{
    restart();
    now.seen.clean = 1;
    EXPECT(KEPT);
    now.witness.changed_ns = NOTED + 2 * SECOND;
    EXPECT(PUT_BACK);
    now.witness.changed_ns = usual.seen.synced_ns;
    EXPECT(PUT_BACK);
}

static void crash_may_lose_the_last_times_of_the_database(void **state)
{
    now.file.look.written_ns--;
    EXPECT(WRITTEN);
    now.file.look.changed_ns--;
    restart();
    EXPECT(KEPT);
    now.file.look.written_ns += 2;
    EXPECT(WRITTEN);
    now.file.look.written_ns = usual.file.look.written_ns;
    now.file.look.changed_ns += 2;
    EXPECT(WRITTEN);
}

/* chown -R, chmod and a backup by hard links, of a folder whose pawld is stopped. */
static void change_of_attributes_is_forgiven_by_the_record(void **state)
{
    const struct storage_look *look = &usual.file.look;
    const struct storage_look others[] = {
        {.owner = look->owner + 1, .group = look->group, .mode = look->mode, .links = 1},
        {.owner = look->owner, .group = look->group + 1, .mode = look->mode, .links = 1},
        {.owner = look->owner, .group = look->group, .mode = look->mode | 040, .links = 1},
        {.owner = look->owner, .group = look->group, .mode = look->mode, .links = 2},
    };
    for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        now = usual;
        now.witness.changed_ns = now.file.look.changed_ns = NOTED + 100 * SECOND;
        now.file.look.owner = others[i].owner;
        now.file.look.group = others[i].group;
        now.file.look.mode = others[i].mode;
        now.file.look.links = others[i].links;
        EXPECT(KEPT);
        forget_record();
        EXPECT(PUT_BACK);
    }
}

static void chown_to_the_same_owner_is_forgiven_by_the_record(void **state)
{
    now.witness.changed_ns = now.file.look.changed_ns = NOTED + 100 * SECOND;
    EXPECT(KEPT);
    now.file.look.changed_ns += 3 * SECOND; /* that is another program's write */
    EXPECT(WRITTEN);
    now.file.look.changed_ns = now.witness.changed_ns = NOTED + SECOND / 5; /* at once */
    EXPECT(KEPT);
    forget_record();
    EXPECT(WRITTEN);
}

/* pawld wrote its note at that moment too: the note has its two times, and chown sets one alone. */
static void write_at_the_moment_of_a_note_is_not_forgiven(void **state)
{
    now.file.look.changed_ns = NOTED - SECOND / 20;
    EXPECT(WRITTEN);
    now.file.look.changed_ns = NOTED + SECOND / 20;
    EXPECT(WRITTEN);
}

static void ctime_of_the_database_alone_is_not_forgiven(void **state)
{
    now.file.look.changed_ns = NOTED + 100 * SECOND;
    EXPECT(WRITTEN);
    forget_record();
    EXPECT(WRITTEN);
    now.file.look.mode |= 040;
    EXPECT(WRITTEN);
    now.has_record = true;
    now.record = usual.record;
    EXPECT(KEPT);
}

static void file_without_a_record_is_forgiven_nothing(void **state)
{
    forget_record();
    now.file.openings = now.seen.openings = 1;
    now.file.commits = now.seen.commits = 1;
    now.file.base_commits = now.seen.base_commits = 1;
    EXPECT(KEPT);
    now.witness.changed_ns = NOTED + 2 * SECOND;
    EXPECT(PUT_BACK);
}

/* NFS and FUSE take times from a server's clock. */
static void ctime_of_a_foreign_clock_is_not_judged(void **state)
{
    forget_record();
    now.witness.changed_ns = NOTED + 7000 * SECOND;
    EXPECT(PUT_BACK);
    now.seen.foreign_clock = 1;
    EXPECT(KEPT);
}

/* An upgrade of pawld refuses nothing. */
static void witness_of_version_1_is_judged_by_what_it_has(void **state)
{
    struct storage_seen *seen = &now.seen;
    now.version = STORAGE_WITNESS_1;
    forget_record();
    seen->noted_ns = seen->synced_ns = seen->changed_ns = 0;
    seen->owner = seen->mode = seen->links = 0;
    seen->base_commits = 0;
    EXPECT(KEPT);
    now.file.look.written_ns++;
    EXPECT(WRITTEN);
    now.file.look.written_ns--;
    now.file.commits--;
    EXPECT(OLDER);
}

static void make_blank(void)
{
    const struct storage_look look = {.inode = 12, .born_ns = MADE};
    memset(&now.file, 0, sizeof(now.file));
    now.file.look = look;
    forget_record();
}

static void lose_witness(void)
{
    now.version = STORAGE_WITNESS_NONE;
    memset(&now.seen, 0, sizeof(now.seen));
    forget_record();
}

static void empty_file_is_new_unless_there_was_one(void **state)
{
    make_blank();
    EXPECT(REMOVED);
    now.seen.openings = 0;
    EXPECT(NEW);
    lose_witness();
    EXPECT(NEW);
    now.file.has_log = true;
    EXPECT(NO_LOG);
}

/* Until its first checkpoint a file of an earlier pawld had its tables in its log alone. */
static void file_without_tables_is_new_only_to_a_witness_that_saw_no_opening(void **state)
{
    make_blank();
    now.file.look.bytes = 4096;
    EXPECT(NO_LOG);
    now.seen.openings = 0;
    EXPECT(NEW);
    lose_witness();
    EXPECT(NO_LOG);
}

static void start_of_a_file_that_was_put_back_is_not_new(void **state)
{
    make_blank();
    now.seen.openings = 0;
    now.witness.changed_ns = NOTED + 2 * SECOND;
    EXPECT(PUT_BACK);
    now.witness.changed_ns = NOTED;
    now.has_record = true;
    now.record.openings = 1;
    EXPECT(OLDER);
}

static void file_without_a_witness_is_a_copy(void **state)
{
    lose_witness();
    EXPECT(COPIED);
}

static void file_of_another_id_is_another_one(void **state)
{
    now.file.file_id[0] = 'f';
    EXPECT(OTHER);
}

static void file_on_another_inode_is_a_copy(void **state)
{
    now.file.look.inode++;
    EXPECT(COPIED);
    now = usual;
    restart();
    now.file.look.born_ns++; /* a file system gives numbers of inodes again */
    EXPECT(COPIED);
}

static void file_that_lacks_what_was_seen_was_put_back(void **state)
{
    for (unsigned i = 0; i < 3; i++) {
        now = usual;
        if (i == 1)
            forget_record();
        if (i == 2)
            restart();
        now.file.commits--;
        EXPECT(OLDER);
        now.file.commits++;
        now.file.openings--;
        EXPECT(OLDER);
    }
}

/* A snapshot of a file system brings back all files with their inodes and times. */
static void file_that_lacks_what_was_recorded_was_put_back(void **state)
{
    now.record.commits++;
    EXPECT(OLDER);
    now.record.commits--;
    now.record.openings++;
    EXPECT(OLDER);
}

/* Another container on this machine has another /dev/shm. */
static void record_that_is_older_than_the_file_proves_nothing(void **state)
{
    now.record.commits = 7;
    now.record.openings = 1;
    EXPECT(KEPT);
    now.witness.changed_ns += 2 * SECOND;
    EXPECT(PUT_BACK);
}

static void file_that_a_floor_replaced_is_refused(void **state)
{
    now.replaced = true;
    EXPECT(REPLACED);
}

/* The log replays over any file. A page that the log lacks is the older file's then. */
static void database_that_is_older_than_its_log_is_refused(void **state)
{
    now.file.base_commits--;
    EXPECT(OLDER);
    now.seen.checkpointing = 1;
    EXPECT(OLDER);
    now = usual;
    now.file.base_known = false;
    EXPECT(OLDER);
}

static void checkpoint_that_broke_off_may_leave_an_unreadable_database(void **state)
{
    now.file.base_known = false;
    now.seen.checkpointing = 1;
    EXPECT(KEPT);
    now.seen.checkpointing = 0;
    now.seen.base_unsure = 1;
    EXPECT(KEPT);
}

static void checkpoint_that_broke_off_leaves_times_that_are_its_own(void **state)
{
    now.seen.checkpointing = 1;
    now.file.look.written_ns = now.file.look.changed_ns = NOTED + 2 * SECOND;
    EXPECT(KEPT);
    now.file.look.changed_ns = NOTED + 601 * SECOND;
    EXPECT(WRITTEN);
}

static void witness_that_was_put_back_with_its_file_is_refused(void **state)
{
    forget_record();
    now.witness.changed_ns = NOTED + SECOND / 2;
    EXPECT(KEPT);
    now.witness.changed_ns = NOTED + 3 * SECOND / 2;
    EXPECT(PUT_BACK);
    now.witness.changed_ns = NOTED - 5 * SECOND / 2; /* or the clock was set back meanwhile */
    EXPECT(PUT_BACK);
}

static void witness_that_cannot_be_read_is_refused(void **state)
{
    now.version = STORAGE_WITNESS_UNKNOWN;
    EXPECT(UNREADABLE);
    make_blank();
    EXPECT(UNREADABLE);
}

#define TRUST_CASE(name) cmocka_unit_test_setup(name, begin)

static const struct CMUnitTest cases[] = {
    TRUST_CASE(file_that_is_what_its_witness_saw_is_trusted),
    TRUST_CASE(witness_may_have_missed_one_commit),
    TRUST_CASE(witness_may_have_missed_more_only_if_the_machine_crashed),
    TRUST_CASE(crash_may_keep_an_older_or_newer_ctime_of_the_witness),
    TRUST_CASE(clean_close_keeps_the_ctime_of_the_witness_over_a_boot),
    TRUST_CASE(crash_may_lose_the_last_times_of_the_database),
    TRUST_CASE(change_of_attributes_is_forgiven_by_the_record),
    TRUST_CASE(chown_to_the_same_owner_is_forgiven_by_the_record),
    TRUST_CASE(write_at_the_moment_of_a_note_is_not_forgiven),
    TRUST_CASE(ctime_of_the_database_alone_is_not_forgiven),
    TRUST_CASE(file_without_a_record_is_forgiven_nothing),
    TRUST_CASE(ctime_of_a_foreign_clock_is_not_judged),
    TRUST_CASE(witness_of_version_1_is_judged_by_what_it_has),
    TRUST_CASE(empty_file_is_new_unless_there_was_one),
    TRUST_CASE(file_without_tables_is_new_only_to_a_witness_that_saw_no_opening),
    TRUST_CASE(start_of_a_file_that_was_put_back_is_not_new),
    TRUST_CASE(file_without_a_witness_is_a_copy),
    TRUST_CASE(file_of_another_id_is_another_one),
    TRUST_CASE(file_on_another_inode_is_a_copy),
    TRUST_CASE(file_that_lacks_what_was_seen_was_put_back),
    TRUST_CASE(file_that_lacks_what_was_recorded_was_put_back),
    TRUST_CASE(record_that_is_older_than_the_file_proves_nothing),
    TRUST_CASE(file_that_a_floor_replaced_is_refused),
    TRUST_CASE(database_that_is_older_than_its_log_is_refused),
    TRUST_CASE(checkpoint_that_broke_off_may_leave_an_unreadable_database),
    TRUST_CASE(checkpoint_that_broke_off_leaves_times_that_are_its_own),
    TRUST_CASE(witness_that_was_put_back_with_its_file_is_refused),
    TRUST_CASE(witness_that_cannot_be_read_is_refused),
};

CASE_MAIN(cases, NULL, NULL)
