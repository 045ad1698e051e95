#include "tests/system/forgetting/redis_files.h"

#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/lib/wait.h"

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
    PATH_BYTES = 512,
    RUN_TIMEOUT_MS = 5000,
    INFO_TIMEOUT_MS = 5000,
    REWRITE_TIMEOUT_MS = 5000,
    SLOW_KEYS = 20, /* a second each */
    TORN_BYTES = 5, /* for a write that a power loss tore */
};

#define DATA "appendonlydir"

static void data_path(const struct redis_fleet *fleet, unsigned i, char path[PATH_BYTES])
{
    snprintf(path, PATH_BYTES, "%s/" DATA, fleet->master[i].dir);
}

static unsigned long part_number(const char *name)
{
    static const char prefix[] = "appendonly.aof.";
    return strncmp(name, prefix, strlen(prefix)) == 0 && strstr(name, ".incr.")
               ? strtoul(name + strlen(prefix), NULL, 10)
               : 0;
}

/* The newest of the files that Redis appends to. */
static void tail_path(const struct redis_fleet *fleet, unsigned i, char path[PATH_BYTES])
{
    char dir[PATH_BYTES];
    data_path(fleet, i, dir);
    unsigned long newest = 0;
    DIR *listing = opendir(dir);
    for (struct dirent *entry; listing && (entry = readdir(listing));) {
        const unsigned long number = part_number(entry->d_name);
        if (number <= newest)
            continue;
        newest = number;
        snprintf(path, PATH_BYTES, "%.200s/%.200s", dir, entry->d_name);
    }
    if (listing)
        closedir(listing);
    if (newest == 0)
        fail_msg("no append-only file in %s", dir);
}

static void run(const struct redis_fleet *fleet, const char *const argv[])
{
    char log[PATH_BYTES];
    snprintf(log, sizeof(log), "%s/files.log", fleet->dir);
    const int status = process_run(argv, log, RUN_TIMEOUT_MS);
    if (status != 0)
        fail_msg("%s ended with %d; see %s", argv[0], status, log);
}

void redis_files_keep(const struct redis_fleet *fleet, unsigned i, const char *to)
{
    char from[PATH_BYTES];
    data_path(fleet, i, from);
    run(fleet, (const char *const[]){"cp", "-a", from, to, NULL});
}

void redis_files_put_back(const struct redis_fleet *fleet, unsigned i, const char *from)
{
    assert_null(fleet->master[i].process);
    char to[PATH_BYTES];
    data_path(fleet, i, to);
    run(fleet, (const char *const[]){"rm", "-rf", to, NULL});
    run(fleet, (const char *const[]){"cp", "-a", from, to, NULL});
}

off_t redis_files_tail_size(const struct redis_fleet *fleet, unsigned i)
{
    char path[PATH_BYTES];
    struct stat file;
    tail_path(fleet, i, path);
    if (stat(path, &file) != 0)
        fail_msg("cannot look at %s: %s", path, strerror(errno));
    return file.st_size;
}

void redis_files_cut_tail(const struct redis_fleet *fleet, unsigned i, off_t size)
{
    assert_null(fleet->master[i].process);
    char path[PATH_BYTES];
    tail_path(fleet, i, path);
    if (redis_files_tail_size(fleet, i) <= size + TORN_BYTES)
        return;
    if (truncate(path, size + TORN_BYTES) != 0)
        fail_msg("cannot cut %s: %s", path, strerror(errno));
}

void redis_files_damage_tail(const struct redis_fleet *fleet, unsigned i, off_t size)
{
    assert_null(fleet->master[i].process);
    char path[PATH_BYTES];
    tail_path(fleet, i, path);
    const off_t end = redis_files_tail_size(fleet, i);
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    for (off_t at = size; at < end; at++)
        assert_int_equal(pwrite(fd, "", 1, at), 1);
    close(fd);
}

void redis_files_fix(const struct redis_fleet *fleet, unsigned i)
{
    char path[PATH_BYTES];
    tail_path(fleet, i, path);
    run(fleet,
        (const char *const[]){"sh", "-c", "echo y | redis-check-aof --fix \"$0\"", path, NULL});
}

struct asked {
    struct redis_fleet *fleet;
    unsigned i;
    const char *wanted; /* a line of INFO */
};

static bool says(void *arg)
{
    const struct asked *asked = arg;
    redisReply *reply = redis_fleet_command(asked->fleet, asked->i, "INFO all");
    const bool found = strstr(reply->str, asked->wanted) != NULL;
    freeReplyObject(reply);
    return found;
}

static void wait_info(struct redis_fleet *fleet, unsigned i, const char *wanted)
{
    struct asked asked = {fleet, i, wanted};
    if (!wait_until(says, &asked, INFO_TIMEOUT_MS))
        fail_msg("INFO does not say %s within %d ms", wanted, INFO_TIMEOUT_MS);
}

void redis_wait_in_sync(struct redis_fleet *fleet, unsigned i)
{
    wait_info(fleet, i, "master_link_status:up");
}

void redis_wait_replica(struct redis_fleet *fleet, unsigned i)
{
    wait_info(fleet, i, "state=online");
}

void redis_follow_port(struct redis_fleet *follower, unsigned follower_i, uint16_t port)
{
    freeReplyObject(
        redis_fleet_command(follower, follower_i, "REPLICAOF 127.0.0.1 %u", (unsigned)port));
    redis_wait_in_sync(follower, follower_i);
}

void redis_follow(struct redis_fleet *follower, unsigned follower_i, struct redis_fleet *fleet,
                  unsigned i)
{
    /* Without this the master waits five seconds for more replicas. */
    freeReplyObject(redis_fleet_command(fleet, i, "CONFIG SET repl-diskless-sync-delay 0"));
    redis_follow_port(follower, follower_i, fleet->master[i].port);
}

void redis_free_backlog(struct redis_fleet *fleet, unsigned i)
{
    freeReplyObject(redis_fleet_command(fleet, i, "CONFIG SET repl-backlog-ttl 1"));
    wait_info(fleet, i, "second_repl_offset:-1");
}

struct known_id {
    struct redis_fleet *fleet;
    unsigned i;
    const char *id;
};

static bool has_other_id(void *arg)
{
    const struct known_id *known = arg;
    redisReply *reply = redis_fleet_command(known->fleet, known->i, "INFO replication");
    const char *id = strstr(reply->str, "master_replid:");
    const bool other =
        id && strncmp(id + strlen("master_replid:"), known->id, strlen(known->id)) != 0;
    freeReplyObject(reply);
    return other;
}

void redis_wait_other_id(struct redis_fleet *fleet, unsigned i, const char *id)
{
    struct known_id known = {fleet, i, id};
    if (!wait_until(has_other_id, &known, INFO_TIMEOUT_MS))
        fail_msg("the replication id is %s for %d ms", id, INFO_TIMEOUT_MS);
}

void redis_wait_rewritten(struct redis_fleet *fleet, unsigned i)
{
    wait_info(fleet, i, "aof_rewrite_in_progress:0");
}

void redis_slow_rewrite(struct redis_fleet *fleet, unsigned i)
{
    for (int key = 0; key < SLOW_KEYS; key++)
        freeReplyObject(redis_fleet_command(fleet, i, "SET slow:%d x", key));
    freeReplyObject(redis_fleet_command(fleet, i, "CONFIG SET rdb-key-save-delay 1000000"));
}

void redis_kill_with_rewrite(struct redis_fleet *fleet, unsigned i)
{
    char child[16];
    process_wait_line(fleet->master[i].process,
                      "append only file rewriting started by pid ([0-9]+)", REWRITE_TIMEOUT_MS,
                      child, sizeof(child));
    redis_fleet_kill(fleet, i);
    kill((pid_t)strtol(child, NULL, 10), SIGKILL);
}
