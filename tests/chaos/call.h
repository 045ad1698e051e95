/* One HTTP request to a service that may be stopped, gone, cut off or late. Unlike tests/lib/http.h
 * it never fails a test: no answer is an outcome. */
#ifndef TESTS_CHAOS_CALL_H
#define TESTS_CHAOS_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

struct call_request {
    uint16_t port; /* on 127.0.0.1 */
    const char *method;
    const char *path;
    const char *headers; /* whole lines, each with its "\r\n"; or NULL */
    const char *body;    /* JSON, or NULL */
    unsigned timeout_ms; /* for all of it */
    bool loses_answer;   /* as if it had never come, though the service believes so */
};

struct call_answer {
    int status;   /* 0: no whole answer came in time, so the outcome is unknown */
    json_t *json; /* the body; NULL where it is not JSON */
};

/* Sends @request over its own connection. The caller gives the answer back with
 * call_answer_fini(). */
void call(const struct call_request *request, struct call_answer *ret_answer);
void call_answer_fini(struct call_answer *answer);

/* The member @name of the answer: 0 or NULL where there is none. */
int64_t call_integer(const struct call_answer *answer, const char *name);
const char *call_string(const struct call_answer *answer, const char *name);

#endif
