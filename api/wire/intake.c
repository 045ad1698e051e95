#include "api/wire/intake.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

enum state {
    START, /* or empty lines before a request */
    METHOD,
    TARGET,
    VERSION,
    LINE_BEGIN, /* of a header, or of the empty line that ends the head */
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

/* What becomes of a byte. */
enum fate {
    KEEP,
    DROP,
    REFUSE, /* the fault is set */
};

struct feeding {
    struct api_intake *intake;
    const struct api_fault *fault;
};

static enum fate refuse_bytes(struct feeding *feeding, const struct api_fault *fault)
{
    assert(feeding->fault == NULL && feeding->intake->state != LOST);
    feeding->fault = fault;
    feeding->intake->state = LOST;
    return REFUSE;
}

#define FAULT(name, kind, detail) static const struct api_fault name = {kind, detail}

FAULT(bad_control, API_FAULT_SYNTAX,
      "The head has a NUL or another control character in it. Send none of these.");
FAULT(bad_line_end, API_FAULT_SYNTAX,
      "The request has a CR without LF behind it. End each line with CR LF.");
FAULT(bad_request_line, API_FAULT_SYNTAX,
      "The request line must be a method, a target and HTTP/1.1, each one space apart.");
FAULT(bad_version, API_FAULT_SYNTAX, "Speak HTTP/1.1 or HTTP/1.0.");
FAULT(bad_fold, API_FAULT_SYNTAX,
      "A header line continues on the next line. Send each header on one line.");
FAULT(bad_name, API_FAULT_SYNTAX,
      "A header line has no name, no colon, or white space in the name or before the colon.");
FAULT(bad_length, API_FAULT_SYNTAX, "Content-Length must be a plain decimal number.");
FAULT(bad_coding, API_FAULT_SYNTAX, "The only transfer coding known here is chunked, in HTTP/1.1.");
FAULT(bad_chunk, API_FAULT_SYNTAX,
      "The chunks of the body are not well-formed. A chunk is a length in hexadecimal, CR LF, as "
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

static void word_begin(struct api_intake *intake)
{
    intake->word_len = 0;
    intake->gap = false;
}

static void word_add(struct api_intake *intake, unsigned char c)
{
    if (intake->word_len < API_INTAKE_WORD_MAX)
        intake->word[intake->word_len] = (char)c;
    if (intake->word_len <= API_INTAKE_WORD_MAX)
        intake->word_len++;
}

/* Removes the white space at its end. False: the word is longer than what was kept of it. */
static bool word_end(struct api_intake *intake)
{
    assert(intake->word_len <= API_INTAKE_WORD_MAX + 1);
    if (intake->word_len > API_INTAKE_WORD_MAX)
        return false;
    while (intake->word_len > 0 && strchr(" \t", intake->word[intake->word_len - 1]) != NULL)
        intake->word_len--;
    intake->word[intake->word_len] = '\0';
    return true;
}

/* Of a line that ends with CR LF or LF: true at the LF. A CR is noted. */
static bool ends_line(struct api_intake *intake, unsigned char c)
{
    intake->cr = c == '\r';
    return c == '\n';
}

static bool may_pay(struct api_intake *intake, uint32_t cost)
{
    intake->cost += cost;
    return intake->cost <= API_HTTP_HEAD_MAX;
}

/* ---- the head -------------------------------------------------------------------------------- */

static enum fate in_start(struct feeding *feeding, unsigned char c)
{
    struct api_intake *intake = feeding->intake;
    if (c == '\r' || c == '\n') {
        (void)ends_line(intake, c);
        return ++intake->line_len <= API_INTAKE_BLANKS_MAX
                   ? DROP
                   : refuse_bytes(feeding, &bad_request_line);
    }
    if (!is_token(c))
        return refuse_bytes(feeding, is_control(c) ? &bad_control : &bad_request_line);
    const uint32_t completed = intake->completed;
    *intake = (struct api_intake){.state = METHOD, .completed = completed, .cost = 1};
    word_add(intake, c);
    return KEEP;
}

static enum fate in_method(struct feeding *feeding, unsigned char c)
{
    struct api_intake *intake = feeding->intake;
    if (c == ' ') {
        intake->is_head = word_end(intake) && strcmp(intake->word, "HEAD") == 0;
        intake->state = TARGET;
        intake->line_len = 0;
        return KEEP;
    }
    if (!is_token(c) || intake->word_len == API_INTAKE_METHOD_MAX)
        return refuse_bytes(feeding, is_control(c) ? &bad_control : &bad_request_line);
    word_add(intake, c);
    return KEEP;
}

static enum fate in_target(struct feeding *feeding, unsigned char c)
{
    struct api_intake *intake = feeding->intake;
    if (c == ' ' && intake->line_len > 0) {
        intake->state = VERSION;
        word_begin(intake);
        return KEEP;
    }
    if (c == '\r' || c == '\n' || c == ' ')
        return refuse_bytes(feeding, &bad_request_line);
    if (is_control(c) || c == '\t')
        return refuse_bytes(feeding, &bad_control);
    intake->line_len = 1;
    const bool parameter = intake->in_query ? c == '&' : c == '?';
    intake->in_query |= c == '?';
    if (parameter && !may_pay(intake, API_HTTP_FIELD_COST))
        return refuse_bytes(feeding, &large_head);
    return KEEP;
}

static enum fate in_version(struct feeding *feeding, unsigned char c)
{
    struct api_intake *intake = feeding->intake;
    if (c != '\r' && c != '\n') {
        if (c != '\t' && is_control(c))
            return refuse_bytes(feeding, &bad_control);
        if (intake->word_len == VERSION_LEN)
            return refuse_bytes(feeding, &bad_version);
        word_add(intake, c);
        return KEEP;
    }
    assert(intake->word_len <= VERSION_LEN);
    intake->word[intake->word_len] = '\0';
    intake->is_1_0 = strcmp(intake->word, "HTTP/1.0") == 0;
    if (!intake->is_1_0 && strcmp(intake->word, "HTTP/1.1") != 0)
        return refuse_bytes(feeding, &bad_version);
    if (ends_line(intake, c))
        intake->state = LINE_BEGIN;
    return KEEP;
}

static enum fate head_ends(struct feeding *feeding)
{
    struct api_intake *intake = feeding->intake;
    if (intake->distrusted || (intake->has_coding && (intake->has_length || intake->is_1_0)))
        intake->state = LOST;
    else if (intake->has_coding)
        intake->state = CHUNK_BEGIN;
    else if (intake->left > 0)
        intake->state = BODY;
    else
        intake->state = START;
    intake->completed += intake->state == START;
    intake->line_len = 0;
    intake->body = 0;
    return KEEP;
}

static enum fate in_line_begin(struct feeding *feeding, unsigned char c)
{
    struct api_intake *intake = feeding->intake;
    if (c == '\r' || c == '\n')
        return ends_line(intake, c) ? head_ends(feeding) : KEEP;
    if (c == ' ' || c == '\t')
        return refuse_bytes(feeding, &bad_fold);
    if (!is_token(c))
        return refuse_bytes(feeding, c != ':' && is_control(c) ? &bad_control : &bad_name);
    if (!may_pay(intake, API_HTTP_FIELD_COST))
        return refuse_bytes(feeding, &large_head);
    intake->state = NAME;
    word_begin(intake);
    word_add(intake, c);
    return KEEP;
}

static enum header find_header(struct api_intake *intake)
{
    if (!word_end(intake))
        return OTHER;
    if (strcasecmp(intake->word, "Content-Length") == 0)
        return CONTENT_LENGTH;
    if (strcasecmp(intake->word, "Transfer-Encoding") == 0)
        return TRANSFER_ENCODING;
    return strcasecmp(intake->word, "Cookie") == 0 ? COOKIE : OTHER;
}

static enum fate in_name(struct feeding *feeding, unsigned char c)
{
    struct api_intake *intake = feeding->intake;
    if (c == ':') {
        intake->header = (uint8_t)find_header(intake);
        intake->state = VALUE_BLANKS;
        word_begin(intake);
        return KEEP;
    }
    if (!is_token(c))
        return refuse_bytes(feeding,
                            c != '\r' && c != '\n' && is_control(c) ? &bad_control : &bad_name);
    word_add(intake, c);
    return KEEP;
}

static enum fate length_ends(struct feeding *feeding)
{
    struct api_intake *intake = feeding->intake;
    const bool fits = word_end(intake);
    const size_t digits = strspn(intake->word, "0123456789");
    if (fits && (digits == 0 || digits != intake->word_len))
        return refuse_bytes(feeding, &bad_length);
    if (!fits || digits > LENGTH_DIGITS_MAX)
        return refuse_bytes(feeding,
                            fits || digits == API_INTAKE_WORD_MAX ? &large_body : &bad_length);
    intake->distrusted |= intake->has_length;
    intake->has_length = true;
    intake->left = 0;
    for (size_t i = 0; i < digits; i++)
        intake->left = intake->left * 10 + (uint64_t)(intake->word[i] - '0');
    return KEEP;
}

static enum fate value_ends(struct feeding *feeding)
{
    struct api_intake *intake = feeding->intake;
    intake->state = LINE_BEGIN;
    if (intake->header == CONTENT_LENGTH)
        return length_ends(feeding);
    if (intake->header == TRANSFER_ENCODING) {
        const bool fits = word_end(intake);
        intake->distrusted |=
            intake->has_coding || !fits || strcasecmp(intake->word, "chunked") != 0;
        intake->has_coding = true;
    }
    return KEEP;
}

/* libmicrohttpd copies cookies, and cuts them up. */
static uint32_t cookie_cost(unsigned char c)
{
    return c == ';' || c == ',' ? API_HTTP_FIELD_COST + 1 : 1;
}

/* Of the two headers that frame the body. White space behind a value is no part of it (RFC 9110,
 * section 5.5). It is dropped, since libmicrohttpd refuses a length with it. White space within the
 * value is refused: dropping it would change what it means. */
static enum fate in_framing_value(struct feeding *feeding, unsigned char c)
{
    struct api_intake *intake = feeding->intake;
    if (c == ' ' || c == '\t') {
        intake->gap = true;
        return DROP;
    }
    if (intake->gap)
        return refuse_bytes(feeding, intake->header == CONTENT_LENGTH ? &bad_length : &bad_coding);
    word_add(intake, c);
    return KEEP;
}

static enum fate in_value(struct feeding *feeding, unsigned char c)
{
    struct api_intake *intake = feeding->intake;
    if (c == '\r' || c == '\n')
        return ends_line(intake, c) ? value_ends(feeding) : KEEP;
    if (is_control(c))
        return refuse_bytes(feeding, &bad_control);
    if (intake->state == VALUE_BLANKS && (c == ' ' || c == '\t'))
        return KEEP;
    if (intake->state == VALUE_BLANKS && intake->header == COOKIE &&
        !may_pay(intake, API_HTTP_FIELD_COST))
        return refuse_bytes(feeding, &large_head);
    intake->state = VALUE;
    if (intake->header == COOKIE && !may_pay(intake, cookie_cost(c)))
        return refuse_bytes(feeding, &large_head);
    if (intake->header == CONTENT_LENGTH || intake->header == TRANSFER_ENCODING)
        return in_framing_value(feeding, c);
    return KEEP;
}

/* ---- a body in chunks ------------------------------------------------------------------------ */

static enum fate chunk_line_ends(struct feeding *feeding)
{
    struct api_intake *intake = feeding->intake;
    intake->body += intake->left;
    intake->line_len = 0;
    if (intake->body > API_INTAKE_BODY_MAX)
        return refuse_bytes(feeding, &large_body);
    intake->state = intake->left > 0 ? CHUNK_DATA : TRAILER_BEGIN;
    return KEEP;
}

static enum fate take_out(struct feeding *feeding)
{
    return ++feeding->intake->taken_out <= API_INTAKE_EXTENSIONS_MAX
               ? DROP
               : refuse_bytes(feeding, &long_chunk_lines);
}

/* The lines of chunks end with CR LF and nothing else. */
static enum fate in_chunk_line(struct feeding *feeding, unsigned char c)
{
    struct api_intake *intake = feeding->intake;
    if (c == '\n')
        return intake->cr ? (intake->cr = false, chunk_line_ends(feeding))
                          : refuse_bytes(feeding, &bad_chunk);
    if (c == '\r') {
        intake->cr = true;
        return KEEP;
    }
    if (is_control(c))
        return refuse_bytes(feeding, &bad_chunk);
    intake->state = CHUNK_EXTENSION;
    return take_out(feeding);
}

static enum fate in_chunk_size(struct feeding *feeding, unsigned char c)
{
    struct api_intake *intake = feeding->intake;
    const int digit = chunk_size_digit(c);
    const bool first = intake->state == CHUNK_BEGIN;
    if (digit < 0) {
        const bool may_end = c == '\r' || c == '\n' || c == ';' || c == ' ' || c == '\t';
        return first || !may_end ? refuse_bytes(feeding, &bad_chunk) : in_chunk_line(feeding, c);
    }
    const bool another_zero = !first && digit == 0 && intake->left == 0;
    intake->left = (first ? 0 : intake->left * 16) + (uint64_t)digit;
    intake->state = CHUNK_SIZE;
    if (intake->left > API_INTAKE_BODY_MAX)
        return refuse_bytes(feeding, &large_body);
    return another_zero ? take_out(feeding) : KEEP;
}

static enum fate in_chunk_end(struct feeding *feeding, unsigned char c)
{
    struct api_intake *intake = feeding->intake;
    if (c != '\r' && !(c == '\n' && intake->cr))
        return refuse_bytes(feeding, &bad_chunk);
    if (ends_line(intake, c))
        intake->state = CHUNK_BEGIN;
    return KEEP;
}

static enum fate in_trailer_begin(struct feeding *feeding, unsigned char c)
{
    struct api_intake *intake = feeding->intake;
    if (c == '\n' && !intake->cr)
        return refuse_bytes(feeding, &bad_chunk);
    if (c == '\r' || c == '\n') {
        if (ends_line(intake, c)) {
            intake->state = START;
            intake->completed++;
        }
        return KEEP;
    }
    intake->state = TRAILER;
    return is_token(c) ? DROP : refuse_bytes(feeding, &bad_name);
}

static enum fate in_trailer(struct feeding *feeding, unsigned char c)
{
    struct api_intake *intake = feeding->intake;
    if (c == '\r' || c == '\n') {
        if (ends_line(intake, c))
            intake->state = TRAILER_BEGIN;
        return DROP;
    }
    return is_control(c) ? refuse_bytes(feeding, &bad_control) : DROP;
}

/* ---- all together ---------------------------------------------------------------------------- */

static enum fate take_in_head(struct feeding *feeding, unsigned char c)
{
    switch ((enum state)feeding->intake->state) {
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
    switch ((enum state)feeding->intake->state) {
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
    struct api_intake *intake = feeding->intake;
    if (intake->cr && c != '\n')
        return refuse_bytes(feeding, &bad_line_end);
    if (intake->state == START)
        return in_start(feeding, c);
    if (is_counted(intake->state) && !may_pay(intake, 1))
        return refuse_bytes(feeding, &large_head);
    return intake->state < BODY ? take_in_head(feeding, c) : take_in_chunks(feeding, c);
}

/* Bytes of a value that nothing here looks at: how many of @len. Most of a head is that. */
static size_t take_plain(struct api_intake *intake, const char *bytes, size_t len)
{
    assert(intake->cost <= API_HTTP_HEAD_MAX);
    const size_t most = API_HTTP_HEAD_MAX - intake->cost;
    size_t run = 0;
    if (len > most)
        len = most;
    while (run < len && !is_control((unsigned char)bytes[run]))
        run++;
    intake->cost += (uint32_t)run;
    return run;
}

/* Bytes that only have to be counted: how many of @len. */
static size_t take_data(struct api_intake *intake, size_t len)
{
    assert(intake->left > 0);
    if (intake->left < len)
        len = (size_t)intake->left;
    intake->left -= len;
    if (intake->left > 0)
        return len;
    intake->completed += intake->state == BODY;
    intake->line_len = 0;
    intake->state = intake->state == BODY ? START : CHUNK_END;
    return len;
}

const struct api_fault *api_intake_feed(struct api_intake *intake, char *bytes, size_t len,
                                        size_t *ret_kept)
{
    struct feeding feeding = {.intake = intake};
    size_t kept = 0;
    size_t whole = 0; /* of what is kept: the requests that came to their end */
    for (size_t i = 0; i < len && intake->state != LOST;) {
        const uint32_t completed = intake->completed;
        size_t run = 0;
        if (intake->state == BODY || intake->state == CHUNK_DATA)
            run = take_data(intake, len - i);
        else if (intake->state == VALUE && intake->header == OTHER && !intake->cr)
            run = take_plain(intake, bytes + i, len - i);
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
        if (intake->completed != completed)
            whole = kept;
    }
    assert(whole <= kept && kept <= len);
    assert(feeding.fault == NULL || intake->state == LOST);
    *ret_kept = kept;
    return feeding.fault;
}

enum api_intake_phase api_intake_phase(const struct api_intake *intake)
{
    if (intake->state == LOST)
        return API_INTAKE_LOST;
    if (intake->state == START)
        return API_INTAKE_IDLE;
    return intake->state < BODY ? API_INTAKE_HEAD : API_INTAKE_BODY;
}
