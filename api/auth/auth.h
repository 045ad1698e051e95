/* Callers and their keys, for an HTTP server: finds the key of each request, and its rights. Each
 * worker has its own; all workers share the keyring.
 *
 *     two Authorization headers    400 invalid             on each path and method alike
 *     no key                       401 key-required        the same
 *     a key that is not known      401 key-required        whatever is wrong with it
 *     its rate is used up          429 rate-limited
 *     no right for the route       403 not-allowed
 *     no prefix for the name       403 not-allowed
 *     too many locks               409 too-many-held
 *
 * A request without an Authorization header is one of the key whose subject is the common name of
 * the client's certificate (api_request_subject()). A route whose right is API_RIGHT_NONE is served
 * in any case. The functions for requests allow everything where the server has no access
 * callbacks. */
#ifndef API_AUTH_AUTH_H
#define API_AUTH_AUTH_H

#include "api/auth/keyring.h"
#include "api/http/access.h"
#include "api/http/request.h"
#include "fence/protocol/error.h"

struct api_auth;

/* @ring is borrowed. FENCE_ENOMEM. */
FENCE_CHECKED int api_auth_new(struct api_keyring *ring, struct api_auth **ret_auth);

/* The server that has its callbacks is freed. NULL is fine. */
void api_auth_free(struct api_auth *auth);

/* For api_http_config.access. NULL, for no keys, is fine: NULL. */
const struct api_access *api_auth_access(const struct api_auth *auth);

/* ---- what a handler asks ------------------------------------------------------------------ */

/* Reports whether the caller has @right on @name: a resource, or the prefix of a listing.
 * api_input_resource() has already checked the route's own right on a name in the path.
 * FENCE_EINVAL: not allowed, answered. */
FENCE_CHECKED int api_auth_require(struct api_request *request, enum api_right right,
                                   const char *name);

/* Reports whether the caller may read @name: for lists that leave out other names. */
bool api_auth_may_read(struct api_request *request, const char *name);

/* Reports whether the caller is known: always true if the server has no keys. */
bool api_auth_is_known(struct api_request *request);

/* Reports whether the caller may see that the key @key_id holds a lock: an admin, and the key
 * itself. */
bool api_auth_sees_key(struct api_request *request, const char *key_id);

/* ---- the cap on locks --------------------------------------------------------------------- */

/* Reserves locks on these @count resources, at most FENCE_GROUP_MAX. @lock_id is the caller's own:
 * locks that it already holds under that id do not count again, as this may be a retry. NULL: a
 * fresh id. FENCE_EINVAL: too many, answered. */
FENCE_CHECKED int api_auth_reserve(struct api_request *request, const char *lock_id,
                                   const char *const resources[], unsigned count);

/* Reserves one of the first @seats seats of @name, any of them. If @lock_id already holds one of
 * these seats, that seat counts. */
FENCE_CHECKED int api_auth_reserve_seat(struct api_request *request, const char *lock_id,
                                        const char *name, unsigned seats);

/* One of these was granted for @ttl_ms. The other reservations end with the request. */
void api_auth_granted(struct api_request *request, const char *lock_id, const char *resource,
                      uint32_t ttl_ms);

/* The same for a writer, which counts as one lock: it was granted all @seats seats of @name. It was
 * reserved by the name of its gate, and counts until each seat is released. */
void api_auth_granted_all(struct api_request *request, const char *lock_id, const char *name,
                          unsigned seats, uint32_t ttl_ms);

/* The lock was released, and its name stays closed for up to @keep_ms: it counts that long. */
void api_auth_kept(struct api_request *request, const char *lock_id, const char *resource,
                   uint32_t keep_ms);

/* A lock was extended by @ttl_ms; it is held no longer. */
void api_auth_extended(struct api_request *request, const char *lock_id, const char *resource,
                       uint32_t ttl_ms);
void api_auth_ended(struct api_request *request, const char *lock_id, const char *resource);

/* The caller broke another caller's lock: whichever key of this process held the lock no longer
 * holds it. */
void api_auth_broken(struct api_request *request, const char *lock_id, const char *resource);

#endif
