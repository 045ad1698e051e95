#include "api/wire/framing_chunks.h"

FAULT(bad_chunk, API_FAULT_SYNTAX,
      "The chunks of the body are not well-formed. A chunk is its length in hexadecimal, CR LF, "
      "its bytes, and CR LF.");
FAULT(long_chunk_lines, API_FAULT_SYNTAX,
      "The chunk-size lines of the body are too long. Send chunks without extensions.");

static int chunk_size_digit(unsigned char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static enum fate chunk_line_ends(struct feeding *feeding)
{
    struct api_framing *framing = feeding->framing;
    framing->body += framing->left;
    framing->line_len = 0;
    if (framing->body > API_FRAMING_BODY_MAX)
        return refuse_bytes(feeding, &large_body);
    framing->state = framing->left > 0 ? FRAMING_CHUNK_DATA : FRAMING_TRAILER_BEGIN;
    return FATE_KEEP;
}

static enum fate take_out(struct feeding *feeding)
{
    return ++feeding->framing->taken_out <= API_FRAMING_EXTENSIONS_MAX
               ? FATE_DROP
               : refuse_bytes(feeding, &long_chunk_lines);
}

/* The lines of chunks end with CR LF and nothing else. */
static enum fate in_chunk_line(struct feeding *feeding, unsigned char c)
{
    struct api_framing *framing = feeding->framing;
    if (c == '\n')
        return framing->cr ? (framing->cr = false, chunk_line_ends(feeding))
                           : refuse_bytes(feeding, &bad_chunk);
    if (c == '\r') {
        framing->cr = true;
        return FATE_KEEP;
    }
    if (is_control(c))
        return refuse_bytes(feeding, &bad_chunk);
    framing->state = FRAMING_CHUNK_EXTENSION;
    return take_out(feeding);
}

static enum fate in_chunk_size(struct feeding *feeding, unsigned char c)
{
    struct api_framing *framing = feeding->framing;
    const int digit = chunk_size_digit(c);
    const bool first = framing->state == FRAMING_CHUNK_BEGIN;
    if (digit < 0) {
        const bool may_end = c == '\r' || c == '\n' || c == ';' || c == ' ' || c == '\t';
        return first || !may_end ? refuse_bytes(feeding, &bad_chunk) : in_chunk_line(feeding, c);
    }
    const bool another_zero = !first && digit == 0 && framing->left == 0;
    framing->left = (first ? 0 : framing->left * 16) + (uint64_t)digit;
    framing->state = FRAMING_CHUNK_SIZE;
    if (framing->left > API_FRAMING_BODY_MAX)
        return refuse_bytes(feeding, &large_body);
    return another_zero ? take_out(feeding) : FATE_KEEP;
}

static enum fate in_chunk_end(struct feeding *feeding, unsigned char c)
{
    struct api_framing *framing = feeding->framing;
    if (c != '\r' && !(c == '\n' && framing->cr))
        return refuse_bytes(feeding, &bad_chunk);
    if (ends_line(framing, c))
        framing->state = FRAMING_CHUNK_BEGIN;
    return FATE_KEEP;
}

static enum fate in_trailer_begin(struct feeding *feeding, unsigned char c)
{
    struct api_framing *framing = feeding->framing;
    if (c == '\n' && !framing->cr)
        return refuse_bytes(feeding, &bad_chunk);
    if (c == '\r' || c == '\n') {
        if (ends_line(framing, c)) {
            framing->state = FRAMING_START;
            framing->completed++;
        }
        return FATE_KEEP;
    }
    framing->state = FRAMING_TRAILER;
    return is_token(c) ? FATE_DROP : refuse_bytes(feeding, &bad_name);
}

static enum fate in_trailer(struct feeding *feeding, unsigned char c)
{
    struct api_framing *framing = feeding->framing;
    if (c == '\r' || c == '\n') {
        if (ends_line(framing, c))
            framing->state = FRAMING_TRAILER_BEGIN;
        return FATE_DROP;
    }
    return is_control(c) ? refuse_bytes(feeding, &bad_control) : FATE_DROP;
}

enum fate api_framing_take_in_chunks(struct feeding *feeding, unsigned char c)
{
    switch ((enum framing_state)feeding->framing->state) {
    case FRAMING_CHUNK_BEGIN:
    case FRAMING_CHUNK_SIZE:
        return in_chunk_size(feeding, c);
    case FRAMING_CHUNK_EXTENSION:
        return in_chunk_line(feeding, c);
    case FRAMING_CHUNK_END:
        return in_chunk_end(feeding, c);
    case FRAMING_TRAILER_BEGIN:
        return in_trailer_begin(feeding, c);
    default:
        return in_trailer(feeding, c);
    }
}
