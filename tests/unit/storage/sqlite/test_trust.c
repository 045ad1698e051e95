#include "storage/sqlite/trust.h"
#include "tests/lib/case.h"

#include <string.h>

/* A file that is what its witness saw. */
static const struct storage_identity usual = {
    .file_id = "0123456789abcdef0123456789abcdef",
    .openings = 3,
    .commits = 40,
    .look = {.inode = 12, .born_ns = 1700000000000000000, .written_ns = 1700000000000000500},
};
static const struct storage_seen usual_seen = {
    .magic = STORAGE_WITNESS_MAGIC,
    .file_id = "0123456789abcdef0123456789abcdef",
    .boot_id = "6f0c5a6e-0000-4000-8000-000000000001",
    .inode = 12,
    .born_ns = 1700000000000000000,
    .openings = 3,
    .commits = 40,
    .written_ns = 1700000000000000500,
};

#define SAME_BOOT  usual_seen.boot_id
#define OTHER_BOOT "6f0c5a6e-0000-4000-8000-000000000002"

static enum storage_trust judge(const struct storage_identity *file,
                                const struct storage_seen *seen, const char *boot_id)
{
    return storage_trust_judge(file, seen, false, boot_id);
}

static void file_that_is_what_its_witness_saw_is_trusted(void **state)
{
    (void)state;
    assert_int_equal(judge(&usual, &usual_seen, SAME_BOOT), STORAGE_TRUST_KEPT);
    assert_int_equal(judge(&usual, &usual_seen, OTHER_BOOT), STORAGE_TRUST_KEPT);
}

static void blank_file_is_new_unless_there_was_one(void **state)
{
    (void)state;
    const struct storage_identity blank = {.blank = true};
    struct storage_seen never_opened = usual_seen;
    never_opened.openings = 0;
    assert_int_equal(storage_trust_judge(&blank, &usual_seen, true, SAME_BOOT), STORAGE_TRUST_NEW);
    assert_int_equal(judge(&blank, &never_opened, SAME_BOOT), STORAGE_TRUST_NEW);
    assert_int_equal(judge(&blank, &usual_seen, SAME_BOOT), STORAGE_TRUST_REMOVED);
}

static void file_without_a_witness_is_a_copy(void **state)
{
    (void)state;
    assert_int_equal(storage_trust_judge(&usual, &usual_seen, true, SAME_BOOT),
                     STORAGE_TRUST_COPIED);
}

static void file_of_another_id_is_another_one(void **state)
{
    (void)state;
    struct storage_identity file = usual;
    file.file_id[0] = 'f';
    assert_int_equal(judge(&file, &usual_seen, SAME_BOOT), STORAGE_TRUST_OTHER);
}

static void file_on_another_inode_is_a_copy(void **state)
{
    (void)state;
    struct storage_identity file = usual;
    file.look.inode++;
    assert_int_equal(judge(&file, &usual_seen, SAME_BOOT), STORAGE_TRUST_COPIED);
    file = usual;
    file.look.born_ns++; /* a file system gives numbers of inodes again */
    assert_int_equal(judge(&file, &usual_seen, OTHER_BOOT), STORAGE_TRUST_COPIED);
}

static void file_that_lacks_what_was_seen_was_put_back(void **state)
{
    (void)state;
    struct storage_identity file = usual;
    file.commits--;
    assert_int_equal(judge(&file, &usual_seen, SAME_BOOT), STORAGE_TRUST_OLDER);
    assert_int_equal(judge(&file, &usual_seen, OTHER_BOOT), STORAGE_TRUST_OLDER);
    file = usual;
    file.openings--;
    assert_int_equal(judge(&file, &usual_seen, SAME_BOOT), STORAGE_TRUST_OLDER);
}

/* The log of a newer file says what was seen, also over an older file. */
static void file_that_somebody_else_wrote_to_is_not_trusted(void **state)
{
    (void)state;
    struct storage_identity file = usual;
    struct storage_seen in_checkpoint = usual_seen;
    in_checkpoint.checkpointing = 1;
    file.look.written_ns--;
    assert_int_equal(judge(&file, &usual_seen, SAME_BOOT), STORAGE_TRUST_WRITTEN);
    assert_int_equal(judge(&file, &in_checkpoint, SAME_BOOT), STORAGE_TRUST_KEPT);
    assert_int_equal(judge(&file, &usual_seen, OTHER_BOOT), STORAGE_TRUST_KEPT);
    file.look.written_ns += 2;
    assert_int_equal(judge(&file, &usual_seen, SAME_BOOT), STORAGE_TRUST_WRITTEN);
    assert_int_equal(judge(&file, &usual_seen, OTHER_BOOT), STORAGE_TRUST_WRITTEN);
}

/* A process that is killed may have committed one turn that its witness did not see. */
static void witness_may_have_missed_one_commit(void **state)
{
    (void)state;
    struct storage_identity file = usual;
    file.commits++;
    assert_int_equal(judge(&file, &usual_seen, SAME_BOOT), STORAGE_TRUST_KEPT);
    file.openings++;
    assert_int_equal(judge(&file, &usual_seen, SAME_BOOT), STORAGE_TRUST_KEPT);
}

/* A machine that crashes may lose what was written to the witness since it was last on the disk. */
static void witness_may_have_missed_more_only_if_the_machine_crashed(void **state)
{
    (void)state;
    struct storage_identity file = usual;
    file.commits += 2;
    assert_int_equal(judge(&file, &usual_seen, SAME_BOOT), STORAGE_TRUST_CHANGED);
    assert_int_equal(judge(&file, &usual_seen, OTHER_BOOT), STORAGE_TRUST_KEPT);
    file = usual;
    file.openings += 2;
    assert_int_equal(judge(&file, &usual_seen, SAME_BOOT), STORAGE_TRUST_CHANGED);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(file_that_is_what_its_witness_saw_is_trusted),
    cmocka_unit_test(blank_file_is_new_unless_there_was_one),
    cmocka_unit_test(file_without_a_witness_is_a_copy),
    cmocka_unit_test(file_of_another_id_is_another_one),
    cmocka_unit_test(file_on_another_inode_is_a_copy),
    cmocka_unit_test(file_that_lacks_what_was_seen_was_put_back),
    cmocka_unit_test(file_that_somebody_else_wrote_to_is_not_trusted),
    cmocka_unit_test(witness_may_have_missed_one_commit),
    cmocka_unit_test(witness_may_have_missed_more_only_if_the_machine_crashed),
};

CASE_MAIN(cases, NULL, NULL)
