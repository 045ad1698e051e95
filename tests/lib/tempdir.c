#include "tests/lib/tempdir.h"

#include "tests/lib/case.h"
#include "tests/lib/text.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    OPEN_FOLDERS = 16, /* how many nftw() may hold open at a time */
    TEMPDIRS_MAX = 64, /* folders of one test program at a time */
};

/* The folders that stand, for the end of a program whose tests failed half-way. */
static char *standing[TEMPDIRS_MAX];
static pid_t owner;

static int remove_entry(const char *path, const struct stat *stat, int type, struct FTW *where)
{
    (void)stat, (void)type, (void)where;
    return remove(path);
}

/* A forked child that exits has no folders to remove. */
static void remove_standing(void)
{
    for (unsigned i = 0; i < TEMPDIRS_MAX && getpid() == owner; i++)
        tempdir_remove(standing[i]);
}

static void note(char *path)
{
    if (!owner && atexit(remove_standing) == 0)
        owner = getpid();
    for (unsigned i = 0; i < TEMPDIRS_MAX; i++) {
        if (!standing[i]) {
            standing[i] = path;
            return;
        }
    }
    fail_msg("more than %d temporary folders", TEMPDIRS_MAX);
}

char *tempdir_new(void)
{
    const char *base = getenv("TMPDIR");
    char *path = text_make("%s/pawl-test-XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(path))
        fail_msg("cannot make the folder %s: %s", path, strerror(errno));
    note(path);
    return path;
}

void tempdir_remove_tree(const char *path)
{
    nftw(path, remove_entry, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
}

void tempdir_remove(char *path)
{
    if (!path)
        return;
    tempdir_remove_tree(path);
    for (unsigned i = 0; i < TEMPDIRS_MAX; i++)
        if (standing[i] == path)
            standing[i] = NULL;
    free(path);
}
