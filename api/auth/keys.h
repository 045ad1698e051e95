/* A set of keys: what a key file says. It is read as a whole, or refused as a whole, and does not
 * change afterwards. Any thread. */
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

/* One more user of the set, and one fewer. NULL is fine for the second. */
struct api_keys *api_keys_ref(struct api_keys *keys);
void api_keys_unref(struct api_keys *keys);

unsigned api_keys_count(const struct api_keys *keys);

/* The key that @text, "pawl_<id>_<secret>", is; NULL: none. It is borrowed from the set. An id that
 * is not known costs the same hash and the same comparison as a wrong secret: the two cannot be
 * told apart by their time. */
struct api_key *api_keys_verify(const struct api_keys *keys, const char *text);

/* Reports whether a key has this id. */
bool api_keys_has(const struct api_keys *keys, const char *id);

/* The key for holders of a client certificate with this common name; NULL: none. The certificate
 * must be verified. */
struct api_key *api_keys_of_subject(const struct api_keys *keys, const char *subject);

/* No key with a cap on locks holds the lock of @mark any more. It looks at each key of the set. */
void api_keys_release(const struct api_keys *keys, struct api_usage_mark mark, uint64_t seats);

/* Lets each key of @keys go on with what the key of the same id in @before has used up. Before
 * others see @keys. */
void api_keys_succeed(struct api_keys *keys, const struct api_keys *before);

#endif
