#include "tests/chaos/sentinel.h"

#include "tests/chaos/redis_call.h"
#include "tests/lib/case.h"
#include "tests/lib/port.h"
#include "tests/lib/process.h"
#include "tests/lib/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    UP_TIMEOUT_MS = 20000,
    DOWN_AFTER_MS = 200,      /* without an answer from the master */
    FAILOVER_TIMEOUT_S = 100, /* it leaves a replica behind a proxy alone for so long */
};

static void write_config(const char *path, uint16_t port, const char *dir)
{
    FILE *file = fopen(path, "we");
    if (!file)
        fail_msg("cannot write %s", path);
    fprintf(file, "port %u\nbind 127.0.0.1\ndir %s\n", (unsigned)port, dir);
    fclose(file);
}

void sentinel_start(struct sentinel *sentinel, const char *dir)
{
    char *config = text_make("%s/sentinel.conf", dir);
    char *log = text_make("%s/sentinel.log", dir);
    sentinel->port = port_free();
    write_config(config, sentinel->port, dir);
    sentinel->process =
        process_start((const char *const[]){"redis-server", config, "--sentinel", NULL}, log);
    process_wait_line(sentinel->process, "Sentinel ID is", UP_TIMEOUT_MS, NULL, 0);
    free(config);
    free(log);
}

void sentinel_stop(struct sentinel *sentinel)
{
    process_kill(sentinel->process);
    sentinel->process = NULL;
}

void sentinel_watch(const struct sentinel *sentinel, const char *name, uint16_t port)
{
    redis_must(sentinel->port, "SENTINEL MONITOR %s 127.0.0.1 %u 1", name, (unsigned)port);
    redis_must(sentinel->port, "SENTINEL SET %s down-after-milliseconds %d failover-timeout %d",
               name, DOWN_AFTER_MS, FAILOVER_TIMEOUT_S * 1000);
}

void sentinel_forget(const struct sentinel *sentinel, const char *name)
{
    (void)redis_does(sentinel->port, "SENTINEL REMOVE %s", name);
}

/* The value behind @name in @flat: names and values in turn. */
static const char *value_of(const redisReply *flat, const char *name)
{
    for (size_t i = 0; i + 1 < flat->elements; i += 2)
        if (strcmp(flat->element[i]->str, name) == 0)
            return flat->element[i + 1]->str;
    return "";
}

static bool is_good(const redisReply *replica, uint16_t port)
{
    return strtoul(value_of(replica, "port"), NULL, 10) == port &&
           strcmp(value_of(replica, "flags"), "slave") == 0 &&
           strcmp(value_of(replica, "role-reported"), "slave") == 0 &&
           strcmp(value_of(replica, "master-link-status"), "ok") == 0;
}

bool sentinel_knows(const struct sentinel *sentinel, const char *name, uint16_t port)
{
    bool knows = false;
    redisReply *replicas = redis_call(sentinel->port, "SENTINEL REPLICAS %s", name);
    if (replicas && replicas->type == REDIS_REPLY_ARRAY)
        for (size_t i = 0; i < replicas->elements; i++)
            knows |= is_good(replicas->element[i], port);
    freeReplyObject(replicas);
    return knows;
}

void sentinel_fail_over(const struct sentinel *sentinel, const char *name)
{
    redis_must(sentinel->port, "SENTINEL FAILOVER %s", name);
}

uint16_t sentinel_master(const struct sentinel *sentinel, const char *name)
{
    uint16_t port = 0;
    redisReply *address = redis_call(sentinel->port, "SENTINEL GET-MASTER-ADDR-BY-NAME %s", name);
    if (address && address->type == REDIS_REPLY_ARRAY && address->elements == 2)
        port = (uint16_t)strtoul(address->element[1]->str, NULL, 10);
    freeReplyObject(address);
    return port;
}
