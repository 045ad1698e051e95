/* Calls to the services as any client makes them, and what every answer has to look like. One
 * thread. */
#ifndef TESTS_SYSTEM_CALLS_H
#define TESTS_SYSTEM_CALLS_H

#include "fence/protocol/limits.h"
#include "tests/lib/http.h"

#include <stdint.h>

enum {
    CALL_PATH_MAX = 1024, /* bytes of a path, terminated */
};

/* Sends one request to 127.0.0.1:@port, over its own connection, as http_request() does.
 * Returns its answer, which stays until the next call. Status 0: there was none. */
const struct http_response *call(uint16_t port, const char *method, const char *path,
                                 const char *headers, const char *body);

/* Sends a request without waiting for its answer: for a call that takes its time. The answer is
 * fetched with call_end(), which closes the connection too. */
struct http *call_begin(uint16_t port, const char *method, const char *path, const char *body);
const struct http_response *call_end(struct http *http);

/* ---- the locks of pawld ---------------------------------------------------------------------- */

/* The parts of a grant that a holder keeps. */
struct grant {
    char lock_id[FENCE_LOCK_ID_LEN + 1];
    int64_t token;
    int64_t validity_ms;
};

/* POST /v1/locks/@resource with @body (NULL: none). Like the calls below it is repeated a few times
 * while no majority is found: on a busy machine, masters that are well may miss their deadline. */
const struct http_response *call_acquire(uint16_t port, const char *resource, const char *body);

/* The same without repeating. */
const struct http_response *call_acquire_once(uint16_t port, const char *resource,
                                              const char *body);

/* call_acquire(), which has to succeed. */
struct grant call_grant(uint16_t port, const char *resource, const char *body);

/* The content of a grant. Fails the test if @response is none. */
struct grant grant_of(const struct http_response *response);

/* Extends @grant, which has to succeed, also as a grant again: then @grant is that one. Returns the
 * answer. */
const struct http_response *call_keep(uint16_t port, const char *resource, struct grant *grant,
                                      const char *body);

/* PATCH, DELETE and GET. @grant gives the Lock-Id, and the Fencing-Token where one is due. */
const struct http_response *call_extend(uint16_t port, const char *resource,
                                        const struct grant *grant, const char *body);
const struct http_response *call_release(uint16_t port, const char *resource,
                                         const struct grant *grant);
const struct http_response *call_inspect(uint16_t port, const char *resource);

/* Expects an inspection to say that the lock @resource is held, and to tell no token but that of
 * @grant. None is told where the masters that answer first differ: those that an acquire again did
 * not ask have the lock under an older one. */
void call_expect_held(uint16_t port, const char *resource, const struct grant *grant);

/* Releases a grant that is still held. */
void call_give_back(uint16_t port, const char *resource, const struct grant *grant);

/* ---- the named counters of pawld ------------------------------------------------------------- */

/* POST /v1/counters/@name with @body (NULL: none), repeated as an acquire is, or not; and GET. A
 * repeated one may have taken values before. */
const struct http_response *call_count(uint16_t port, const char *name, const char *body);
const struct http_response *call_count_once(uint16_t port, const char *name, const char *body);
const struct http_response *call_read_counter(uint16_t port, const char *name);

/* The words of either. Fails the test if @response has no value. */
int64_t call_value(const struct http_response *response);

/* ---- answers --------------------------------------------------------------------------------- */

/* Fails the test, at the line that says this, unless @response is JSON with @status and exactly
 * @members members, and may not be stored by a cache. */
#define EXPECT_JSON(response, status, members)                                                     \
    expect_json_at(response, status, members, __FILE__, __LINE__)
void expect_json_at(const struct http_response *response, int status, size_t members,
                    const char *file, int line);

/* The same for a problem (RFC 9457) of type urn:pawl:@name: all its members are there, and @extra
 * ones beside them. */
#define EXPECT_PROBLEM(response, status, name, extra)                                              \
    expect_problem_at(response, status, name, extra, __FILE__, __LINE__)
void expect_problem_at(const struct http_response *response, int status, const char *name,
                       size_t extra, const char *file, int line);

/* Fails the test unless the header is there and its value is @value. */
#define EXPECT_HEADER(response, name, value)                                                       \
    expect_header_at(response, name, value, __FILE__, __LINE__)
void expect_header_at(const struct http_response *response, const char *name, const char *value,
                      const char *file, int line);

/* "masters" of a grant or an extension: @granted at least, of @total. */
void expect_masters(const struct http_response *response, int64_t granted, int64_t total);

#endif
