/* Checks the framing of the bytes of a connection before libmicrohttpd reads them: request lines,
 * headers, lengths and chunk lines of HTTP/1. Refuses malformed bytes. Pure: no I/O, no clock.
 *
 * libmicrohttpd 0.9.75 fails on many inputs. It spins on a chunk-size line that is longer than its
 * buffer. It answers nothing when its memory is full. Its own error pages have two heads. It hides
 * the bytes behind a NUL. So each byte passes here first. Input that libmicrohttpd cannot read is
 * refused. Chunk extensions, trailers, and empty lines before a request are removed.
 *
 * If the head contradicts itself about the body (two lengths, an unknown coding), the head passes,
 * and api/http/headers.h refuses it. No byte after it passes. */
#ifndef API_WIRE_FRAMING_H
#define API_WIRE_FRAMING_H

#include "api/wire/framing_types.h"

#include <stddef.h>

enum api_framing_phase {
    API_FRAMING_IDLE, /* between two requests */
    API_FRAMING_HEAD,
    API_FRAMING_BODY,
    API_FRAMING_LOST, /* the start of the next request is not known; no more bytes pass */
};

/* Takes the next @len bytes, and moves the accepted bytes to the front of @bytes: *@ret_kept.
 * Returns NULL, or the fault of a request. After a fault pass on only the earlier requests, and
 * feed nothing more. */
const struct api_fault *api_framing_feed(struct api_framing *framing, char *bytes, size_t len,
                                         size_t *ret_kept);

enum api_framing_phase api_framing_phase(const struct api_framing *framing);

#endif
