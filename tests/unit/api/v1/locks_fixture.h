/* Calls on locks over HTTP, before a backend that notes each call, and gives the answer that the
 * test has set. */
#ifndef TESTS_UNIT_API_V1_LOCKS_FIXTURE_H
#define TESTS_UNIT_API_V1_LOCKS_FIXTURE_H

#include "api/v1/locks.h"

#define LOCK_ID "AAAAAAAAAAAAAAAAAAAAAAAAAAA"
#define ID_LINE "Lock-Id: " LOCK_ID "\r\n"

struct locks_fixture {
    unsigned calls;
    struct fence_call seen; /* the last one; its strings are copied to these */
    char resource[FENCE_RESOURCE_MAX + 1];
    char lock_id[FENCE_LOCK_ID_MAX + 1];
    char owner[FENCE_OWNER_MAX + 1];
    struct fence_group group;
    struct fence_answer next; /* what is answered */
    bool parks;               /* the test answers, later */
    struct fence_fleet fleet;
    struct api_backend backend;
};

extern struct locks_fixture locks;

/* The setup of a case; loop_end() is its end. */
int locks_begin(void **state);

/* Gives what the test has set to the call that was seen last. False: its client has gone. */
bool locks_answer_seen(void);

/* A request with these header lines and this body; valid until the next. */
const char *locks_request(const char *method, const char *resource, const char *lines,
                          const char *body);
const char *locks_request_several(const char *body);
const char *locks_request_seat(const char *body);

/* The request @text is answered with 400 and @word, and the backend was not called. */
void locks_assert_refused(const char *text, const char *word);

#endif
