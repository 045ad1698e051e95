#include "tests/chaos/master_replica.h"

#include "tests/chaos/redis_call.h"
#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/lib/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    DUMP_TIMEOUT_MS = 20000,
};

void chaos_master_follow(const struct chaos_master *master, uint16_t port)
{
    redis_must(master->port, "REPLICAOF 127.0.0.1 %u", (unsigned)port);
}

bool chaos_master_follows(const struct chaos_master *master)
{
    return redis_info_is(master->port, "replication", "master_link_status", "up");
}

bool chaos_master_leads(const struct chaos_master *master)
{
    return redis_info_is(master->port, "replication", "role", "master");
}

void chaos_master_lead(const struct chaos_master *master)
{
    redis_must(master->port, "REPLICAOF NO ONE");
}

void chaos_master_dump(const struct chaos_master *master)
{
    char port[8];
    char *path = text_make("%s.rdb", master->dir);
    char *log = text_make("%s.log", path);
    snprintf(port, sizeof(port), "%u", (unsigned)master->port);
    const int status = process_run(
        (const char *const[]){"redis-cli", "-p", port, "--rdb", path, NULL}, log, DUMP_TIMEOUT_MS);
    if (status != 0)
        fail_msg("redis-cli --rdb ended with %d; see %s", status, log);
    (void)unlink(path);
    free(path);
    free(log);
}

char *chaos_master_replication_id(const struct chaos_master *master)
{
    return redis_info(master->port, "replication", "master_replid");
}
