#include "api/auth/keyring.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

struct api_keyring {
    pthread_mutex_t mutex;
    struct api_keys *keys;
    atomic_uint swaps;
};

int api_keyring_new(struct api_keys *keys, struct api_keyring **ret_ring)
{
    assert(keys != NULL);
    struct api_keyring *ring = calloc(1, sizeof(*ring));
    if (ring == NULL)
        return FENCE_ENOMEM;
    int failed = pthread_mutex_init(&ring->mutex, NULL);
    assert(!failed); /* without attributes it only fills in memory */
    ring->keys = keys;
    *ret_ring = ring;
    return 0;
}

void api_keyring_free(struct api_keyring *ring)
{
    if (ring == NULL)
        return;
    api_keys_unref(ring->keys);
    (void)pthread_mutex_destroy(&ring->mutex);
    free(ring);
}

static void lock_ring(struct api_keyring *ring)
{
    int failed = pthread_mutex_lock(&ring->mutex);
    assert(!failed);
}

static void unlock_ring(struct api_keyring *ring)
{
    int failed = pthread_mutex_unlock(&ring->mutex);
    assert(!failed);
}

void api_keyring_swap(struct api_keyring *ring, struct api_keys *keys)
{
    lock_ring(ring);
    struct api_keys *before = ring->keys;
    assert(keys != NULL && keys != before);
    api_keys_succeed(keys, before);
    ring->keys = keys;
    atomic_fetch_add(&ring->swaps, 1);
    unlock_ring(ring);
    api_keys_unref(before);
}

unsigned api_keyring_swaps(const struct api_keyring *ring)
{
    return atomic_load_explicit(&ring->swaps, memory_order_acquire);
}

struct api_keys *api_keyring_keys(struct api_keyring *ring)
{
    lock_ring(ring);
    struct api_keys *keys = api_keys_ref(ring->keys);
    unlock_ring(ring);
    return keys;
}
