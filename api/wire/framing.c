#include "api/wire/framing.h"

#include "api/wire/framing_chunks.h"
#include "api/wire/framing_state.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

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

FAULT(bad_line_end, API_FAULT_SYNTAX,
      "The request has a CR without a following LF. End each line with CR LF.");
FAULT(bad_request_line, API_FAULT_SYNTAX,
      "The request line must be a method, a target and HTTP/1.1, with one space between them.");
FAULT(bad_version, API_FAULT_SYNTAX, "Use HTTP/1.1 or HTTP/1.0.");
FAULT(bad_fold, API_FAULT_SYNTAX,
      "A header line continues on the next line. Send each header on one line.");
FAULT(bad_length, API_FAULT_SYNTAX, "Content-Length must be a plain decimal number.");
FAULT(bad_coding, API_FAULT_SYNTAX,
      "The only supported transfer coding is 'chunked', in HTTP/1.1.");
FAULT(large_head, API_FAULT_LARGE_HEAD, NULL);

/* ---- bytes ----------------------------------------------------------------------------------- */

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
                   ? FATE_DROP
                   : refuse_bytes(feeding, &bad_request_line);
    }
    if (!is_token(c))
        return refuse_bytes(feeding, is_control(c) ? &bad_control : &bad_request_line);
    const uint32_t completed = framing->completed;
    *framing = (struct api_framing){.state = FRAMING_METHOD, .completed = completed, .cost = 1};
    word_add(framing, c);
    return FATE_KEEP;
}

static enum fate in_method(struct feeding *feeding, unsigned char c)
{
    struct api_framing *framing = feeding->framing;
    if (c == ' ') {
        framing->is_head = word_end(framing) && strcmp(framing->word, "HEAD") == 0;
        framing->state = FRAMING_TARGET;
        framing->line_len = 0;
        return FATE_KEEP;
    }
    if (!is_token(c) || framing->word_len == API_FRAMING_METHOD_MAX)
        return refuse_bytes(feeding, is_control(c) ? &bad_control : &bad_request_line);
    word_add(framing, c);
    return FATE_KEEP;
}

static enum fate in_target(struct feeding *feeding, unsigned char c)
{
    struct api_framing *framing = feeding->framing;
    if (c == ' ' && framing->line_len > 0) {
        framing->state = FRAMING_VERSION;
        word_begin(framing);
        return FATE_KEEP;
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
    return FATE_KEEP;
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
        return FATE_KEEP;
    }
    assert(framing->word_len <= VERSION_LEN);
    framing->word[framing->word_len] = '\0';
    framing->is_1_0 = strcmp(framing->word, "HTTP/1.0") == 0;
    if (!framing->is_1_0 && strcmp(framing->word, "HTTP/1.1") != 0)
        return refuse_bytes(feeding, &bad_version);
    if (ends_line(framing, c))
        framing->state = FRAMING_LINE_BEGIN;
    return FATE_KEEP;
}

static enum fate head_ends(struct feeding *feeding)
{
    struct api_framing *framing = feeding->framing;
    if (framing->distrusted || (framing->has_coding && (framing->has_length || framing->is_1_0)))
        framing->state = FRAMING_LOST;
    else if (framing->has_coding)
        framing->state = FRAMING_CHUNK_BEGIN;
    else if (framing->left > 0)
        framing->state = FRAMING_BODY;
    else
        framing->state = FRAMING_START;
    framing->completed += framing->state == FRAMING_START;
    framing->line_len = 0;
    framing->body = 0;
    return FATE_KEEP;
}

static enum fate in_line_begin(struct feeding *feeding, unsigned char c)
{
    struct api_framing *framing = feeding->framing;
    if (c == '\r' || c == '\n')
        return ends_line(framing, c) ? head_ends(feeding) : FATE_KEEP;
    if (c == ' ' || c == '\t')
        return refuse_bytes(feeding, &bad_fold);
    if (!is_token(c))
        return refuse_bytes(feeding, c != ':' && is_control(c) ? &bad_control : &bad_name);
    if (!may_pay(framing, API_HTTP_FIELD_COST))
        return refuse_bytes(feeding, &large_head);
    framing->state = FRAMING_NAME;
    word_begin(framing);
    word_add(framing, c);
    return FATE_KEEP;
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
        framing->state = FRAMING_VALUE_BLANKS;
        word_begin(framing);
        return FATE_KEEP;
    }
    if (!is_token(c))
        return refuse_bytes(feeding,
                            c != '\r' && c != '\n' && is_control(c) ? &bad_control : &bad_name);
    word_add(framing, c);
    return FATE_KEEP;
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
    return FATE_KEEP;
}

static enum fate value_ends(struct feeding *feeding)
{
    struct api_framing *framing = feeding->framing;
    framing->state = FRAMING_LINE_BEGIN;
    if (framing->header == CONTENT_LENGTH)
        return length_ends(feeding);
    if (framing->header == TRANSFER_ENCODING) {
        const bool fits = word_end(framing);
        framing->distrusted |=
            framing->has_coding || !fits || strcasecmp(framing->word, "chunked") != 0;
        framing->has_coding = true;
    }
    return FATE_KEEP;
}

/* libmicrohttpd copies cookies, and cuts them up. */
static uint32_t cookie_cost(unsigned char c)
{
    return c == ';' || c == ',' ? API_HTTP_FIELD_COST + 1 : 1;
}

/* Reads the two headers that frame the body. White space behind a value is not part of it (RFC
 * 9110, section 5.5). It is dropped, since libmicrohttpd refuses a length with it. White space
 * within the value is refused: dropping it would change the meaning. */
static enum fate in_framing_value(struct feeding *feeding, unsigned char c)
{
    struct api_framing *framing = feeding->framing;
    if (c == ' ' || c == '\t') {
        framing->gap = true;
        return FATE_DROP;
    }
    if (framing->gap)
        return refuse_bytes(feeding, framing->header == CONTENT_LENGTH ? &bad_length : &bad_coding);
    word_add(framing, c);
    return FATE_KEEP;
}

static enum fate in_value(struct feeding *feeding, unsigned char c)
{
    struct api_framing *framing = feeding->framing;
    if (c == '\r' || c == '\n')
        return ends_line(framing, c) ? value_ends(feeding) : FATE_KEEP;
    if (is_control(c))
        return refuse_bytes(feeding, &bad_control);
    if (framing->state == FRAMING_VALUE_BLANKS && (c == ' ' || c == '\t'))
        return FATE_KEEP;
    if (framing->state == FRAMING_VALUE_BLANKS && framing->header == COOKIE &&
        !may_pay(framing, API_HTTP_FIELD_COST))
        return refuse_bytes(feeding, &large_head);
    framing->state = FRAMING_VALUE;
    if (framing->header == COOKIE && !may_pay(framing, cookie_cost(c)))
        return refuse_bytes(feeding, &large_head);
    if (framing->header == CONTENT_LENGTH || framing->header == TRANSFER_ENCODING)
        return in_framing_value(feeding, c);
    return FATE_KEEP;
}

/* ---- all together ---------------------------------------------------------------------------- */

static enum fate take_in_head(struct feeding *feeding, unsigned char c)
{
    switch ((enum framing_state)feeding->framing->state) {
    case FRAMING_METHOD:
        return in_method(feeding, c);
    case FRAMING_TARGET:
        return in_target(feeding, c);
    case FRAMING_VERSION:
        return in_version(feeding, c);
    case FRAMING_LINE_BEGIN:
        return in_line_begin(feeding, c);
    case FRAMING_NAME:
        return in_name(feeding, c);
    default:
        return in_value(feeding, c);
    }
}

static bool is_counted(uint8_t state)
{
    return (state > FRAMING_START && state < FRAMING_BODY) || state == FRAMING_TRAILER_BEGIN ||
           state == FRAMING_TRAILER;
}

static enum fate take_byte(struct feeding *feeding, unsigned char c)
{
    struct api_framing *framing = feeding->framing;
    if (framing->cr && c != '\n')
        return refuse_bytes(feeding, &bad_line_end);
    if (framing->state == FRAMING_START)
        return in_start(feeding, c);
    if (is_counted(framing->state) && !may_pay(framing, 1))
        return refuse_bytes(feeding, &large_head);
    return framing->state < FRAMING_BODY ? take_in_head(feeding, c)
                                         : api_framing_take_in_chunks(feeding, c);
}

/* Returns how many of @len bytes belong to a value that this code need not examine. Most of a head
 * is such. */
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

/* Returns how many of @len bytes only have to be counted. */
static size_t take_data(struct api_framing *framing, size_t len)
{
    assert(framing->left > 0);
    if (framing->left < len)
        len = (size_t)framing->left;
    framing->left -= len;
    if (framing->left > 0)
        return len;
    framing->completed += framing->state == FRAMING_BODY;
    framing->line_len = 0;
    framing->state = framing->state == FRAMING_BODY ? FRAMING_START : FRAMING_CHUNK_END;
    return len;
}

const struct api_fault *api_framing_feed(struct api_framing *framing, char *bytes, size_t len,
                                         size_t *ret_kept)
{
    struct feeding feeding = {.framing = framing};
    size_t kept = 0;
    size_t whole = 0; /* the complete requests */
    for (size_t i = 0; i < len && framing->state != FRAMING_LOST;) {
        const uint32_t completed = framing->completed;
        size_t run = 0;
        if (framing->state == FRAMING_BODY || framing->state == FRAMING_CHUNK_DATA)
            run = take_data(framing, len - i);
        else if (framing->state == FRAMING_VALUE && framing->header == OTHER && !framing->cr)
            run = take_plain(framing, bytes + i, len - i);
        if (run > 0) {
            if (kept < i)
                memmove(bytes + kept, bytes + i, run);
            kept += run;
            i += run;
        } else {
            const enum fate fate = take_byte(&feeding, (unsigned char)bytes[i]);
            if (fate == FATE_REFUSE)
                kept = whole;
            else if (fate == FATE_KEEP)
                bytes[kept++] = bytes[i];
            i++;
        }
        if (framing->completed != completed)
            whole = kept;
    }
    assert(whole <= kept && kept <= len);
    assert(feeding.fault == NULL || framing->state == FRAMING_LOST);
    *ret_kept = kept;
    return feeding.fault;
}

enum api_framing_phase api_framing_phase(const struct api_framing *framing)
{
    if (framing->state == FRAMING_LOST)
        return API_FRAMING_LOST;
    if (framing->state == FRAMING_START)
        return API_FRAMING_IDLE;
    return framing->state < FRAMING_BODY ? API_FRAMING_HEAD : API_FRAMING_BODY;
}
