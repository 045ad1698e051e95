/* A set of keys: the content of a key file. It is read as a whole, or refused as a whole, and does
 * not change afterwards. Any thread. */
#ifndef API_AUTH_KEYS_H
#define API_AUTH_KEYS_H

#include "api/auth/key.h"

enum {
    API_KEYS_MAX = 4096,        /* keys in a file */
    API_KEYS_LINES_MAX = 16384, /* lines in a file, with comments and blank ones */
    API_KEYS_BYTES_MAX = 4 * 1024 * 1024,
    API_KEYS_WHY_MAX = 1024, /* bytes of a sentence about a file, with its name and line */
};

struct api_keys;

/* Reads the file @path. A line that begins with # is a comment. The file must be a regular one that
 * belongs to root or to the user of this process. Only its owner may write it. Only its owner and
 * its group may read it: a reader learns the rights of keys, but no secret.
 *
 * The last line must end with a line break: a truncated line may be valid, and allow more than was
 * meant.
 *
 * FENCE_EINVAL: the file is wrong; FENCE_EIO: it cannot be read. @ret_why is a sentence then that
 * says where and what to do. FENCE_ENOMEM. */
FENCE_CHECKED int api_keys_load(const char *path, char ret_why[static API_KEYS_WHY_MAX],
                                struct api_keys **ret_keys);

/* The same for a text, without a file; @name stands for its name. FENCE_EINVAL, FENCE_ENOMEM. */
FENCE_CHECKED int api_keys_parse(const char *name, const char *text, size_t len,
                                 char ret_why[static API_KEYS_WHY_MAX], struct api_keys **ret_keys);

/* Add a user of the set, and remove one. NULL is fine for the second. */
struct api_keys *api_keys_ref(struct api_keys *keys);
void api_keys_unref(struct api_keys *keys);

unsigned api_keys_count(const struct api_keys *keys);

/* Returns the key for @text, "pawl_<id>_<secret>"; NULL: none. It is borrowed from the set. An
 * unknown id costs the same hash and the same comparison as a wrong secret: timing does not tell
 * the two apart. */
struct api_key *api_keys_verify(const struct api_keys *keys, const char *text);

/* Reports whether a key has this id. */
bool api_keys_has(const struct api_keys *keys, const char *id);

/* The key for holders of a client certificate with this common name; NULL: none. The certificate
 * must be verified. */
struct api_key *api_keys_of_subject(const struct api_keys *keys, const char *subject);

/* Notes that no key with a cap on locks holds the lock of @mark any more. Looks at each key of the
 * set. */
void api_keys_release(const struct api_keys *keys, struct api_usage_mark mark, uint64_t seats);

/* Makes each key of @keys continue with the usage of the key of the same id in @before. Call it
 * before @keys is published. */
void api_keys_succeed(struct api_keys *keys, const struct api_keys *before);

#endif
