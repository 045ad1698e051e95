#include "storage/sqlite/trust.h"

#include <stdio.h>
#include <string.h>

/* An older database under the log of a newer one: the log has the counts that were seen, so that
 * only the time tells. A machine that crashed may have lost the last time, but not made a later
 * one. */
static bool was_written_to(const struct storage_identity *file, const struct storage_seen *seen,
                           bool same_boot)
{
    if (seen->checkpointing)
        return false;
    return same_boot ? file->look.written_ns != seen->written_ns
                     : file->look.written_ns > seen->written_ns;
}

enum storage_trust storage_trust_judge(const struct storage_identity *file,
                                       const struct storage_seen *seen, bool witness_is_new,
                                       const char *boot_id)
{
    if (file->blank)
        return witness_is_new || seen->openings == 0 ? STORAGE_TRUST_NEW : STORAGE_TRUST_REMOVED;
    if (witness_is_new)
        return STORAGE_TRUST_COPIED;
    if (strcmp(file->file_id, seen->file_id) != 0)
        return STORAGE_TRUST_OTHER;
    if (file->look.inode != seen->inode || file->look.born_ns != seen->born_ns)
        return STORAGE_TRUST_COPIED;
    if (file->openings < seen->openings || file->commits < seen->commits)
        return STORAGE_TRUST_OLDER;
    /* What was committed last may not have been seen, where the process was killed just then. A
     * machine that crashed may have lost more of what was seen. */
    bool same_boot = strcmp(boot_id, seen->boot_id) == 0;
    if (same_boot && (file->openings > seen->openings + 1 || file->commits > seen->commits + 1))
        return STORAGE_TRUST_CHANGED;
    return was_written_to(file, seen, same_boot) ? STORAGE_TRUST_WRITTEN : STORAGE_TRUST_KEPT;
}

#define WHAT_TO_DO                                                                                 \
    "Tokens that it gave out may be lost. Have it go on above them: pawld init --token-floor T "   \
    "--data %s, where T is the highest token that any guard has seen"

int storage_trust_explain(enum storage_trust trust, const char *folder,
                          char ret_why[static STORAGE_WHY_MAX])
{
    static const char *const whats[] = {
        [STORAGE_TRUST_REMOVED] = "its pawl.db is gone, and there was one",
        [STORAGE_TRUST_OTHER] = "its pawl.db is another one than its pawl.witness has seen",
        [STORAGE_TRUST_COPIED] = "its pawl.db is a copy: it was copied or moved here",
        [STORAGE_TRUST_OLDER] = "its pawl.db was put back from a copy: it lacks what came later",
        [STORAGE_TRUST_CHANGED] = "its pawl.witness is older than its pawl.db: it was put back",
        [STORAGE_TRUST_WRITTEN] = "something else than pawld has written to its pawl.db",
    };
    (void)snprintf(ret_why, STORAGE_WHY_MAX, "%.*s: %s. " WHAT_TO_DO, STORAGE_FOLDER_MAX / 2,
                   folder, whats[trust], folder);
    return FENCE_ECONFLICT;
}
