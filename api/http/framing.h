/* The headers that matter, and whether a request's framing can be trusted. Two readings of where a
 * message ends let one request be smuggled inside another (RFC 9112, section 11.2). Pure. */
#ifndef API_HTTP_FRAMING_H
#define API_HTTP_FRAMING_H

#include "api/http/header.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct api_headers {
    const char *value[API_HEADERS]; /* the first of the name; NULL: not there */
    size_t len[API_HEADERS];        /* of it, without the white space at its end */
    bool repeated[API_HEADERS];
    bool bad_name; /* some line has a name that no header can have */
};

/* Notes a header line, if it is one that matters. @value is borrowed until api_headers_own(). */
void api_headers_add(struct api_headers *headers, const char *name, const char *value);

/* How many bytes api_headers_own() needs. */
size_t api_headers_size(const struct api_headers *headers);

/* Copies the values into @storage, trimmed and terminated. Only then may they be read. */
void api_headers_own(struct api_headers *headers, char *storage);

/* What is wrong with the framing of a request in @version ("HTTP/1.1"): a sentence, static; NULL if
 * nothing is. A connection with such a request cannot be used any further. */
const char *api_framing_fault(const struct api_headers *headers, const char *version);

/* The announced length of the body; 0 if there is none or if it is chunked. */
uint64_t api_framing_length(const struct api_headers *headers);

#endif
