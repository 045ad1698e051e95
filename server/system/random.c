#include "server/system/random.h"

#include <assert.h>
#include <string.h>

#include <sodium.h>

static void take_random(struct server_random *random, void *to, size_t len)
{
    assert(len <= sizeof(random->pool));
    if (random->left < len) {
        unsigned char seed[randombytes_SEEDBYTES];
        randombytes_buf(seed, sizeof(seed));
        randombytes_buf_deterministic(random->pool, sizeof(random->pool), seed);
        sodium_memzero(seed, sizeof(seed));
        random->left = sizeof(random->pool);
    }
    random->left -= len;
    memcpy(to, random->pool + random->left, len);
    memset(random->pool + random->left, 0, len);
}

uint64_t server_random_u64(struct server_random *random)
{
    uint64_t bits = 0;
    take_random(random, &bits, sizeof(bits));
    return bits;
}

void server_random_lock_id(struct server_random *random, char ret_id[static FENCE_LOCK_ID_LEN + 1])
{
    unsigned char bytes[SERVER_LOCK_ID_BYTES];
    take_random(random, bytes, sizeof(bytes));
    sodium_bin2base64(ret_id, FENCE_LOCK_ID_LEN + 1, bytes, sizeof(bytes),
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}
