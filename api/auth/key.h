/* A key as the service knows it: one line of a key file, with its rights.
 *
 *     <id> hash=<salt>.<hash> role=<role> prefix=<prefix>... [rate=<n>] [burst=<n>] [held=<n>]
 *          [subject=<common name>]
 *
 * on one line. Spaces or tabs separate the words. subject= comes last, and extends to the end of
 * the line, as a common name may have spaces. prefix=* allows all names. Prefixes are compared byte
 * by byte: "orders" allows "orders-of-others" too, and "orders/" does not.
 *
 * A key lives as long as there is a reference to it: from the set of its file, and from requests
 * that use it. It does not change. Any thread. */
#ifndef API_AUTH_KEY_H
#define API_AUTH_KEY_H

#include "api/auth/right.h"
#include "api/auth/secret.h"
#include "api/auth/usage.h"

#include <stdatomic.h>
#include <stdint.h>

enum {
    API_KEY_LINE_MAX = 4096,    /* bytes of a line of a key file */
    API_KEY_PREFIXES_MAX = 16,  /* in one key */
    API_KEY_SUBJECT_MAX = 64,   /* bytes of a common name (RFC 5280, ub-common-name) */
    API_KEY_RATE_MAX = 1000000, /* calls a second, and calls of a burst */
    API_KEY_HELD_MAX = 10000,   /* locks held at once, where there is a cap */
    API_KEY_WHY_MAX = 256,      /* bytes of a sentence that says what is wrong, terminated */
};

struct api_key {
    atomic_uint refs;
    char id[FENCE_KEY_ID_MAX + 1]; /* padded with zeros */
    struct api_digest digest;
    enum api_right right; /* its role */
    unsigned prefixes_count;
    const char *prefixes[API_KEY_PREFIXES_MAX]; /* "": all names */
    uint32_t rate;                              /* calls a second; 0: no limit */
    uint32_t burst;                             /* calls at once; not 0 if @rate is not 0 */
    uint32_t held;                              /* locks at once; 0: no cap */
    const char *subject;                        /* subject of a client certificate; NULL: none */
    struct api_usage *usage; /* its usage; shared with its successor of the same id */
    char line[];             /* the text that the pointers point into */
};

/* Reads a line that is neither blank nor a comment. The caller gets the only reference.
 * FENCE_EINVAL: the line is wrong, and @ret_why says what to do. FENCE_ENOMEM. */
FENCE_CHECKED int api_key_parse(const char *line, size_t len, char ret_why[static API_KEY_WHY_MAX],
                                struct api_key **ret_key);

/* Add a reference, and remove one. NULL is fine for the second. */
struct api_key *api_key_ref(struct api_key *key);
void api_key_unref(struct api_key *key);

/* Reports whether a name is within the prefixes of @key. For a prefix of names: whether each name
 * that begins with it is. */
bool api_key_reaches(const struct api_key *key, const char *name);

/* True if @prefix may stand in a key file: some resource begins with it. */
bool api_key_prefix_valid(const char *prefix);

#endif
