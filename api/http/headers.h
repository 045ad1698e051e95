/* The relevant headers of a request, and whether they contradict each other. If two readers
 * disagree on where a message ends, one request can be smuggled inside another (RFC 9112, section
 * 11.2). Pure. */
#ifndef API_HTTP_HEADERS_H
#define API_HTTP_HEADERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each may occur once: a request that repeats one is refused with 400 before its handler runs. */
enum api_header {
    API_HEADER_HOST,
    API_HEADER_CONTENT_LENGTH,
    API_HEADER_TRANSFER_ENCODING,
    API_HEADER_CONTENT_TYPE,
    API_HEADER_EXPECT,
    API_HEADER_LOCK_ID,
    API_HEADER_FENCING_TOKEN,
    API_HEADER_WAITED_MS,
    API_HEADER_IF_MATCH,
    API_HEADER_ORIGIN,
    API_HEADER_SEC_FETCH_SITE,
    API_HEADER_AUTHORIZATION,
    API_HEADER_LAST_EVENT_ID,
    API_HEADER_REQUEST_METHOD, /* Access-Control-Request-Method */
    API_HEADER_REQUEST_ID,     /* if a request repeats this header or a later one, it counts as
                                * absent */
    API_HEADER_TRACEPARENT,
    API_HEADER_IF_NONE_MATCH,
    API_HEADERS, /* how many there are */
};

/* The name as it is written in answers: "Fencing-Token". */
const char *api_header_name(enum api_header header);

struct api_headers {
    const char *value[API_HEADERS]; /* the first value of each name; NULL: absent */
    size_t len[API_HEADERS];        /* length of it, without the white space at its end */
    bool repeated[API_HEADERS];
    bool bad_name; /* some line has an invalid name */
};

/* Notes a header line, if it is relevant. @value is borrowed until api_headers_own(). */
void api_headers_add(struct api_headers *headers, const char *name, const char *value);

/* How many bytes api_headers_own() needs. */
size_t api_headers_size(const struct api_headers *headers);

/* Copies the values into @storage, trimmed and terminated. Read them only after this. */
void api_headers_own(struct api_headers *headers, char *storage);

/* Returns why the headers of a request in @version ("HTTP/1.1") do not tell where its body ends, as
 * a static sentence; NULL if they do. A connection with such a request must end. */
const char *api_headers_fault(const struct api_headers *headers, const char *version);

/* The announced length of the body; 0 if there is none or if it is chunked. */
uint64_t api_headers_body_length(const struct api_headers *headers);

#endif
