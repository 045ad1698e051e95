/* A key as the service knows it: one line of a key file, and what it allows.
 *
 *     <id> hash=<salt>.<hash> role=<role> prefix=<prefix>... [rate=<n>] [burst=<n>] [held=<n>]
 *          [subject=<common name>]
 *
 * on one line. Words are apart by spaces or tabs. subject= comes last, and reaches to the end of
 * the line, as a common name may have spaces. prefix=* allows all names. A prefix is a matter of
 * bytes: "orders" allows "orders-of-others" too, and "orders/" does not.
 *
 * A key lives as long as somebody refers to it: the set that it was read into, and requests that it
 * was sent with. It does not change. Any thread. */
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
    uint32_t burst;                             /* calls at once; not 0 where rate is not */
    uint32_t held;                              /* locks at once; 0: no cap */
    const char *subject;                        /* subject of a client certificate; NULL: none */
    struct api_usage *usage; /* its usage; shared with its successor of the same id */
    char line[];             /* the text that the pointers point into */
};

/* Reads a line that is neither blank nor a comment. The caller has the one reference. FENCE_EINVAL:
 * it is wrong, and @ret_why says what to do. FENCE_ENOMEM. */
FENCE_CHECKED int api_key_parse(const char *line, size_t len, char ret_why[static API_KEY_WHY_MAX],
                                struct api_key **ret_key);

/* One more reference, and one fewer. NULL is fine for the second. */
struct api_key *api_key_ref(struct api_key *key);
void api_key_unref(struct api_key *key);

/* Reports whether a name is within the prefixes of @key. For a prefix of names: whether each name
 * that begins with it is. */
bool api_key_reaches(const struct api_key *key, const char *name);

/* True if @prefix may stand in a key file: some resource begins with it. */
bool api_key_prefix_valid(const char *prefix);

#endif
