#include "tests/lib/tempdir.h"

#include "tests/lib/case.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPEN_FOLDERS = 16, /* how many nftw() may hold open at a time */
};

char *tempdir_new(void)
{
    const char *base = getenv("TMPDIR");
    char *path = NULL;
    if (asprintf(&path, "%s/pawl-test-XXXXXX", base ? base : "/tmp") < 0)
        fail_msg("out of memory");
    if (!mkdtemp(path))
        fail_msg("cannot make the folder %s: %s", path, strerror(errno));
    return path;
}

static int remove_entry(const char *path, const struct stat *stat, int type, struct FTW *where)
{
    (void)stat, (void)type, (void)where;
    return remove(path);
}

void tempdir_remove(char *path)
{
    if (path)
        nftw(path, remove_entry, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
    free(path);
}
