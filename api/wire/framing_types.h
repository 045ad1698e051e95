/* The state of the framing of a connection, its bounds, and its faults (api/wire/framing.h). */
#ifndef API_WIRE_FRAMING_TYPES_H
#define API_WIRE_FRAMING_TYPES_H

#include <stdbool.h>
#include <stdint.h>

enum {
    API_FRAMING_EXTENSIONS_MAX = 1024, /* bytes that are removed from the chunk-size lines of a
                                        * body: extensions and zeros, which no other limit counts */
    API_FRAMING_BLANKS_MAX = 16,       /* bytes of empty lines before a request */
    API_FRAMING_METHOD_MAX = 24,
    API_FRAMING_WORD_MAX = 24,          /* bytes kept of a header's name, and of its value */
    API_FRAMING_BODY_MAX = 1024 * 1024, /* bytes of a body in chunks; more is a fault */
    API_HTTP_FIELD_COST = 64, /* the cost of a header, a cookie or a query parameter, beside
                               * its bytes */
    API_HTTP_HEAD_MAX = 5 * 1024 + 512, /* cost of a request's head, as above */
};

enum api_fault_kind {
    API_FAULT_SYNTAX,     /* the bytes are no request in HTTP/1 */
    API_FAULT_LARGE_HEAD, /* costs more than API_HTTP_HEAD_MAX */
    API_FAULT_LARGE_BODY, /* more than API_FRAMING_BODY_MAX, or a number that is too large */
};

/* Why a request cannot be read. Static. */
struct api_fault {
    enum api_fault_kind kind;
    const char *detail; /* NULL: the kind is enough */
};

/* One connection; all zero at its beginning. Private. */
struct api_framing {
    uint8_t state;
    bool cr;            /* the previous byte was a CR, and LF must follow */
    bool in_query;      /* in the query of the target */
    bool gap;           /* white space followed the value so far */
    bool is_head;       /* the method is HEAD */
    bool is_1_0;        /* HTTP/1.0 */
    bool has_length;    /* Content-Length came */
    bool has_coding;    /* Transfer-Encoding came */
    bool distrusted;    /* the framing contradicts itself */
    uint8_t header;     /* index of the field that comes in */
    uint8_t word_len;   /* in word; more than fits: API_FRAMING_WORD_MAX + 1 */
    uint16_t line_len;  /* bytes of blanks; of a target: whether there are any */
    uint16_t taken_out; /* bytes of the chunk-size lines so far */
    uint32_t cost;      /* cost of the head, and of the trailers */
    uint32_t completed; /* requests that came whole; wraps */
    uint64_t left;      /* bytes of the body, or of the chunk */
    uint64_t body;      /* bytes of the chunks so far */
    char word[API_FRAMING_WORD_MAX + 1];
};

#endif
