#include "storage/sqlite/detect_restored_file.h"

#include "fence/base/minmax.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define SECOND_NS INT64_C(1000000000)

/* Slack for ctimes. A note and its ctime are written at once; some file systems keep whole seconds.
 * On the disk after a crash, the ctime may be of a later note: of the last commit, as long after it
 * as its fsync took. */
#define EARLY_SLACK_NS (2 * SECOND_NS)
#define NOTE_SLACK_NS  (1 * SECOND_NS)
#define CRASH_SLACK_NS (60 * SECOND_NS)

/* The longest expected checkpoint. */
#define CHECKPOINT_NS (600 * SECOND_NS)

static bool is_same_boot(const struct storage_evidence *evidence)
{
    return strcmp(evidence->boot_id, evidence->seen.boot_id) == 0;
}

/* Reports whether the witness has a ctime that its note cannot have. A crash of the machine may
 * keep an older ctime, of the last synced note, or a newer one. */
static bool witness_is_off(const struct storage_evidence *evidence)
{
    const struct storage_seen *seen = &evidence->seen;
    const int64_t changed_ns = evidence->witness.changed_ns;
    if (evidence->version != STORAGE_WITNESS_2 || seen->foreign_clock)
        return false;
    if (is_same_boot(evidence) || seen->clean)
        return changed_ns < seen->noted_ns - EARLY_SLACK_NS ||
               changed_ns > seen->noted_ns + NOTE_SLACK_NS;
    return changed_ns < fence_min_signed(seen->synced_ns, seen->noted_ns) - EARLY_SLACK_NS ||
           changed_ns >
               fence_max_signed(seen->noted_ns, evidence->file.committed_ns) + CRASH_SLACK_NS;
}

/* ---- a file without tables ------------------------------------------------------------------- */

/* A witness without an opening belongs to a file whose first opening broke off. */
static enum storage_trust judge_new(const struct storage_evidence *evidence)
{
    assert(!evidence->file.has_tables);
    bool empty = evidence->file.look.bytes == 0;
    if (evidence->version == STORAGE_WITNESS_NONE)
        return empty && !evidence->file.has_log ? STORAGE_TRUST_NEW : STORAGE_TRUST_NO_LOG;
    if (evidence->seen.openings > 0)
        return empty ? STORAGE_TRUST_REMOVED : STORAGE_TRUST_NO_LOG;
    if (evidence->has_record && evidence->record.openings > 0)
        return STORAGE_TRUST_OLDER;
    return witness_is_off(evidence) ? STORAGE_TRUST_PUT_BACK : STORAGE_TRUST_NEW;
}

/* ---- a file with tables ---------------------------------------------------------------------- */

/* Reports whether the database without its log is older. A log replays over any file; a page that
 * the log lacks then comes from the older file. */
static bool base_is_older(const struct storage_evidence *evidence)
{
    const struct storage_identity *file = &evidence->file;
    const struct storage_seen *seen = &evidence->seen;
    if (!file->base_known) /* a crash may leave a half-written page in a checkpoint */
        return seen->base_commits > 0 && !seen->checkpointing && !seen->base_unsure;
    return file->base_commits < seen->base_commits;
}

static bool is_older(const struct storage_evidence *evidence)
{
    const struct storage_identity *file = &evidence->file;
    const struct storage_recorded *record = &evidence->record;
    if (evidence->has_record &&
        (file->openings < record->openings || file->commits < record->commits))
        return true;
    return file->openings < evidence->seen.openings || file->commits < evidence->seen.commits ||
           base_is_older(evidence);
}

/* Reports whether the database has commits that the witness did not see. A killed process may have
 * made one commit that is not noted. A crashed machine may have lost more notes of its witness. */
static bool has_unseen_commits(const struct storage_evidence *evidence)
{
    const struct storage_identity *file = &evidence->file;
    return is_same_boot(evidence) && (file->openings > evidence->seen.openings + 1 ||
                                      file->commits > evidence->seen.commits + 1);
}

/* Reports whether the record agrees: it has all commits of the file, so no newer commit was ever
 * answered. A record of another container on this machine may have fewer, and proves nothing. */
static bool record_agrees(const struct storage_evidence *evidence)
{
    const struct storage_identity *file = &evidence->file;
    const struct storage_recorded *record = &evidence->record;
    return evidence->has_record && file->openings <= record->openings + 1 &&
           file->commits <= record->commits + 1;
}

static bool has_other_attributes(const struct storage_evidence *evidence)
{
    const struct storage_seen *seen = &evidence->seen;
    const struct storage_look then = {
        .owner = seen->owner, .group = seen->group, .mode = seen->mode, .links = seen->links};
    return !storage_look_same_attributes(&evidence->file.look, &then);
}

/* Reports whether a command such as chown -R changed the ctimes of both files, even to the same
 * owner. Right after the last note only the witness has a ctime that its note can have. But a note
 * also sets the mtime of the witness, and chown does not. Precondition: the record agrees, so the
 * witness is the newest one. */
static bool both_were_touched(const struct storage_evidence *evidence)
{
    assert(record_agrees(evidence));
    const int64_t apart_ns = evidence->witness.changed_ns - evidence->file.look.changed_ns;
    const int64_t slack_ns = witness_is_off(evidence) ? EARLY_SLACK_NS : SECOND_NS / 10;
    return evidence->witness.changed_ns != evidence->witness.written_ns && apart_ns >= -slack_ns &&
           apart_ns <= slack_ns;
}

/* A crashed machine may have lost the last time, but cannot have made a later one. */
static bool is_other_time(int64_t found_ns, int64_t seen_ns, bool same_boot)
{
    return same_boot ? found_ns != seen_ns : found_ns > seen_ns;
}

static bool was_written_to(const struct storage_evidence *evidence)
{
    const struct storage_look *look = &evidence->file.look;
    const struct storage_seen *seen = &evidence->seen;
    const bool same_boot = is_same_boot(evidence);
    const bool has_times = evidence->version == STORAGE_WITNESS_2;
    if (seen->checkpointing)
        return has_times && !seen->foreign_clock &&
               look->changed_ns > seen->noted_ns + CHECKPOINT_NS;
    if (is_other_time(look->written_ns, seen->written_ns, same_boot))
        return true;
    if (!has_times || !is_other_time(look->changed_ns, seen->changed_ns, same_boot))
        return false;
    return !record_agrees(evidence) ||
           !(has_other_attributes(evidence) || both_were_touched(evidence));
}

static enum storage_trust judge_made(const struct storage_evidence *evidence)
{
    assert(evidence->file.has_tables);
    const struct storage_identity *file = &evidence->file;
    const struct storage_seen *seen = &evidence->seen;
    if (evidence->version == STORAGE_WITNESS_NONE)
        return STORAGE_TRUST_COPIED;
    if (strcmp(file->file_id, seen->file_id) != 0)
        return STORAGE_TRUST_OTHER;
    if (file->look.inode != seen->inode || file->look.born_ns != seen->born_ns)
        return STORAGE_TRUST_COPIED;
    if (is_older(evidence))
        return STORAGE_TRUST_OLDER;
    if (has_unseen_commits(evidence))
        return STORAGE_TRUST_CHANGED;
    if (witness_is_off(evidence) && !record_agrees(evidence))
        return STORAGE_TRUST_PUT_BACK;
    return was_written_to(evidence) ? STORAGE_TRUST_WRITTEN : STORAGE_TRUST_KEPT;
}

enum storage_trust storage_detect_restored_file(const struct storage_evidence *evidence)
{
    if (evidence->version == STORAGE_WITNESS_UNKNOWN)
        return STORAGE_TRUST_UNREADABLE;
    if (evidence->replaced)
        return STORAGE_TRUST_REPLACED;
    return evidence->file.has_tables ? judge_made(evidence) : judge_new(evidence);
}

/* ---- in words -------------------------------------------------------------------------------- */

#define WHAT_TO_DO                                                                                 \
    "Tokens that were issued may be lost. To continue with higher tokens, run pawld init "         \
    "--token-floor T --data %s, where T is the highest token that any guard has seen"

static const char what_replaced[] = "pawl.db was restored from a copy that is older than the last "
                                    "pawld init --token-floor, or that "
                                    "command failed";

/* The record of the same user would show that a change of the owner was no write. */
static const char *of_another_user(const struct storage_evidence *evidence,
                                   enum storage_trust trust)
{
    const bool by_times = trust == STORAGE_TRUST_WRITTEN || trust == STORAGE_TRUST_PUT_BACK;
    return by_times && evidence->is_anothers
               ? ", or only its owner was changed: pawld ran as another user before. Start pawld "
                 "once as that user, then as this user. If pawld refuses again, continue as follows"
               : "";
}

int storage_explain_restored_file(const struct storage_evidence *evidence, enum storage_trust trust,
                                  const char *folder, char ret_why[static STORAGE_WHY_MAX])
{
    static const char *const whats[] = {
        [STORAGE_TRUST_REMOVED] = "pawl.db is missing, but pawl.witness shows that pawl.db existed",
        [STORAGE_TRUST_NO_LOG] = "the log of pawl.db (pawl.db-wal) or pawl.db itself is missing",
        [STORAGE_TRUST_OTHER] =
            "pawl.db and pawl.witness belong to different fleets: one of the two was replaced",
        [STORAGE_TRUST_COPIED] = "pawl.db is a copy, or pawl.witness was deleted",
        [STORAGE_TRUST_OLDER] =
            "pawl.db or its log was restored from an older copy, so commits are lost",
        [STORAGE_TRUST_PUT_BACK] =
            "pawl.witness was restored from a copy, or its owner, mode or links were changed",
        [STORAGE_TRUST_CHANGED] =
            "pawl.witness is older than pawl.db, so a copy of pawl.witness was restored",
        [STORAGE_TRUST_WRITTEN] = "another program than pawld has written to pawl.db",
        [STORAGE_TRUST_REPLACED] = what_replaced,
        [STORAGE_TRUST_UNREADABLE] =
            "pawl.witness cannot be read: it is damaged, or a newer version of pawld wrote it",
    };
    assert(trust != STORAGE_TRUST_NEW && trust != STORAGE_TRUST_KEPT && whats[trust] != NULL);
    (void)snprintf(ret_why, STORAGE_WHY_MAX, "%.*s: %s%s. " WHAT_TO_DO, STORAGE_FOLDER_MAX / 2,
                   folder, whats[trust], of_another_user(evidence, trust), folder);
    return FENCE_ECONFLICT;
}
