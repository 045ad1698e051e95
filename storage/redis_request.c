#include "storage/redis_request.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum {
    ATTEMPT_DIGITS = 16,
};

/* ---- RESP ------------------------------------------------------------------------------------ */

static size_t write_digits(char *to, uint64_t number)
{
    char digits[STORAGE_NUMBER_MAX];
    size_t n = 0;
    do {
        digits[n++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    for (size_t i = 0; i < n; i++)
        to[i] = digits[n - 1 - i];
    return n;
}

static size_t end_line(char *to)
{
    to[0] = '\r';
    to[1] = '\n';
    return 2;
}

size_t storage_resp_head(char *to, char kind, size_t number)
{
    to[0] = kind;
    size_t len = 1 + write_digits(to + 1, number);
    return len + end_line(to + len);
}

size_t storage_resp_bulk(char *to, const char *bytes, size_t len)
{
    size_t written = storage_resp_head(to, '$', len);
    memcpy(to + written, bytes, len);
    written += len;
    return written + end_line(to + written);
}

size_t storage_resp_number(char *to, uint64_t number)
{
    char digits[STORAGE_NUMBER_MAX];
    size_t len = write_digits(digits, number);
    return storage_resp_bulk(to, digits, len);
}

/* ---- arguments ------------------------------------------------------------------------------- */

static void add_bytes(struct storage_request *encoded, const char *bytes, size_t len)
{
    assert(encoded->args_len + len + STORAGE_NUMBER_MAX < sizeof(encoded->args_bytes));
    encoded->args_len =
        (uint16_t)(encoded->args_len +
                   storage_resp_bulk(encoded->args_bytes + encoded->args_len, bytes, len));
    encoded->args++;
}

static void add_text(struct storage_request *encoded, const char *text)
{
    add_bytes(encoded, text, strlen(text));
}

static void add_number(struct storage_request *encoded, uint64_t number)
{
    char digits[STORAGE_NUMBER_MAX];
    size_t len = write_digits(digits, number);
    add_bytes(encoded, digits, len);
}

/* "<lock id>.<attempt>" */
static void add_attempt(struct storage_request *encoded, const struct fence_request *request)
{
    char text[FENCE_LOCK_ID_MAX + 1 + ATTEMPT_DIGITS];
    size_t len = strlen(request->lock_id);
    assert(len <= FENCE_LOCK_ID_MAX);
    memcpy(text, request->lock_id, len);
    text[len++] = '.';
    for (unsigned shift = 64; shift > 0;)
        text[len++] = "0123456789abcdef"[request->attempt >> (shift -= 4) & 15];
    add_bytes(encoded, text, len);
}

static void add_arguments(struct storage_request *encoded, const struct fence_request *request)
{
    switch (request->kind) {
    case FENCE_REQUEST_TAKE:
        add_text(encoded, request->waits ? "W" : "T");
        add_attempt(encoded, request);
        add_number(encoded, request->slot);
        add_number(encoded, request->ttl_ms);
        add_text(encoded, request->owner);
        break;
    case FENCE_REQUEST_CONFIRM:
        add_text(encoded, "C");
        add_attempt(encoded, request);
        add_number(encoded, request->slot);
        add_number(encoded, (uint64_t)request->token);
        break;
    case FENCE_REQUEST_EXTEND:
        add_text(encoded, "E");
        add_text(encoded, request->lock_id);
        add_number(encoded, (uint64_t)request->token);
        add_number(encoded, request->ttl_ms);
        add_number(encoded, request->extensions);
        break;
    case FENCE_REQUEST_RELEASE:
        add_text(encoded, "R");
        add_text(encoded, request->lock_id);
        add_number(encoded, (uint64_t)request->token);
        break;
    case FENCE_REQUEST_UNDO:
        add_text(encoded, "U");
        add_attempt(encoded, request);
        break;
    case FENCE_REQUEST_INSPECT:
        add_text(encoded, "I");
        break;
    }
}

static size_t write_key(char *to, const char *resource)
{
    char key[sizeof(STORAGE_LOCK_KEY) + FENCE_RESOURCE_MAX];
    int len = snprintf(key, sizeof(key), "%s%s", STORAGE_LOCK_KEY, resource);
    assert(len > 0 && (size_t)len < sizeof(key));
    return storage_resp_bulk(to, key, (size_t)len);
}

void storage_request_encode(const struct fence_request *request,
                            struct storage_request *ret_encoded)
{
    assert(request->token >= 0);
    ret_encoded->tag = request->tag;
    ret_encoded->kind = request->kind;
    ret_encoded->args = 0;
    ret_encoded->args_len = 0;
    ret_encoded->key_len = (uint16_t)write_key(ret_encoded->key_bytes, request->resource);
    add_arguments(ret_encoded, request);
}
