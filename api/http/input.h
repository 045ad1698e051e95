/* Readers of a request for handlers. Each function succeeds, or has answered the request with 400
 * and the reason; the handler then just returns. */
#ifndef API_HTTP_INPUT_H
#define API_HTTP_INPUT_H

#include "api/http/query.h"
#include "api/http/request.h"
#include "api/json/reader.h"

/* Reads the body into the targets of @members. FENCE_EINVAL: answered. */
FENCE_CHECKED int api_input_body(struct api_request *request, const struct api_json_member *members,
                                 size_t count);

/* Reads the query into the targets of @params. FENCE_EINVAL: answered. */
FENCE_CHECKED int api_input_query(struct api_request *request, const struct api_query_param *params,
                                  size_t count);

/* Reads the Fencing-Token header: 1 to 2^53 - 1 in plain decimal digits. FENCE_EINVAL: malformed,
 * answered. FENCE_ENOENT: there is none; *not* answered, since some calls need no token. */
FENCE_CHECKED int api_input_token(struct api_request *request, int64_t *ret_token);

/* Reads one token from the If-Match header, in double quotes. The same errors. */
FENCE_CHECKED int api_input_if_match(struct api_request *request, int64_t *ret_token);

/* Reads the same header for a call that breaks a grant, which requires it. FENCE_EINVAL: malformed
 * or absent; answered. */
FENCE_CHECKED int api_input_break_token(struct api_request *request, int64_t *ret_token);

/* Reads the Waited-Ms header: how long the client has waited before this call; 0: there is none. A
 * longer time counts as FENCE_WAITED_MAX_MS. FENCE_EINVAL: malformed, answered. */
FENCE_CHECKED int api_input_waited(struct api_request *request, uint32_t *ret_waited_ms);

/* Reads the Lock-Id header. FENCE_EINVAL: missing or malformed, answered. */
FENCE_CHECKED int api_input_lock_id(struct api_request *request, const char **ret_lock_id);

/* The sentence about an invalid resource name; with FENCE_RESOURCE_MAX for the %d. */
#define API_RESOURCE_RULE                                                                          \
    "1 to %d bytes of A-Z a-z 0-9 . _ ~ : @ / - with no empty, \".\" or \"..\" segment."

/* Reads a resource name from parameter @i of the path. FENCE_EINVAL: the name is not valid, or the
 * caller does not have the route's right on it; answered. */
FENCE_CHECKED int api_input_resource(struct api_request *request, unsigned i,
                                     const char **ret_resource);

/* The same for the name of a lock that exists: a resource, or a seat of a semaphore, such as
 * `orders#2`. Its '#' comes as %23. */
FENCE_CHECKED int api_input_lock(struct api_request *request, unsigned i, const char **ret_lock);

/* The same for the name of a semaphore, which is a little shorter. */
FENCE_CHECKED int api_input_semaphore(struct api_request *request, unsigned i,
                                      const char **ret_name);

/* The same for the name of a lock of readers and writers. */
FENCE_CHECKED int api_input_rwlock(struct api_request *request, unsigned i, const char **ret_name);

/* The same for the name of a counter, which keeps to the same rule. */
FENCE_CHECKED int api_input_counter(struct api_request *request, unsigned i, const char **ret_name);

#endif
