/* The keys in force, for all workers of a process. New keys replace them at once, while requests
 * continue with the key that they began with. Any thread. */
#ifndef API_AUTH_KEYRING_H
#define API_AUTH_KEYRING_H

#include "api/auth/keys.h"

struct api_keyring;

/* Takes over @keys. FENCE_ENOMEM: it has not. */
FENCE_CHECKED int api_keyring_new(struct api_keys *keys, struct api_keyring **ret_ring);

/* No worker uses it any more. NULL is fine. */
void api_keyring_free(struct api_keyring *ring);

/* Replaces the keys in force with @keys, and takes ownership. A key continues with the usage of the
 * earlier key of the same id. */
void api_keyring_swap(struct api_keyring *ring, struct api_keys *keys);

/* The number of swaps so far. */
unsigned api_keyring_swaps(const struct api_keyring *ring);

/* The keys in force, for api_keys_unref(). */
struct api_keys *api_keyring_keys(struct api_keyring *ring);

#endif
