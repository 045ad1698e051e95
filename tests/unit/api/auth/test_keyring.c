/* Keys that are swapped while other threads look callers up. */
#include "api/auth/keyring.h"
#include "tests/lib/case.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

enum {
    READERS = 3,
    SWAPS = 500,
};

static char secret[API_SECRET_LEN + 1];
static char line[256];
static struct api_keyring *ring;
static atomic_bool stopping;

static struct api_keys *make_keys(void)
{
    char why[API_KEYS_WHY_MAX];
    struct api_keys *keys = NULL;
    if (api_keys_parse("keys", line, strlen(line), why, &keys) != 0)
        abort();
    return keys;
}

/* The life of a request: the key outlives its set. Counts the calls that were let in; -1: one was
 * not. */
static void *look_up(void *ret_count)
{
    char text[API_KEY_TEXT_MAX];
    uint64_t wait_us = 0;
    long *count = ret_count;
    (void)snprintf(text, sizeof(text), "pawl_deploy_%s", secret);
    while (!atomic_load(&stopping) && *count >= 0) {
        struct api_keys *keys = api_keyring_keys(ring);
        struct api_key *key = api_keys_verify(keys, text);
        if (key != NULL)
            (void)api_key_ref(key);
        api_keys_unref(keys);
        *count = key == NULL ? -1 : *count + 1;
        if (key != NULL && api_usage_reserve(key->usage, NULL, 1, READERS, 0, NULL) == 0) {
            (void)api_usage_take(key->usage, key->rate, key->burst, 1, 0, &wait_us);
            api_usage_cancel(key->usage, 1);
        }
        api_key_unref(key);
    }
    return NULL;
}

static void swap_drops_no_caller(void **state)
{
    char hash[API_DIGEST_TEXT + 1];
    struct api_digest digest;
    pthread_t threads[READERS];
    long counts[READERS] = {0};
    assert_true(sodium_init() >= 0);
    api_secret_make(secret);
    api_digest_make(secret, &digest);
    api_digest_write(&digest, hash);
    (void)snprintf(line, sizeof(line), "deploy hash=%s role=lock prefix=* rate=5 held=9\n", hash);
    assert_int_equal(api_keyring_new(make_keys(), &ring), 0);
    for (int i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, look_up, &counts[i]), 0);
    for (int i = 0; i < SWAPS; i++)
        api_keyring_swap(ring, make_keys());
    atomic_store(&stopping, true);
    for (int i = 0; i < READERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < READERS; i++)
        assert_true(counts[i] >= 0);
    assert_int_equal(api_keyring_swaps(ring), SWAPS);
    struct api_keys *keys = api_keyring_keys(ring);
    char text[API_KEY_TEXT_MAX];
    (void)snprintf(text, sizeof(text), "pawl_deploy_%s", secret);
    assert_int_equal(api_usage_held(api_keys_verify(keys, text)->usage, 0), 0);
    api_keys_unref(keys);
    api_keyring_free(ring);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(swap_drops_no_caller),
};

CASE_MAIN(cases, NULL, NULL)
