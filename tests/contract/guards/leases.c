#include "tests/contract/guards/leases.h"

#include "tests/lib/case.h"
#include "tests/lib/wait.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

struct lease {
    int64_t token;
    uint64_t until_ms;
    bool writes;
};

struct leases {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    unsigned ttl_ms;
    int64_t counter;
    unsigned writers_waiting;
    unsigned count;
    struct lease list[LEASES_MAX];
};

struct leases *leases_new(unsigned ttl_ms)
{
    struct leases *leases = calloc(1, sizeof(*leases));
    assert_non_null(leases);
    leases->ttl_ms = ttl_ms;
    pthread_condattr_t attributes;
    assert_int_equal(pthread_condattr_init(&attributes), 0);
    assert_int_equal(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC), 0);
    assert_int_equal(pthread_cond_init(&leases->changed, &attributes), 0);
    assert_int_equal(pthread_mutex_init(&leases->mutex, NULL), 0);
    (void)pthread_condattr_destroy(&attributes);
    return leases;
}

void leases_free(struct leases *leases)
{
    (void)pthread_cond_destroy(&leases->changed);
    (void)pthread_mutex_destroy(&leases->mutex);
    free(leases);
}

/* The caller has the mutex, here and below. */
static void drop(struct leases *leases, unsigned index)
{
    leases->list[index] = leases->list[--leases->count];
}

/* Returns when the next of the others ends. */
static uint64_t drop_ended(struct leases *leases, uint64_t now_ms)
{
    uint64_t next_ms = UINT64_MAX;
    for (unsigned i = leases->count; i-- > 0;) {
        if (leases->list[i].until_ms <= now_ms)
            drop(leases, i);
        else if (leases->list[i].until_ms < next_ms)
            next_ms = leases->list[i].until_ms;
    }
    return next_ms;
}

static bool is_free(const struct leases *leases, bool writes)
{
    if (writes)
        return leases->count == 0;
    if (leases->writers_waiting > 0)
        return false;
    return leases->count == 0 || !leases->list[0].writes; /* a writer is alone */
}

static int64_t grant(struct leases *leases, bool writes, uint64_t now_ms)
{
    assert_in_range(leases->count, 0, LEASES_MAX - 1);
    leases->list[leases->count++] = (struct lease){
        .token = ++leases->counter, .until_ms = now_ms + leases->ttl_ms, .writes = writes};
    return leases->counter;
}

/* Waits for a change, for at most @ms. */
static void wait_for_change(struct leases *leases, uint64_t ms)
{
    struct timespec wake;
    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &wake), 0);
    const uint64_t ns = (uint64_t)wake.tv_nsec + ms % 1000 * 1000000;
    wake.tv_sec += (time_t)(ms / 1000 + ns / 1000000000);
    wake.tv_nsec = (long)(ns % 1000000000);
    (void)pthread_cond_timedwait(&leases->changed, &leases->mutex, &wake);
}

int64_t leases_take(struct leases *leases, bool writes, uint64_t until_ms)
{
    int64_t token = 0;
    pthread_mutex_lock(&leases->mutex);
    leases->writers_waiting += writes;
    for (uint64_t now_ms = wait_now_ms(); now_ms < until_ms; now_ms = wait_now_ms()) {
        const uint64_t next_ms = drop_ended(leases, now_ms);
        if (is_free(leases, writes)) {
            token = grant(leases, writes, now_ms);
            break;
        }
        wait_for_change(leases, (next_ms < until_ms ? next_ms : until_ms) - now_ms);
    }
    leases->writers_waiting -= writes;
    pthread_cond_broadcast(&leases->changed);
    pthread_mutex_unlock(&leases->mutex);
    return token;
}

void leases_release(struct leases *leases, int64_t token)
{
    pthread_mutex_lock(&leases->mutex);
    for (unsigned i = 0; i < leases->count; i++) {
        if (leases->list[i].token == token) {
            drop(leases, i);
            break;
        }
    }
    pthread_cond_broadcast(&leases->changed);
    pthread_mutex_unlock(&leases->mutex);
}
