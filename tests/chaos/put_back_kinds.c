#include "tests/chaos/put_back_kinds.h"

#include "tests/lib/case.h"
#include "tests/lib/machine.h"

#include <stdio.h>

enum {
    SCRIPT_BYTES = 1024,
};

const char *const put_back_names[PUT_BACK_KINDS] = {
    [PUT_BACK_CP] = "cp -p, in place",
    [PUT_BACK_CAT] = "cat, in place",
    [PUT_BACK_NEW_FILE] = "cp -a, as new files",
    [PUT_BACK_TAR] = "tar --overwrite",
    [PUT_BACK_RENAME] = "mv",
    [PUT_BACK_HARD_LINK] = "hard link",
    [PUT_BACK_BIND] = "bind mount",
    [PUT_BACK_OVERLAY] = "overlay",
    [PUT_BACK_SNAPSHOT] = "snapshot of the file system",
};

static const char *const file_names[] = {"pawl.db", "pawl.db-wal", "pawl.witness"};

/* For one file $f; data that the copy lacks are gone then. */
static const char *const each[PUT_BACK_KINDS] = {
    [PUT_BACK_CP] = "cp -p \"$1/$f\" \"$0/$f\"",
    [PUT_BACK_CAT] = "cat \"$1/$f\" >\"$0/$f\"",
    [PUT_BACK_NEW_FILE] = "rm -f \"$0/$f\" && cp -a \"$1/$f\" \"$0/$f\"",
    [PUT_BACK_TAR] = "tar -C \"$1\" --format=posix -cf - $f | tar -C \"$0\" -xpf - --overwrite",
    [PUT_BACK_RENAME] = "mv -f \"$1/$f\" \"$0/$f\"",
    [PUT_BACK_HARD_LINK] = "ln -f \"$1/$f\" \"$0/$f\"",
    [PUT_BACK_BIND] = "touch \"$0/$f\" && mount --bind \"$1/$f\" \"$0/$f\"",
};

static void list_files(unsigned files, char ret_list[static 64])
{
    int len = 0;
    ret_list[0] = '\0';
    for (unsigned i = 0; i < 3; i++)
        if (files & 1u << i)
            len += snprintf(ret_list + len, 64 - (size_t)len, "%s ", file_names[i]);
}

void put_back_files(enum put_back_kind kind, unsigned files, bool alone, const char *folder,
                    const char *copy)
{
    char list[64], others[64], script[SCRIPT_BYTES];
    list_files(files, list);
    list_files(alone ? PUT_BACK_ALL & ~files : 0, others);
    if (kind == PUT_BACK_OVERLAY)
        snprintf(
            script, sizeof(script),
            "mkdir \"$0.up\" && mount -t tmpfs none \"$0.up\" && mkdir \"$0.up/u\" \"$0.up/w\" && "
            "mount -t overlay none "
            "-o lowerdir=\"$1\",upperdir=\"$0.up/u\",workdir=\"$0.up/w\" \"$0\"");
    else
        snprintf(
            script, sizeof(script),
            "for f in %s; do if [ -e \"$1/$f\" ]; then %s || exit 1; else rm -f \"$0/$f\"; fi; "
            "done; for f in %s; do rm -f \"$0/$f\"; done",
            list, each[kind], others);
    machine_run(script, folder, copy);
}

void put_back_undo(enum put_back_kind kind, const char *folder)
{
    if (kind == PUT_BACK_OVERLAY)
        machine_run("umount \"$0\" \"$0.up\" && rm -r \"$0.up\"", folder, NULL);
    if (kind == PUT_BACK_BIND)
        machine_run("for f in pawl.db pawl.db-wal pawl.witness; do "
                    "umount \"$0/$f\" 2>/dev/null; done; true",
                    folder, NULL);
}
