/* The states of the framing, and the bytes and faults that its two files share: framing.c, and
 * framing_chunks.c for the lines of a body in chunks. Private to them. */
#ifndef API_WIRE_FRAMING_STATE_H
#define API_WIRE_FRAMING_STATE_H

#include "api/wire/framing_types.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum framing_state {
    FRAMING_START, /* or empty lines before a request */
    FRAMING_METHOD,
    FRAMING_TARGET,
    FRAMING_VERSION,
    FRAMING_LINE_BEGIN, /* start of a header, or of the empty line that ends the head */
    FRAMING_NAME,
    FRAMING_VALUE_BLANKS, /* in front of a value */
    FRAMING_VALUE,
    FRAMING_BODY,
    FRAMING_CHUNK_BEGIN,
    FRAMING_CHUNK_SIZE,
    FRAMING_CHUNK_EXTENSION,
    FRAMING_CHUNK_DATA,
    FRAMING_CHUNK_END,
    FRAMING_TRAILER_BEGIN,
    FRAMING_TRAILER,
    FRAMING_LOST,
};

/* The fate of a byte. */
enum fate {
    FATE_KEEP,
    FATE_DROP,
    FATE_REFUSE, /* the fault is set */
};

struct feeding {
    struct api_framing *framing;
    const struct api_fault *fault;
};

#define FAULT(name, kind, detail) static const struct api_fault name = {kind, detail}

/* Faults of both files. */
FAULT(bad_control, API_FAULT_SYNTAX,
      "The head contains a NUL or another control character. Remove it.");
FAULT(bad_name, API_FAULT_SYNTAX,
      "A header line has no name, no colon, or white space in the name or before the colon.");
FAULT(large_body, API_FAULT_LARGE_BODY, NULL);

static inline enum fate refuse_bytes(struct feeding *feeding, const struct api_fault *fault)
{
    assert(feeding->fault == NULL && feeding->framing->state != FRAMING_LOST);
    feeding->fault = fault;
    feeding->framing->state = FRAMING_LOST;
    return FATE_REFUSE;
}

static inline bool is_token(unsigned char c)
{
    /* A bit each: letters, digits, and !#$%&'*+-.^_`|~ (RFC 9110, section 5.6.2). */
    static const uint32_t tokens[] = {0x00000000, 0x03ff6cfa, 0xc7fffffe, 0x57ffffff};
    return c < 0x80 && tokens[c / 32] >> (c % 32) & 1;
}

static inline bool is_control(unsigned char c)
{
    return (c < 0x20 && c != '\t') || c == 0x7f;
}

/* Ends a line with CR LF or LF: true at the LF. A CR is noted. */
static inline bool ends_line(struct api_framing *framing, unsigned char c)
{
    framing->cr = c == '\r';
    return c == '\n';
}

#endif
