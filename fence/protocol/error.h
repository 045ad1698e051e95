/* The list of all errors. A function that can fail returns 0 or one of these errors. Errors are
 * negative, and the compiler makes the caller check the result (FENCE_CHECKED). */
#ifndef FENCE_PROTOCOL_ERROR_H
#define FENCE_PROTOCOL_ERROR_H

#include "fence/base/checked.h"

#include <stdbool.h>

/*     name           code  what it means */
#define FENCE_ERRORS(X)                                                                            \
    X(FENCE_EHELD, -1, "another holder has the lock")                                              \
    X(FENCE_EWAITTIMEOUT, -2, "the lock did not become free within the wait")                      \
    X(FENCE_ECONTENDED, -3, "several contenders split the masters and none won")                   \
    X(FENCE_ENOQUORUM, -4, "a majority of the masters did not answer")                             \
    X(FENCE_ETOOSLOW, -5, "the masters answered after the lease had run out")                      \
    X(FENCE_ENOTREADY, -6, "the service does not know a majority of its fleet")                    \
    X(FENCE_ELOCKLOST, -7, "the lock is no longer held under this id and token")                   \
    X(FENCE_EEXHAUSTED, -8, "the lock was extended as often as allowed")                           \
    X(FENCE_EBUSY, -9, "more calls are under way than the service takes")                          \
    X(FENCE_ESTALE, -10, "the token is older than one this resource has seen")                     \
    X(FENCE_ETTL, -11, "the TTL is longer than the fleet allows")                                  \
    X(FENCE_EINVAL, -12, "a value is malformed or out of bounds")                                  \
    X(FENCE_ENOMEM, -13, "out of memory")                                                          \
    X(FENCE_EIO, -14, "the storage below failed")                                                  \
    X(FENCE_ECONFLICT, -15, "what was compared has changed")                                       \
    X(FENCE_ENOENT, -16, "no such record")                                                         \
    X(FENCE_ELEFT, -17, "the client left before its answer")                                       \
    X(FENCE_EWAITERS, -18, "as many wait already as the service lets wait")                        \
    X(FENCE_EFOREIGN, -19, "the key of the lock holds what Pawl did not write")                    \
    X(FENCE_EENDLESS, -20, "the key of the lock has no expiry")                                    \
    X(FENCE_ESPENT, -21, "the counter of the tokens is used up")                                   \
    X(FENCE_EMISCOUNTED, -22, "the counter of the tokens is no number that Pawl wrote")            \
    X(FENCE_ECOUNTERS, -23, "as many named counters are kept as the service allows")               \
    X(FENCE_EBROKEN, -24, "an operator broke the lock")                                            \
    X(FENCE_EMISMATCH, -25, "another grant than the one with this token holds the lock")           \
    X(FENCE_EWRITERS, -26, "a writer holds the seat together with all others")

enum fence_error {
    FENCE_OK = 0,
#define FENCE_ERROR_ENUM(name, code, text) name = (code),
    FENCE_ERRORS(FENCE_ERROR_ENUM)
#undef FENCE_ERROR_ENUM
};

/* Returns the text of an error: static, never NULL. */
const char *fence_strerror(int error);

/* Reports whether @error says that a key or a counter is in the way. An operator has to repair the
 * key or the counter: retrying does not help. */
bool fence_error_is_obstacle(int error);

#endif
