/* Services with a key file, and callers with keys of it. */
#ifndef TESTS_SYSTEM_KEYED_H
#define TESTS_SYSTEM_KEYED_H

#include "tests/lib/http.h"

#include <stdint.h>

enum {
    KEYED_HEADERS_MAX = 512,
    KEYED_KEY_MAX = 128,
};

/* Runs `pawl key new` with @options, which adds a line to the key file @file. Copies the key. */
void keyed_new(const char *file, const char *options, char ret_key[static KEYED_KEY_MAX]);

/* A call with @key ("": none) and @headers (whole lines; NULL: none). */
void keyed_call(uint16_t port, const char *key, const char *method, const char *path,
                const char *headers, const char *body, struct http_response *ret_response);

/* The same, when only the status matters. */
int keyed_status(uint16_t port, const char *key, const char *method, const char *path,
                 const char *headers, const char *body);

#endif
