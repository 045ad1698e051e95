/* Problems: the answer to an HTTP client when a call fails (RFC 9457, application/problem+json).
 * One table turns errors into problems. This file knows no requests: see api/http/problem_answer.h.
 *
 *     {"type":"urn:pawl:held","title":"...","status":409,"detail":"...", ...}
 *
 * The detail is a sentence that says what to do. */
#ifndef API_HTTP_PROBLEM_H
#define API_HTTP_PROBLEM_H

#include "api/json/writer.h"
#include "fence/protocol/error.h"

/* The table. @error 0: only the HTTP layer reports this problem, and no error of the protocol.
 *
 *     problem                   error               status  name  title  detail */
#define API_PROBLEMS(X)                                                                            \
    X(API_PROBLEM_HELD, FENCE_EHELD, 409, "held", "The lock is held",                              \
      "Another holder has the lock. Retry after retry_after_ms, or send wait_ms to wait for the "  \
      "lock.")                                                                                     \
    X(API_PROBLEM_WAIT_TIMEOUT, FENCE_EWAITTIMEOUT, 409, "wait-timeout", "The wait timed out",     \
      "The lock did not become free within wait_ms. Retry, or send a longer wait_ms.")             \
    X(API_PROBLEM_CONTENDED, FENCE_ECONTENDED, 409, "contended", "No caller got a majority",       \
      "Several callers competed, and no caller got a majority. Retry after a short "               \
      "random delay.")                                                                             \
    X(API_PROBLEM_LOCK_LOST, FENCE_ELOCKLOST, 409, "lock-lost", "The lock is lost",                \
      "The lock is no longer held under this Lock-Id and Fencing-Token. Stop the work and "        \
      "acquire the lock again.")                                                                   \
    X(API_PROBLEM_LOCK_BROKEN, FENCE_EBROKEN, 409, "lock-broken", "The lock was broken",           \
      "An operator force-released this lock. Stop the work. Writes that you already made "         \
      "with its token remain.")                                                                    \
    X(API_PROBLEM_EXHAUSTED, FENCE_EEXHAUSTED, 409, "extensions-exhausted",                        \
      "The lock has reached its extension limit",                                                  \
      "The lock cannot be extended again. Finish the work, release the lock, and acquire it "      \
      "again.")                                                                                    \
    X(API_PROBLEM_NO_QUORUM, FENCE_ENOQUORUM, 503, "no-quorum", "No majority of masters",          \
      "Too few masters answered or were able to vote. The field 'masters' shows the result of "    \
      "each master. GET /v1/fleet shows the reasons. Retry later.")                                \
    X(API_PROBLEM_FOREIGN_LOCK, FENCE_EFOREIGN, 409, "foreign-lock",                               \
      "Another program wrote the key of the lock",                                                 \
      "On the masters that refused, Pawl did not write the key of this lock. Delete the key on "   \
      "these masters.")                                                                            \
    X(API_PROBLEM_NO_EXPIRY, FENCE_EENDLESS, 409, "no-expiry", "The lock has no expiry",           \
      "The key of this lock on the masters has no expiry. Set an expiry (PEXPIRE), or delete the " \
      "key.")                                                                                      \
    X(API_PROBLEM_WRITERS_SEAT, FENCE_EWRITERS, 409, "writers-seat", "A writer holds this seat",   \
      "A writer holds all seats of this name. Send DELETE to /v1/rwlocks/{name} without a "        \
      "seat. To release the writer, send its Lock-Id. To break the writer, send ?force=true "      \
      "and If-Match.")                                                                             \
    X(API_PROBLEM_COUNTER_USED_UP, FENCE_ESPENT, 409, "counter-used-up", "The counter is used up", \
      "The counter of this name has reached 2^53 - 1. Use another name.")                          \
    X(API_PROBLEM_FOREIGN_COUNTER, FENCE_EMISCOUNTED, 409, "foreign-counter",                      \
      "Another program wrote the counter",                                                         \
      "On the masters that refused, Pawl did not write the counter of this name. Repair the "      \
      "counter on these masters.")                                                                 \
    X(API_PROBLEM_COUNTERS, FENCE_ECOUNTERS, 409, "too-many-counters", "Too many named counters",  \
      "The limit --max-counters is reached. Restart each pawld with a higher limit, or use "       \
      "existing names.")                                                                           \
    X(API_PROBLEM_NO_COUNTER, 0, 404, "no-such-counter", "Unknown counter",                        \
      "No counter has this name. Check the spelling of the name, or create the counter with "      \
      "POST.")                                                                                     \
    X(API_PROBLEM_TOO_SLOW, FENCE_ETOOSLOW, 503, "too-slow", "The masters were too slow",          \
      "The lease ended before the masters had answered. Retry, or use a longer ttl_ms.")           \
    X(API_PROBLEM_NOT_READY, FENCE_ENOTREADY, 503, "not-ready", "The service is not ready",        \
      "The service has not reached a majority of its masters. GET /v1/fleet shows the reasons. "   \
      "Retry later.")                                                                              \
    X(API_PROBLEM_STOPPING, 0, 503, "stopping", "The service is stopping",                         \
      "This pawld is shutting down. The outcome of the call is unknown. Retry at another pawld.")  \
    X(API_PROBLEM_LEFT, FENCE_ELEFT, 503, "client-left", "The client left",                        \
      "The connection was closed before the answer, or the client sent more than 32768 bytes "     \
      "after the request. The lock was not kept. Acquire the lock again, and keep the "            \
      "connection open until the answer.")                                                         \
    X(API_PROBLEM_BUSY, FENCE_EBUSY, 429, "busy", "Too many calls in progress",                    \
      "The service has reached its limit of calls in progress. Retry after the time in the "       \
      "Retry-After header.")                                                                       \
    X(API_PROBLEM_WAITERS, FENCE_EWAITERS, 429, "too-many-waiters", "Too many waiters",            \
      "The queue of waiters is full. Retry later, or call without wait_ms.")                       \
    X(API_PROBLEM_STALE_TOKEN, FENCE_ESTALE, 412, "stale-token", "The fencing token is stale",     \
      "A higher token has already been used. Stop the work, acquire the lock again, and read the " \
      "data again.")                                                                               \
    X(API_PROBLEM_VERSION_MISMATCH, FENCE_ECONFLICT, 412, "version-mismatch",                      \
      "The version does not match",                                                                \
      "The record has changed since you read it. Read the record again, then decide whether to "   \
      "write.")                                                                                    \
    X(API_PROBLEM_TOKEN_MISMATCH, FENCE_EMISMATCH, 412, "token-mismatch",                          \
      "Another grant has the lock",                                                                \
      "The grant with the token in If-Match does not hold the lock. Nothing was changed. Show "    \
      "the lock again, then decide whether to break it.")                                          \
    X(API_PROBLEM_TOKEN_REQUIRED, 0, 428, "token-required", "A fencing token is required",         \
      "Send the token of the lock's grant in the Fencing-Token header.")                           \
    X(API_PROBLEM_INVALID, FENCE_EINVAL, 400, "invalid", "The request is invalid",                 \
      "Correct the request, because the same request would be refused again.")                     \
    X(API_PROBLEM_TTL, FENCE_ETTL, 400, "invalid", "The request is invalid",                       \
      "ttl_ms is longer than the fleet allows. Send at most ttl_max_ms.")                          \
    X(API_PROBLEM_NOT_FOUND, FENCE_ENOENT, 404, "not-found", "Unknown path",                       \
      "Nothing exists at this path. Check the spelling of the path.")                              \
    X(API_PROBLEM_METHOD, 0, 405, "method-not-allowed", "The method is not allowed",               \
      "Use one of the methods in the Allow header.")                                               \
    X(API_PROBLEM_TOO_LARGE, 0, 413, "too-large", "The body is too large",                         \
      "Send a body of at most 65536 bytes.")                                                       \
    X(API_PROBLEM_MEDIA_TYPE, 0, 415, "unsupported-media-type", "The body is not JSON",            \
      "Send the body as JSON, with Content-Type: application/json.")                               \
    X(API_PROBLEM_HEAD, 0, 431, "headers-too-large", "The headers are too large",                  \
      "Send at most 5632 bytes of request line and headers. Each header, cookie and query "        \
      "parameter adds 64 bytes to this size.")                                                     \
    X(API_PROBLEM_REQUEST_TIMEOUT, 0, 408, "request-timeout", "The request came too slowly",       \
      "The head or the body of the request did not arrive in time. Send the whole request "        \
      "without pauses.")                                                                           \
    X(API_PROBLEM_KEY_REQUIRED, 0, 401, "key-required", "A key is required",                       \
      "Send the key that the operator gave you: Authorization: Bearer pawl_...")                   \
    X(API_PROBLEM_NOT_ALLOWED, 0, 403, "not-allowed", "The key does not allow this",               \
      "Use a key with the missing right or prefix, or ask the operator for such a key.")           \
    X(API_PROBLEM_RATE, 0, 429, "rate-limited", "Too many calls with this key",                    \
      "The key has used up its rate of calls. Retry after the time in the Retry-After header.")    \
    X(API_PROBLEM_TOO_MANY_HELD, 0, 409, "too-many-held", "The key holds too many locks",          \
      "With this call, the key would hold more locks than its cap allows. Release a lock first.")  \
    X(API_PROBLEM_CROSS_SITE, 0, 403, "cross-site", "The request comes from another site",         \
      "A web page of another site must not change anything. To allow the page, start the "         \
      "service with --cors-origin and the origin of the page. Other clients must send neither "    \
      "Origin nor Sec-Fetch-Site.")                                                                \
    X(API_PROBLEM_UNKNOWN_HOST, 0, 403, "cross-site", "Unknown Host header",                       \
      "Send an IP address or localhost as Host, or start the service with --host and this name. "  \
      "A proxy must not change Host.")                                                             \
    X(API_PROBLEM_INTERNAL, FENCE_EIO, 500, "internal", "The service failed",                      \
      "The storage of the service failed. The log of the service has the reason.")                 \
    X(API_PROBLEM_NO_MEMORY, FENCE_ENOMEM, 503, "no-memory", "The service is out of memory",       \
      "Retry later.")

enum api_problem {
#define API_PROBLEM_ENUM(problem, error, status, name, title, detail) problem,
    API_PROBLEMS(API_PROBLEM_ENUM)
#undef API_PROBLEM_ENUM
};

enum {
    API_DETAIL_MAX = 512,        /* bytes of a detail, terminated; longer ones are cut */
    API_PROBLEM_BODY_MAX = 4096, /* bytes of a whole problem, with its extra members */
};

/* Returns the problem for a FENCE_E... @error; API_PROBLEM_INTERNAL if the table has none. */
enum api_problem api_problem_of(int error);

unsigned api_problem_status(enum api_problem problem);
const char *api_problem_name(enum api_problem problem);

/* Begins the body of a problem. The caller may add members with api/json/writer.h, and ends the
 * object. @detail NULL: the detail in the table. */
void api_problem_begin(struct api_writer *writer, char body[static API_PROBLEM_BODY_MAX],
                       enum api_problem problem, const char *detail);

#endif
