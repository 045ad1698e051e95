#include "api/auth/secret.h"

#include "fence/protocol/owner.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include <sodium.h>

enum {
    SALT_TEXT = 22, /* 16 bytes in base64url */
    HASH_TEXT = 43,
};

static_assert(API_SALT_BYTES == crypto_generichash_KEYBYTES_MIN, "a salt is a key of BLAKE2b");
static_assert(API_DIGEST_BYTES == crypto_generichash_BYTES, "a digest is 256 bits");

static const int base64 = sodium_base64_VARIANT_URLSAFE_NO_PADDING;

static bool is_secret(const char *text)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    return strlen(text) == API_SECRET_LEN && strspn(text, alphabet) == API_SECRET_LEN;
}

int api_key_text_read(const char *text, struct api_key_text *ret_key)
{
    const size_t scheme = sizeof(API_KEY_SCHEME) - 1;
    if (strncmp(text, API_KEY_SCHEME, scheme) != 0)
        return FENCE_EINVAL;
    const char *id = text + scheme;
    const char *end = strchr(id, '_');
    if (end == NULL || !fence_key_id_valid(id, (size_t)(end - id)) || !is_secret(end + 1))
        return FENCE_EINVAL;
    memset(ret_key, 0, sizeof(*ret_key));
    assert((size_t)(end - id) < sizeof(ret_key->id));
    memcpy(ret_key->id, id, (size_t)(end - id));
    memcpy(ret_key->secret, end + 1, API_SECRET_LEN);
    return 0;
}

void api_key_text_write(const struct api_key_text *key, char ret_text[static API_KEY_TEXT_MAX])
{
    (void)snprintf(ret_text, API_KEY_TEXT_MAX, API_KEY_SCHEME "%s_%s", key->id, key->secret);
}

void api_secret_make(char ret_secret[static API_SECRET_LEN + 1])
{
    unsigned char bytes[32];
    static_assert(
        sodium_base64_ENCODED_LEN(sizeof(bytes), sodium_base64_VARIANT_URLSAFE_NO_PADDING) ==
            API_SECRET_LEN + 1,
        "a secret is 32 bytes as text");
    randombytes_buf(bytes, sizeof(bytes));
    (void)sodium_bin2base64(ret_secret, API_SECRET_LEN + 1, bytes, sizeof(bytes), base64);
    sodium_memzero(bytes, sizeof(bytes));
}

static void hash_secret(const unsigned char salt[static API_SALT_BYTES],
                        const char secret[static API_SECRET_LEN],
                        unsigned char ret_hash[static API_DIGEST_BYTES])
{
    int failed = crypto_generichash(ret_hash, API_DIGEST_BYTES, (const unsigned char *)secret,
                                    API_SECRET_LEN, salt, API_SALT_BYTES);
    assert(!failed); /* the lengths are right */
}

void api_digest_make(const char secret[static API_SECRET_LEN], struct api_digest *ret_digest)
{
    randombytes_buf(ret_digest->salt, sizeof(ret_digest->salt));
    hash_secret(ret_digest->salt, secret, ret_digest->hash);
}

bool api_digest_matches(const struct api_digest *digest, const char secret[static API_SECRET_LEN])
{
    unsigned char hash[API_DIGEST_BYTES];
    hash_secret(digest->salt, secret, hash);
    return sodium_memcmp(hash, digest->hash, sizeof(hash)) == 0;
}

void api_digest_write(const struct api_digest *digest, char ret_text[static API_DIGEST_TEXT + 1])
{
    (void)sodium_bin2base64(ret_text, SALT_TEXT + 1, digest->salt, API_SALT_BYTES, base64);
    assert(strlen(ret_text) == SALT_TEXT);
    ret_text[SALT_TEXT] = '.';
    (void)sodium_bin2base64(ret_text + SALT_TEXT + 1, HASH_TEXT + 1, digest->hash, API_DIGEST_BYTES,
                            base64);
}

static bool read_bytes(const char *text, size_t len, unsigned char *to, size_t size)
{
    size_t read = 0;
    return sodium_base642bin(to, size, text, len, NULL, &read, NULL, base64) == 0 && read == size;
}

int api_digest_read(const char *text, struct api_digest *ret_digest)
{
    struct api_digest digest = {.salt = {0}};
    if (strlen(text) != API_DIGEST_TEXT || text[SALT_TEXT] != '.' ||
        !read_bytes(text, SALT_TEXT, digest.salt, sizeof(digest.salt)) ||
        !read_bytes(text + SALT_TEXT + 1, HASH_TEXT, digest.hash, sizeof(digest.hash)))
        return FENCE_EINVAL;
    *ret_digest = digest;
    return 0;
}
