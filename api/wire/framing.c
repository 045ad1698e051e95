#include "api/wire/framing.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

enum state {
    START, /* or empty lines before a request */
    METHOD,
    TARGET,
    VERSION,
    LINE_BEGIN, /* start of a header, or of the empty line that ends the head */
    NAME,
    VALUE_BLANKS, /* in front of a value */
    VALUE,
    BODY,
    CHUNK_BEGIN,
    CHUNK_SIZE,
    CHUNK_EXTENSION,
    CHUNK_DATA,
    CHUNK_END,
    TRAILER_BEGIN,
    TRAILER,
    LOST,
};

enum header {
    OTHER,
    CONTENT_LENGTH,
    TRANSFER_ENCODING,
    COOKIE,
};

enum {
    LENGTH_DIGITS_MAX = 18,
    VERSION_LEN = 8, /* "HTTP/1.1" */
};

/* The fate of a byte. */
enum fate {
    KEEP,
    DROP,
    REFUSE, /* the fault is set */
};

struct feeding {
    struct api_framing *framing;
    const struct api_fault *fault;
};

static enum fate refuse_bytes(struct feeding *feeding, const struct api_fault *fault)
{
    assert(feeding->fault == NULL && feeding->framing->state != LOST);
    feeding->fault = fault;
    feeding->framing->state = LOST;
    return REFUSE;
}

#define FAULT(name, kind, detail) static const struct api_fault name = {kind, detail}

FAULT(bad_control, API_FAULT_SYNTAX,
      "The head contains a NUL or another control character. Remove it.");
FAULT(bad_line_end, API_FAULT_SYNTAX,
      "The request has a CR without a following LF. End each line with CR LF.");
FAULT(bad_request_line, API_FAULT_SYNTAX,
      "The request line must be a method, a target and HTTP/1.1, with one space between them.");
FAULT(bad_version, API_FAULT_SYNTAX, "Speak HTTP/1.1 or HTTP/1.0.");
FAULT(bad_fold, API_FAULT_SYNTAX,
      "A header line continues on the next line. Send each header on one line.");
FAULT(bad_name, API_FAULT_SYNTAX,
      "A header line has no name, no colon, or white space in the name or before the colon.");
FAULT(bad_length, API_FAULT_SYNTAX, "Content-Length must be a plain decimal number.");
FAULT(bad_coding, API_FAULT_SYNTAX, "The only supported transfer coding is chunked, in HTTP/1.1.");
FAULT(bad_chunk, API_FAULT_SYNTAX,
      "The chunks of the body are not well-formed. A chunk is a length in hexadecimal, CR LF, that "
      "many bytes, and CR LF.");
FAULT(long_chunk_lines, API_FAULT_SYNTAX,
      "The chunk-size lines of the body are too long. Send chunks without extensions.");
FAULT(large_head, API_FAULT_LARGE_HEAD, NULL);
FAULT(large_body, API_FAULT_LARGE_BODY, NULL);

/* ---- bytes ----------------------------------------------------------------------------------- */

static bool is_token(unsigned char c)
{
    /* A bit each: letters, digits, and !#$%&'*+-.^_`|~ (RFC 9110, section 5.6.2). */
    static const uint32_t tokens[] = {0x00000000, 0x03ff6cfa, 0xc7fffffe, 0x57ffffff};
    return c < 0x80 && tokens[c / 32] >> (c % 32) & 1;
}

static bool is_control(unsigned char c)
{
    return (c < 0x20 && c != '\t') || c == 0x7f;
}

static int chunk_size_digit(unsigned char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void word_begin(struct api_framing *framing)
{
    framing->word_len = 0;
    framing->gap = false;
}

static void word_add(struct api_framing *framing, unsigned char c)
{
    if (framing->word_len < API_FRAMING_WORD_MAX)
        framing->word[framing->word_len] = (char)c;
    if (framing->word_len <= API_FRAMING_WORD_MAX)
        framing->word_len++;
}

/* Removes the white space at its end. False: the word is longer than what was kept of it. */
static bool word_end(struct api_framing *framing)
{
    assert(framing->word_len <= API_FRAMING_WORD_MAX + 1);
    if (framing->word_len > API_FRAMING_WORD_MAX)
        return false;
    while (framing->word_len > 0 && strchr(" \t", framing->word[framing->word_len - 1]) != NULL)
        framing->word_len--;
    framing->word[framing->word_len] = '\0';
    return true;
}

/* Ends a line with CR LF or LF: true at the LF. A CR is noted. */
static bool ends_line(struct api_framing *framing, unsigned char c)
{
    framing->cr = c == '\r';
    return c == '\n';
}

static bool may_pay(struct api_framing *framing, uint32_t cost)
{
    framing->cost += cost;
    return framing->cost <= API_HTTP_HEAD_MAX;
}

/* ---- the head -------------------------------------------------------------------------------- */

static enum fate in_start(struct feeding *feeding, unsigned char c)
{
    struct api_framing *framing = feeding->framing;
    if (c == '\r' || c == '\n') {
        (void)ends_line(framing, c);
        return ++framing->line_len <= API_FRAMING_BLANKS_MAX
                   ? DROP
                   : refuse_bytes(feeding, &bad_request_line);
    }
    if (!is_token(c))
        return refuse_bytes(feeding, is_control(c) ? &bad_control : &bad_request_line);
    const uint32_t completed = framing->completed;
    *framing = (struct api_framing){.state = METHOD, .completed = completed, .cost = 1};
    word_add(framing, c);
    return KEEP;
}

static enum fate in_method(struct feeding *feeding, unsigned char c)
{
    struct api_framing *framing = feeding->framing;
    if (c == ' ') {
        framing->is_head = word_end(framing) && strcmp(framing->word, "HEAD") == 0;
        framing->state = TARGET;
        framing->line_len = 0;
        return KEEP;
    }
    if (!is_token(c) || framing->word_len == API_FRAMING_METHOD_MAX)
        return refuse_bytes(feeding, is_control(c) ? &bad_control : &bad_request_line);
    word_add(framing, c);
    return KEEP;
}

static enum fate in_target(struct feeding *feeding, unsigned char c)
{
    struct api_framing *framing = feeding->framing;
    if (c == ' ' && framing->line_len > 0) {
        framing->state = VERSION;
        word_begin(framing);
        return KEEP;
    }
    if (c == '\r' || c == '\n' || c == ' ')
        return refuse_bytes(feeding, &bad_request_line);
    if (is_control(c) || c == '\t')
        return refuse_bytes(feeding, &bad_control);
    framing->line_len = 1;
    const bool parameter = framing->in_query ? c == '&' : c == '?';
    framing->in_query |= c == '?';
    if (parameter && !may_pay(framing, API_HTTP_FIELD_COST))
        return refuse_bytes(feeding, &large_head);
    return KEEP;
}

static enum fate in_version(struct feeding *feeding, unsigned char c)
{
    struct api_framing *framing = feeding->framing;
    if (c != '\r' && c != '\n') {
        if (c != '\t' && is_control(c))
            return refuse_bytes(feeding, &bad_control);
        if (framing->word_len == VERSION_LEN)
            return refuse_bytes(feeding, &bad_version);
        word_add(framing, c);
        return KEEP;
    }
    assert(framing->word_len <= VERSION_LEN);
    framing->word[framing->word_len] = '\0';
    framing->is_1_0 = strcmp(framing->word, "HTTP/1.0") == 0;
    if (!framing->is_1_0 && strcmp(framing->word, "HTTP/1.1") != 0)
        return refuse_bytes(feeding, &bad_version);
    if (ends_line(framing, c))
        framing->state = LINE_BEGIN;
    return KEEP;
}

static enum fate head_ends(struct feeding *feeding)
{
    struct api_framing *framing = feeding->framing;
    if (framing->distrusted || (framing->has_coding && (framing->has_length || framing->is_1_0)))
        framing->state = LOST;
    else if (framing->has_coding)
        framing->state = CHUNK_BEGIN;
    else if (framing->left > 0)
        framing->state = BODY;
    else
        framing->state = START;
    framing->completed += framing->state == START;
    framing->line_len = 0;
    framing->body = 0;
    return KEEP;
}

static enum fate in_line_begin(struct feeding *feeding, unsigned char c)
{
    struct api_framing *framing = feeding->framing;
    if (c == '\r' || c == '\n')
        return ends_line(framing, c) ? head_ends(feeding) : KEEP;
    if (c == ' ' || c == '\t')
        return refuse_bytes(feeding, &bad_fold);
    if (!is_token(c))
        return refuse_bytes(feeding, c != ':' && is_control(c) ? &bad_control : &bad_name);
    if (!may_pay(framing, API_HTTP_FIELD_COST))
        return refuse_bytes(feeding, &large_head);
    framing->state = NAME;
    word_begin(framing);
    word_add(framing, c);
    return KEEP;
}

static enum header find_header(struct api_framing *framing)
{
    if (!word_end(framing))
        return OTHER;
    if (strcasecmp(framing->word, "Content-Length") == 0)
        return CONTENT_LENGTH;
    if (strcasecmp(framing->word, "Transfer-Encoding") == 0)
        return TRANSFER_ENCODING;
    return strcasecmp(framing->word, "Cookie") == 0 ? COOKIE : OTHER;
}

static enum fate in_name(struct feeding *feeding, unsigned char c)
{
    struct api_framing *framing = feeding->framing;
    if (c == ':') {
        framing->header = (uint8_t)find_header(framing);
        framing->state = VALUE_BLANKS;
        word_begin(framing);
        return KEEP;
    }
    if (!is_token(c))
        return refuse_bytes(feeding,
                            c != '\r' && c != '\n' && is_control(c) ? &bad_control : &bad_name);
    word_add(framing, c);
    return KEEP;
}

static enum fate length_ends(struct feeding *feeding)
{
    struct api_framing *framing = feeding->framing;
    const bool fits = word_end(framing);
    const size_t digits = strspn(framing->word, "0123456789");
    if (fits && (digits == 0 || digits != framing->word_len))
        return refuse_bytes(feeding, &bad_length);
    if (!fits || digits > LENGTH_DIGITS_MAX)
        return refuse_bytes(feeding,
                            fits || digits == API_FRAMING_WORD_MAX ? &large_body : &bad_length);
    framing->distrusted |= framing->has_length;
    framing->has_length = true;
    framing->left = 0;
    for (size_t i = 0; i < digits; i++)
        framing->left = framing->left * 10 + (uint64_t)(framing->word[i] - '0');
    return KEEP;
}

static enum fate value_ends(struct feeding *feeding)
{
    struct api_framing *framing = feeding->framing;
    framing->state = LINE_BEGIN;
    if (framing->header == CONTENT_LENGTH)
        return length_ends(feeding);
    if (framing->header == TRANSFER_ENCODING) {
        const bool fits = word_end(framing);
        framing->distrusted |=
            framing->has_coding || !fits || strcasecmp(framing->word, "chunked") != 0;
        framing->has_coding = true;
    }
    return KEEP;
}

/* libmicrohttpd copies cookies, and cuts them up. */
static uint32_t cookie_cost(unsigned char c)
{
    return c == ';' || c == ',' ? API_HTTP_FIELD_COST + 1 : 1;
}

/* Reads the two headers that frame the body. White space behind a value is no part of it (RFC 9110,
 * section 5.5). It is dropped, since libmicrohttpd refuses a length with it. White space within the
 * value is refused: dropping it would change what it means. */
static enum fate in_framing_value(struct feeding *feeding, unsigned char c)
{
    struct api_framing *framing = feeding->framing;
    if (c == ' ' || c == '\t') {
        framing->gap = true;
        return DROP;
    }
    if (framing->gap)
        return refuse_bytes(feeding, framing->header == CONTENT_LENGTH ? &bad_length : &bad_coding);
    word_add(framing, c);
    return KEEP;
}

static enum fate in_value(struct feeding *feeding, unsigned char c)
{
    struct api_framing *framing = feeding->framing;
    if (c == '\r' || c == '\n')
        return ends_line(framing, c) ? value_ends(feeding) : KEEP;
    if (is_control(c))
        return refuse_bytes(feeding, &bad_control);
    if (framing->state == VALUE_BLANKS && (c == ' ' || c == '\t'))
        return KEEP;
    if (framing->state == VALUE_BLANKS && framing->header == COOKIE &&
        !may_pay(framing, API_HTTP_FIELD_COST))
        return refuse_bytes(feeding, &large_head);
    framing->state = VALUE;
    if (framing->header == COOKIE && !may_pay(framing, cookie_cost(c)))
        return refuse_bytes(feeding, &large_head);
    if (framing->header == CONTENT_LENGTH || framing->header == TRANSFER_ENCODING)
        return in_framing_value(feeding, c);
    return KEEP;
}

/* ---- a body in chunks ------------------------------------------------------------------------ */

static enum fate chunk_line_ends(struct feeding *feeding)
{
    struct api_framing *framing = feeding->framing;
    framing->body += framing->left;
    framing->line_len = 0;
    if (framing->body > API_FRAMING_BODY_MAX)
        return refuse_bytes(feeding, &large_body);
    framing->state = framing->left > 0 ? CHUNK_DATA : TRAILER_BEGIN;
    return KEEP;
}

static enum fate take_out(struct feeding *feeding)
{
    return ++feeding->framing->taken_out <= API_FRAMING_EXTENSIONS_MAX
               ? DROP
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
        return KEEP;
    }
    if (is_control(c))
        return refuse_bytes(feeding, &bad_chunk);
    framing->state = CHUNK_EXTENSION;
    return take_out(feeding);
}

static enum fate in_chunk_size(struct feeding *feeding, unsigned char c)
{
    struct api_framing *framing = feeding->framing;
    const int digit = chunk_size_digit(c);
    const bool first = framing->state == CHUNK_BEGIN;
    if (digit < 0) {
        const bool may_end = c == '\r' || c == '\n' || c == ';' || c == ' ' || c == '\t';
        return first || !may_end ? refuse_bytes(feeding, &bad_chunk) : in_chunk_line(feeding, c);
    }
    const bool another_zero = !first && digit == 0 && framing->left == 0;
    framing->left = (first ? 0 : framing->left * 16) + (uint64_t)digit;
    framing->state = CHUNK_SIZE;
    if (framing->left > API_FRAMING_BODY_MAX)
        return refuse_bytes(feeding, &large_body);
    return another_zero ? take_out(feeding) : KEEP;
}

static enum fate in_chunk_end(struct feeding *feeding, unsigned char c)
{
    struct api_framing *framing = feeding->framing;
    if (c != '\r' && !(c == '\n' && framing->cr))
        return refuse_bytes(feeding, &bad_chunk);
    if (ends_line(framing, c))
        framing->state = CHUNK_BEGIN;
    return KEEP;
}

static enum fate in_trailer_begin(struct feeding *feeding, unsigned char c)
{
    struct api_framing *framing = feeding->framing;
    if (c == '\n' && !framing->cr)
        return refuse_bytes(feeding, &bad_chunk);
    if (c == '\r' || c == '\n') {
        if (ends_line(framing, c)) {
            framing->state = START;
            framing->completed++;
        }
        return KEEP;
    }
    framing->state = TRAILER;
    return is_token(c) ? DROP : refuse_bytes(feeding, &bad_name);
}

static enum fate in_trailer(struct feeding *feeding, unsigned char c)
{
    struct api_framing *framing = feeding->framing;
    if (c == '\r' || c == '\n') {
        if (ends_line(framing, c))
            framing->state = TRAILER_BEGIN;
        return DROP;
    }
    return is_control(c) ? refuse_bytes(feeding, &bad_control) : DROP;
}

/* ---- all together ---------------------------------------------------------------------------- */

static enum fate take_in_head(struct feeding *feeding, unsigned char c)
{
    switch ((enum state)feeding->framing->state) {
    case METHOD:
        return in_method(feeding, c);
    case TARGET:
        return in_target(feeding, c);
    case VERSION:
        return in_version(feeding, c);
    case LINE_BEGIN:
        return in_line_begin(feeding, c);
    case NAME:
        return in_name(feeding, c);
    default:
        return in_value(feeding, c);
    }
}

static enum fate take_in_chunks(struct feeding *feeding, unsigned char c)
{
    switch ((enum state)feeding->framing->state) {
    case CHUNK_BEGIN:
    case CHUNK_SIZE:
        return in_chunk_size(feeding, c);
    case CHUNK_EXTENSION:
        return in_chunk_line(feeding, c);
    case CHUNK_END:
        return in_chunk_end(feeding, c);
    case TRAILER_BEGIN:
        return in_trailer_begin(feeding, c);
    default:
        return in_trailer(feeding, c);
    }
}

static bool is_counted(uint8_t state)
{
    return (state > START && state < BODY) || state == TRAILER_BEGIN || state == TRAILER;
}

static enum fate take_byte(struct feeding *feeding, unsigned char c)
{
    struct api_framing *framing = feeding->framing;
    if (framing->cr && c != '\n')
        return refuse_bytes(feeding, &bad_line_end);
    if (framing->state == START)
        return in_start(feeding, c);
    if (is_counted(framing->state) && !may_pay(framing, 1))
        return refuse_bytes(feeding, &large_head);
    return framing->state < BODY ? take_in_head(feeding, c) : take_in_chunks(feeding, c);
}

/* Bytes of a value that nothing here looks at: how many of @len. Most of a head is that. */
static size_t take_plain(struct api_framing *framing, const char *bytes, size_t len)
{
    assert(framing->cost <= API_HTTP_HEAD_MAX);
    const size_t most = API_HTTP_HEAD_MAX - framing->cost;
    size_t run = 0;
    if (len > most)
        len = most;
    while (run < len && !is_control((unsigned char)bytes[run]))
        run++;
    framing->cost += (uint32_t)run;
    return run;
}

/* Bytes that only have to be counted: how many of @len. */
static size_t take_data(struct api_framing *framing, size_t len)
{
    assert(framing->left > 0);
    if (framing->left < len)
        len = (size_t)framing->left;
    framing->left -= len;
    if (framing->left > 0)
        return len;
    framing->completed += framing->state == BODY;
    framing->line_len = 0;
    framing->state = framing->state == BODY ? START : CHUNK_END;
    return len;
}

const struct api_fault *api_framing_feed(struct api_framing *framing, char *bytes, size_t len,
                                         size_t *ret_kept)
{
    struct feeding feeding = {.framing = framing};
    size_t kept = 0;
    size_t whole = 0; /* the complete requests */
    for (size_t i = 0; i < len && framing->state != LOST;) {
        const uint32_t completed = framing->completed;
        size_t run = 0;
        if (framing->state == BODY || framing->state == CHUNK_DATA)
            run = take_data(framing, len - i);
        else if (framing->state == VALUE && framing->header == OTHER && !framing->cr)
            run = take_plain(framing, bytes + i, len - i);
        if (run > 0) {
            if (kept < i)
                memmove(bytes + kept, bytes + i, run);
            kept += run;
            i += run;
        } else {
            const enum fate fate = take_byte(&feeding, (unsigned char)bytes[i]);
            if (fate == REFUSE)
                kept = whole;
            else if (fate == KEEP)
                bytes[kept++] = bytes[i];
            i++;
        }
        if (framing->completed != completed)
            whole = kept;
    }
    assert(whole <= kept && kept <= len);
    assert(feeding.fault == NULL || framing->state == LOST);
    *ret_kept = kept;
    return feeding.fault;
}

enum api_framing_phase api_framing_phase(const struct api_framing *framing)
{
    if (framing->state == LOST)
        return API_FRAMING_LOST;
    if (framing->state == START)
        return API_FRAMING_IDLE;
    return framing->state < BODY ? API_FRAMING_HEAD : API_FRAMING_BODY;
}
