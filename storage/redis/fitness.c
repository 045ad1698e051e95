#include "storage/redis/fitness.h"

#include <string.h>

enum {
    OLDEST_VERSION = 70000, /* 7.0.0 */
};

static const struct fence_words
    old = {"old", "This Redis is older than 7.0. Upgrade it."},
    replica_of_another = {"replica", "This Redis is a replica, and may lack recent writes. Give "
                                     "pawld an independent master instead."},
    in_cluster = {"cluster",
                  "This Redis runs in cluster mode. Give pawld an independent master instead."},
    evicting = {"evicts", "This Redis has a memory limit, and may evict locks or its marker. Set "
                          "maxmemory-policy noeviction, or maxmemory 0."};

const struct fence_words *storage_redis_unfit(const struct storage_server *server, bool replica)
{
    if (server->version < OLDEST_VERSION)
        return &old;
    if (replica)
        return &replica_of_another;
    if (server->cluster)
        return &in_cluster;
    return server->evicts ? &evicting : NULL;
}

static const struct fence_words undurable = {
    "undurable",
    "This master is marked as durable, and its settings have become weaker. Restore appendonly "
    "yes, appendfsync always and no-appendfsync-on-rewrite no, and allow CONFIG GET to pawld's "
    "user. To keep the weaker settings, stop the master, remove its data folder, and start the "
    "master empty. The master then rejoins as a master that loses its data at each restart."};

static const struct fence_words finding_words[] = {
    [STORAGE_FINDING_PERSISTENCE_UNKNOWN] =
        {"persistence-unknown",
         "This master refuses CONFIG GET, so it counts as a master that loses its data when it "
         "restarts. Allow CONFIG GET to pawld's user (ACL: +config|get)."},
    [STORAGE_FINDING_NO_AOF] =
        {"no-aof",
         "This master loses all data when it restarts, and then has no vote until it has rejoined. "
         "Set appendonly yes, appendfsync always and no-appendfsync-on-rewrite no."},
    [STORAGE_FINDING_FSYNC] =
        {"fsync",
         "A crash of this master may lose its last writes, so after a restart the master has no "
         "vote until it has rejoined. Set appendfsync always and no-appendfsync-on-rewrite no."},
    [STORAGE_FINDING_REWRITE] =
        {"fsync-on-rewrite",
         "A crash of this master during an AOF rewrite may lose the last writes, so after a "
         "restart the master has no vote until it has rejoined. Set no-appendfsync-on-rewrite no."},
    [STORAGE_FINDING_EVICTION] =
        {"eviction", "If the memory of this master is full, the master may evict held locks, or "
                     "its marker with all counters. Set maxmemory-policy noeviction."},
    [STORAGE_FINDING_MEMORY] = {"memory-full",
                                "The memory of this master is full, so the master refuses new "
                                "locks. Held locks can still be released. Raise the maxmemory of "
                                "this master."},
};

static uint32_t finding_bit(enum storage_finding finding, bool found)
{
    return (uint32_t)found << finding;
}

/* Returns the first reason why it is not durable; the text of a reason also names the later
 * settings. */
static uint32_t find_persistence(const struct fence_facts *facts)
{
    if (facts->durable)
        return 0;
    if (strcmp(facts->persistence, "unknown") == 0)
        return finding_bit(STORAGE_FINDING_PERSISTENCE_UNKNOWN, true);
    if (strcmp(facts->persistence, "none") == 0)
        return finding_bit(STORAGE_FINDING_NO_AOF, true);
    if (strcmp(facts->persistence, "always") == 0)
        return finding_bit(STORAGE_FINDING_REWRITE, true);
    return finding_bit(STORAGE_FINDING_FSYNC, true);
}

void storage_redis_find(struct fence_facts *facts, const struct storage_server *server)
{
    facts->undurable = &undurable;
    facts->finding_words = finding_words;
    facts->findings = find_persistence(facts) |
                      finding_bit(STORAGE_FINDING_EVICTION, server->evicts) |
                      finding_bit(STORAGE_FINDING_MEMORY, facts->full);
}
