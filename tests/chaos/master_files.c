#include "tests/chaos/master_files.h"

#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/lib/tempdir.h"
#include "tests/lib/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    TOOL_TIMEOUT_MS = 20000,
};

void chaos_master_empty(struct chaos_master *master)
{
    tempdir_remove_tree(master->dir);
    if (mkdir(master->dir, 0700) != 0)
        fail_msg("cannot make the folder %s: %s", master->dir, strerror(errno));
}

static int try_tool(const struct chaos_master *master, const char *const argv[])
{
    char *log = text_make("%s.tools.log", master->dir);
    const int status = process_run(argv, log, TOOL_TIMEOUT_MS);
    free(log);
    return status;
}

/* Runs a tool that has to succeed. */
static void run_tool(const struct chaos_master *master, const char *const argv[])
{
    const int status = try_tool(master, argv);
    if (status != 0)
        fail_msg("%s ended with %d; see %s.tools.log", argv[0], status, master->dir);
}

/* ---- the tail of the append-only file -------------------------------------------------------- */

static unsigned long part_number(const char *name)
{
    static const char prefix[] = "appendonly.aof.";
    return strncmp(name, prefix, strlen(prefix)) == 0 && strstr(name, ".incr.")
               ? strtoul(name + strlen(prefix), NULL, 10)
               : 0;
}

/* The newest of the files that Redis appends to; NULL if there is none. The caller frees it. */
static char *newest_part(const char *dir)
{
    unsigned long newest = 0;
    char *path = NULL;
    char *parts = text_make("%s/appendonlydir/", dir);
    DIR *listing = opendir(parts);
    for (struct dirent *entry; listing && (entry = readdir(listing));) {
        if (part_number(entry->d_name) <= newest)
            continue;
        newest = part_number(entry->d_name);
        free(path);
        path = text_make("%s%s", parts, entry->d_name);
    }
    if (listing)
        closedir(listing);
    free(parts);
    return path;
}

static size_t size_of(const char *path)
{
    struct stat file;
    return path && stat(path, &file) == 0 ? (size_t)file.st_size : 0;
}

size_t chaos_master_tail(const struct chaos_master *master)
{
    char *path = newest_part(master->dir);
    const size_t size = size_of(path);
    free(path);
    return size;
}

/* Leaves of the newest part all but the last @bytes. Returns how many these were. */
static size_t cut(const char *path, size_t bytes)
{
    const size_t size = size_of(path);
    if (bytes > size)
        bytes = size;
    if (bytes > 0 && truncate(path, (off_t)(size - bytes)) != 0)
        fail_msg("cannot cut %s: %s", path, strerror(errno));
    return bytes;
}

void chaos_master_cut_tail(struct chaos_master *master, size_t bytes)
{
    char *path = newest_part(master->dir);
    (void)cut(path, bytes);
    free(path);
}

/* A file that is made longer holds zeros there. */
void chaos_master_damage_tail(struct chaos_master *master, size_t bytes)
{
    char *path = newest_part(master->dir);
    const size_t size = size_of(path);
    if (cut(path, bytes) > 0 && truncate(path, (off_t)size) != 0)
        fail_msg("cannot lengthen %s: %s", path, strerror(errno));
    free(path);
}

/* The tool may refuse, for another reason than the end of the last file. Nothing is left then but
 * to begin empty. */
void chaos_master_mend(struct chaos_master *master)
{
    char *manifest = text_make("%s/appendonlydir/appendonly.aof.manifest", master->dir);
    const char *const argv[] = {"sh", "-c", "echo y | redis-check-aof --fix \"$0\"", manifest,
                                NULL};
    if (access(manifest, F_OK) == 0 && try_tool(master, argv) != 0)
        chaos_master_empty(master);
    free(manifest);
}

/* ---- copies ---------------------------------------------------------------------------------- */

void chaos_master_copy(const struct chaos_master *master)
{
    char *copy = text_make("%s.copy", master->dir);
    tempdir_remove_tree(copy);
    run_tool(master, (const char *const[]){"cp", "-R", master->dir, copy, NULL});
    free(copy);
}

void chaos_master_snapshot(const struct chaos_master *master)
{
    process_signal(master->process, SIGSTOP);
    chaos_master_copy(master);
    process_signal(master->process, SIGCONT);
}

void chaos_master_put_back(struct chaos_master *master)
{
    char *copy = text_make("%s.copy", master->dir);
    tempdir_remove_tree(master->dir);
    if (rename(copy, master->dir) != 0)
        fail_msg("cannot put %s back: %s", copy, strerror(errno));
    free(copy);
}
