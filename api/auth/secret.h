/* A key as its holder has it, "pawl_<id>_<secret>", and the digest in a key file.
 *
 * The id names the key, in the key file, in logs and beside the locks that it holds. It is not
 * secret. The secret is 256 random bits. They cannot be guessed, so a slow hash would protect
 * nothing, and one fast hash for each call is enough: BLAKE2b, libsodium's crypto_generichash. Each
 * line of a key file has a separate random salt, which is the key of that hash. So two lines for
 * one secret do not look alike, and an attacker cannot test a guess against all lines at once.
 *
 * Functions here take the same time for each secret of the right length. Any thread, after
 * sodium_init(). */
#ifndef API_AUTH_SECRET_H
#define API_AUTH_SECRET_H

#include "fence/protocol/error.h"
#include "fence/protocol/limits.h"

#include <stdbool.h>
#include <stddef.h>

#define API_KEY_SCHEME "pawl_"

enum {
    API_SECRET_LEN = 43, /* characters of base64url: 32 bytes, without padding */
    API_KEY_TEXT_MAX = sizeof(API_KEY_SCHEME) + FENCE_KEY_ID_MAX + 1 + API_SECRET_LEN,
    API_SALT_BYTES = 16,           /* crypto_generichash_KEYBYTES_MIN */
    API_DIGEST_BYTES = 32,         /* crypto_generichash_BYTES */
    API_DIGEST_TEXT = 22 + 1 + 43, /* salt and digest in base64url, with a '.' between them */
};

/* A key, taken apart. Wipe it with sodium_memzero() after use. */
struct api_key_text {
    char id[FENCE_KEY_ID_MAX + 1]; /* padded with zeros */
    char secret[API_SECRET_LEN + 1];
};

/* The stored form of a secret. */
struct api_digest {
    unsigned char salt[API_SALT_BYTES];
    unsigned char hash[API_DIGEST_BYTES];
};

/* Takes a key apart. FENCE_EINVAL: @text is no key. */
FENCE_CHECKED int api_key_text_read(const char *text, struct api_key_text *ret_key);

/* Writes the key, terminated. */
void api_key_text_write(const struct api_key_text *key, char ret_text[static API_KEY_TEXT_MAX]);

/* A new secret. */
void api_secret_make(char ret_secret[static API_SECRET_LEN + 1]);

/* The digest of @secret under a new salt. */
void api_digest_make(const char secret[static API_SECRET_LEN], struct api_digest *ret_digest);

/* Reports whether @digest is that of @secret; in constant time. */
bool api_digest_matches(const struct api_digest *digest, const char secret[static API_SECRET_LEN]);

/* "<salt>.<hash>", terminated; and back. FENCE_EINVAL: @text is none. */
void api_digest_write(const struct api_digest *digest, char ret_text[static API_DIGEST_TEXT + 1]);
FENCE_CHECKED int api_digest_read(const char *text, struct api_digest *ret_digest);

#endif
