/* The lines and trailers of a body in chunks. Private to api/wire/framing.c. */
#ifndef API_WIRE_FRAMING_CHUNKS_H
#define API_WIRE_FRAMING_CHUNKS_H

#include "api/wire/framing_state.h"

/* The next byte of a body in chunks, if it is no data. */
enum fate api_framing_take_in_chunks(struct feeding *feeding, unsigned char c);

#endif
