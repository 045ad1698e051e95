#include "tests/system/calls.h"

#include "tests/lib/case.h"
#include "tests/lib/wait.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HEADERS_MAX = 256,
    TRIES = 20,
    PAUSE_MS = 100,
};

/* The answer that the last call returned. */
static struct http_response last;

const struct http_response *call(uint16_t port, const char *method, const char *path,
                                 const char *headers, const char *body)
{
    http_response_fini(&last);
    http_once(port, method, path, headers, body, &last);
    return &last;
}

struct http *call_begin(uint16_t port, const char *method, const char *path, const char *body)
{
    struct http *http = http_connect(port);
    char *request = NULL;
    int len =
        asprintf(&request, "%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %zu\r\n\r\n%s",
                 method, path, strlen(body), body);
    assert_true(len > 0);
    assert_true(http_send(http, request, (size_t)len));
    free(request);
    return http;
}

const struct http_response *call_end(struct http *http)
{
    http_response_fini(&last);
    http_receive(http, false, &last);
    http_close(http);
    return &last;
}

static const struct http_response *lock_call(uint16_t port, const char *method,
                                             const char *resource, const char *headers,
                                             const char *body)
{
    char path[CALL_PATH_MAX];
    snprintf(path, sizeof(path), "/v1/locks/%s", resource);
    return call(port, method, path, headers, body);
}

static bool is_undecided(const struct http_response *response)
{
    return (response->status == 503 && strstr(response->body, "urn:pawl:no-quorum")) ||
           (response->status == 409 && strstr(response->body, "urn:pawl:contended"));
}

static bool was_repeated; /* the last patient_call() */

/* Repeats a call for which no majority was found. On a busy machine masters may miss a deadline,
 * and one that was just taken back may have a lock that was given back meanwhile. */
static const struct http_response *patient_call_of(const char *path, uint16_t port,
                                                   const char *method, const char *headers,
                                                   const char *body)
{
    const struct http_response *response = call(port, method, path, headers, body);
    was_repeated = false;
    for (int i = 1; i < TRIES && is_undecided(response); i++) {
        was_repeated = true;
        wait_ms(PAUSE_MS);
        response = call(port, method, path, headers, body);
    }
    return response;
}

static const struct http_response *patient_call(uint16_t port, const char *method,
                                                const char *resource, const char *headers,
                                                const char *body)
{
    char path[CALL_PATH_MAX];
    snprintf(path, sizeof(path), "/v1/locks/%s", resource);
    return patient_call_of(path, port, method, headers, body);
}

const struct http_response *call_acquire(uint16_t port, const char *resource, const char *body)
{
    return patient_call(port, "POST", resource, NULL, body);
}

const struct http_response *call_acquire_once(uint16_t port, const char *resource, const char *body)
{
    return lock_call(port, "POST", resource, NULL, body);
}

struct grant call_grant(uint16_t port, const char *resource, const char *body)
{
    return grant_of(call_acquire(port, resource, body));
}

struct grant grant_of(const struct http_response *response)
{
    if (response->status != 201)
        fail_msg("no grant, but %d %s", response->status, response->body);
    struct grant grant = {
        .token = http_integer(response, "token"),
        .validity_ms = http_integer(response, "validity_ms"),
    };
    snprintf(grant.lock_id, sizeof(grant.lock_id), "%s", http_string(response, "lock_id"));
    return grant;
}

const struct http_response *call_extend(uint16_t port, const char *resource,
                                        const struct grant *grant, const char *body)
{
    char headers[HEADERS_MAX];
    snprintf(headers, sizeof(headers), "Lock-Id: %s\r\nFencing-Token: %lld\r\n", grant->lock_id,
             (long long)grant->token);
    return patient_call(port, "PATCH", resource, headers, body);
}

const struct http_response *call_keep(uint16_t port, const char *resource, struct grant *grant,
                                      const char *body)
{
    const struct http_response *response = call_extend(port, resource, grant, body);
    if (response->status != 200 && response->status != 201)
        fail_msg("not extended, but %d %s", response->status, response->body);
    if (response->status == 201) {
        assert_string_equal(http_string(response, "lock_id"), grant->lock_id);
        assert_true(http_integer(response, "token") >= grant->token);
        grant->token = http_integer(response, "token");
    }
    grant->validity_ms = http_integer(response, "validity_ms");
    return response;
}

const struct http_response *call_release(uint16_t port, const char *resource,
                                         const struct grant *grant)
{
    char headers[HEADERS_MAX];
    snprintf(headers, sizeof(headers), "Lock-Id: %s\r\n", grant->lock_id);
    return patient_call(port, "DELETE", resource, headers, NULL);
}

const struct http_response *call_inspect(uint16_t port, const char *resource)
{
    return patient_call(port, "GET", resource, NULL, NULL);
}

void call_expect_held(uint16_t port, const char *resource, const struct grant *grant)
{
    const struct http_response *response = call_inspect(port, resource);
    assert_true(http_boolean(response, "held"));
    if (!json_is_null(json_object_get(response->json, "token")))
        assert_int_equal(http_integer(response, "token"), grant->token);
}

void call_give_back(uint16_t port, const char *resource, const struct grant *grant)
{
    const struct http_response *response = call_release(port, resource, grant);
    assert_true(http_boolean(response, "released") ||
                was_repeated); /* left by a call without an answer */
}

const struct http_response *call_count(uint16_t port, const char *name, const char *body)
{
    char path[CALL_PATH_MAX];
    snprintf(path, sizeof(path), "/v1/counters/%s", name);
    return patient_call_of(path, port, "POST", NULL, body);
}

const struct http_response *call_count_once(uint16_t port, const char *name, const char *body)
{
    char path[CALL_PATH_MAX];
    snprintf(path, sizeof(path), "/v1/counters/%s", name);
    return call(port, "POST", path, NULL, body);
}

const struct http_response *call_read_counter(uint16_t port, const char *name)
{
    char path[CALL_PATH_MAX];
    snprintf(path, sizeof(path), "/v1/counters/%s", name);
    return patient_call_of(path, port, "GET", NULL, NULL);
}

int64_t call_value(const struct http_response *response)
{
    if (response->status != 200)
        fail_msg("no value, but %d %s", response->status, response->body);
    return http_integer(response, "value");
}

/* Fails at @file and @line, showing what was expected and the whole answer that came. */
static void blame(const struct http_response *response, const char *file, int line,
                  const char *format, ...) __attribute__((format(printf, 4, 5)));

static void blame(const struct http_response *response, const char *file, int line,
                  const char *format, ...)
{
    char expected[2 * HEADERS_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(expected, sizeof(expected), format, args);
    va_end(args);
    /* Not print_error(): it cuts a text after a thousand bytes. */
    fprintf(stderr, "expected: %s\ncame:\n%s%s\n", expected, response->head, response->body);
    _fail(file, line);
}

void expect_header_at(const struct http_response *response, const char *name, const char *value,
                      const char *file, int line)
{
    char found[HEADERS_MAX];
    (void)http_header(response, name, found, sizeof(found));
    if (strcmp(found, value) != 0)
        blame(response, file, line, "%s: %s", name, value);
}

static void expect_object(const struct http_response *response, int status, size_t members,
                          const char *file, int line)
{
    if (response->status != status)
        blame(response, file, line, "status %d, not %d", status, response->status);
    if (!json_is_object(response->json))
        blame(response, file, line, "a JSON object");
    if (json_object_size(response->json) != members)
        blame(response, file, line, "%zu members, not %zu", members,
              json_object_size(response->json));
    expect_header_at(response, "Cache-Control", "no-store", file, line);
}

void expect_json_at(const struct http_response *response, int status, size_t members,
                    const char *file, int line)
{
    expect_object(response, status, members, file, line);
    expect_header_at(response, "Content-Type", "application/json", file, line);
}

void expect_problem_at(const struct http_response *response, int status, const char *name,
                       size_t extra, const char *file, int line)
{
    enum {
        PROBLEM_MEMBERS = 4
    }; /* type, title, status, detail */
    char type[64];
    snprintf(type, sizeof(type), "urn:pawl:%s", name);
    expect_object(response, status, PROBLEM_MEMBERS + extra, file, line);
    expect_header_at(response, "Content-Type", "application/problem+json", file, line);
    if (strcmp(http_string(response, "type"), type) != 0)
        blame(response, file, line, "type %s, not %s", type, http_string(response, "type"));
    if (http_integer(response, "status") != status)
        blame(response, file, line, "status %d in the body", status);
    const char *detail = http_string(response, "detail");
    if (http_string(response, "title")[0] == '\0' || detail[0] == '\0' ||
        detail[strlen(detail) - 1] != '.')
        blame(response, file, line, "a title, and a detail that is a sentence");
}

void expect_masters(const struct http_response *response, int64_t granted, int64_t total)
{
    const json_t *masters = json_object_get(response->json, "masters");
    assert_int_equal(json_object_size(masters), 2);
    assert_int_equal(json_integer_value(json_object_get(masters, "total")), total);
    assert_in_range(json_integer_value(json_object_get(masters, "granted")), granted, total);
}
