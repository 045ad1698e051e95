/* The keys that are in force, for all workers of a process. New ones take their place at once,
 * while requests go on with the key that they were sent with. Any thread. */
#ifndef API_AUTH_KEYRING_H
#define API_AUTH_KEYRING_H

#include "api/auth/keys.h"

struct api_keyring;

/* Takes over @keys. FENCE_ENOMEM: it has not. */
FENCE_CHECKED int api_keyring_new(struct api_keys *keys, struct api_keyring **ret_ring);

/* No worker uses it any more. NULL is fine. */
void api_keyring_free(struct api_keyring *ring);

/* Takes over @keys in place of those in force. A key of the same id goes on with what the one
 * before it has used up. */
void api_keyring_swap(struct api_keyring *ring, struct api_keys *keys);

/* The number of swaps so far. */
unsigned api_keyring_swaps(const struct api_keyring *ring);

/* The keys in force, for api_keys_unref(). */
struct api_keys *api_keyring_keys(struct api_keyring *ring);

#endif
