/* Answers: as a handler gives them, and as the transport gets them. */
#ifndef API_HTTP_ANSWER_H
#define API_HTTP_ANSWER_H

#include "api/http/outcome.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    API_FIELDS_MAX = 4,                           /* header fields that an answer may add */
    API_RESPONSE_FIELDS_MAX = API_FIELDS_MAX + 6, /* and the headers that api/http/request.c adds */
};

struct api_field {
    const char *name;
    const char *value;
};

struct api_answer {
    unsigned status;
    const char *content_type;  /* NULL: application/json */
    const char *cache_control; /* NULL: no-store */
    enum api_outcome outcome;  /* 0: done */
    const char *body;
    size_t len;
    bool is_lasting; /* @body lasts as long as the program: it is sent without a copy */
    struct api_field fields[API_FIELDS_MAX]; /* up to the first without a name */
};

/* An answer with all its header fields, except the fields of the connection itself. */
struct api_response {
    unsigned status;
    const char *body;
    size_t len;
    bool is_lasting;
    bool closes; /* the connection ends with this answer */
    struct api_field fields[API_RESPONSE_FIELDS_MAX];
    unsigned fields_count;
};

#endif
