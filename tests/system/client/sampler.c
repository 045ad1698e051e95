#include "tests/system/client/sampler.h"

#include "tests/lib/case.h"
#include "tests/lib/clock.h"
#include "tests/lib/wait.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PERIOD_MS = 4,
    ANSWER_US = 200000,
    SAMPLES_MAX = 30000,
    NAME_BYTES = 64,
};

struct sampler {
    pthread_t thread;
    atomic_bool stop;
    char key[NAME_BYTES];
    uint16_t port[SAMPLE_MASTERS];
    redisContext *redis[SAMPLE_MASTERS];
    size_t count;
    struct sample samples[SAMPLES_MAX];
};

/* The lock id of a lock as a master keeps it. storage/redis/lua/locks.lua and clear.lua say how. */
static void lock_id_of(const char *value, char ret_id[static FENCE_LOCK_ID_MAX + 1])
{
    const char *mark = value[0] == '@' ? value : NULL; /* imported: the lock follows on the third */
    for (int i = 0; i < 3 && mark; i++, mark = strchr(value, '@'))
        value = mark + 1;
    const size_t len = strcspn(value, ".:");
    if (len > FENCE_LOCK_ID_MAX || value[0] == '~')
        ret_id[0] = '\0';
    else
        (void)snprintf(ret_id, FENCE_LOCK_ID_MAX + 1, "%.*s", (int)len, value);
}

/* False: the master did not answer. */
static bool read_lock(struct sampler *sampler, unsigned i,
                      char ret_id[static FENCE_LOCK_ID_MAX + 1])
{
    const struct timeval timeout = {.tv_usec = ANSWER_US};
    if (!sampler->redis[i])
        sampler->redis[i] = redisConnectWithTimeout("127.0.0.1", sampler->port[i], timeout);
    redisContext *redis = sampler->redis[i];
    redisReply *reply = NULL;
    if (redis && !redis->err && redisSetTimeout(redis, timeout) == REDIS_OK)
        reply = redisCommand(redis, "GET %s", sampler->key);
    const bool answered =
        reply && (reply->type == REDIS_REPLY_STRING || reply->type == REDIS_REPLY_NIL);
    if (answered)
        lock_id_of(reply->type == REDIS_REPLY_STRING ? reply->str : "", ret_id);
    freeReplyObject(reply);
    if (!answered) {
        redisFree(redis);
        sampler->redis[i] = NULL;
    }
    return answered;
}

static bool take_sample(struct sampler *sampler, struct sample *ret_sample)
{
    ret_sample->from_us = clock_us();
    for (unsigned i = 0; i < SAMPLE_MASTERS; i++)
        if (!read_lock(sampler, i, ret_sample->lock_id[i]))
            return false;
    ret_sample->till_us = clock_us();
    return true;
}

static void *sample_all(void *arg)
{
    struct sampler *sampler = arg;
    while (!atomic_load(&sampler->stop) && sampler->count < SAMPLES_MAX) {
        if (take_sample(sampler, &sampler->samples[sampler->count]))
            sampler->count++;
        wait_ms(PERIOD_MS);
    }
    return NULL;
}

struct sampler *sampler_start(const struct redis_fleet *fleet, const char *name)
{
    assert_int_equal(fleet->n, SAMPLE_MASTERS);
    struct sampler *sampler = calloc(1, sizeof(*sampler));
    assert_non_null(sampler);
    (void)snprintf(sampler->key, sizeof(sampler->key), "pawl:lock:%s", name);
    for (unsigned i = 0; i < SAMPLE_MASTERS; i++)
        sampler->port[i] = fleet->master[i].port;
    assert_int_equal(pthread_create(&sampler->thread, NULL, sample_all, sampler), 0);
    return sampler;
}

const struct sample *sampler_stop(struct sampler *sampler, size_t *ret_count)
{
    atomic_store(&sampler->stop, true);
    (void)pthread_join(sampler->thread, NULL);
    *ret_count = sampler->count;
    return sampler->samples;
}

void sampler_free(struct sampler *sampler)
{
    for (unsigned i = 0; i < SAMPLE_MASTERS; i++)
        redisFree(sampler->redis[i]);
    free(sampler);
}
