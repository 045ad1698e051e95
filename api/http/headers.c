#include "api/http/headers.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const header_names[API_HEADERS] = {
    [API_HEADER_HOST] = "Host",
    [API_HEADER_CONTENT_LENGTH] = "Content-Length",
    [API_HEADER_TRANSFER_ENCODING] = "Transfer-Encoding",
    [API_HEADER_CONTENT_TYPE] = "Content-Type",
    [API_HEADER_EXPECT] = "Expect",
    [API_HEADER_LOCK_ID] = "Lock-Id",
    [API_HEADER_FENCING_TOKEN] = "Fencing-Token",
    [API_HEADER_WAITED_MS] = "Waited-Ms",
    [API_HEADER_IF_MATCH] = "If-Match",
    [API_HEADER_ORIGIN] = "Origin",
    [API_HEADER_SEC_FETCH_SITE] = "Sec-Fetch-Site",
    [API_HEADER_AUTHORIZATION] = "Authorization",
    [API_HEADER_LAST_EVENT_ID] = "Last-Event-ID",
    [API_HEADER_REQUEST_METHOD] = "Access-Control-Request-Method",
    [API_HEADER_REQUEST_ID] = "X-Request-Id",
    [API_HEADER_TRACEPARENT] = "traceparent",
    [API_HEADER_IF_NONE_MATCH] = "If-None-Match",
};

const char *api_header_name(enum api_header header)
{
    return header_names[header];
}

/* Removes the white space at the end, which is not part of a value (RFC 9110, section 5.5). White
 * space at the beginning was removed before. */
static size_t trimmed_length(const char *value)
{
    size_t len = strlen(value);
    while (len > 0 && (value[len - 1] == ' ' || value[len - 1] == '\t'))
        len--;
    return len;
}

void api_headers_add(struct api_headers *headers, const char *name, const char *value)
{
    assert(name != NULL);
    if (strpbrk(name, " \t") != NULL)
        headers->bad_name = true;
    for (int i = 0; i < API_HEADERS; i++) {
        if (strcasecmp(name, api_header_name((enum api_header)i)) != 0)
            continue;
        if (headers->value[i] != NULL) {
            headers->repeated[i] = true;
            return;
        }
        headers->value[i] = value != NULL ? value : "";
        headers->len[i] = trimmed_length(headers->value[i]);
        return;
    }
}

size_t api_headers_size(const struct api_headers *headers)
{
    size_t size = 0;
    for (int i = 0; i < API_HEADERS; i++)
        if (headers->value[i] != NULL)
            size += headers->len[i] + 1;
    return size;
}

void api_headers_own(struct api_headers *headers, char *storage)
{
    for (int i = 0; i < API_HEADERS; i++) {
        if (headers->value[i] == NULL)
            continue;
        memcpy(storage, headers->value[i], headers->len[i]);
        storage[headers->len[i]] = '\0';
        headers->value[i] = storage;
        storage += headers->len[i] + 1;
    }
}

static bool is_number(const char *text)
{
    return text[0] != '\0' && strspn(text, "0123456789") == strlen(text);
}

const char *api_headers_fault(const struct api_headers *headers, const char *version)
{
    const char *const length = headers->value[API_HEADER_CONTENT_LENGTH];
    const char *const coding = headers->value[API_HEADER_TRANSFER_ENCODING];
    bool http_1_1 = strcmp(version, "HTTP/1.1") == 0;

    if (!http_1_1 && strcmp(version, "HTTP/1.0") != 0)
        return "Use HTTP/1.1 or HTTP/1.0.";
    if (http_1_1 && headers->value[API_HEADER_HOST] == NULL)
        return "The Host header is missing. HTTP/1.1 requires it.";
    if (headers->bad_name)
        return "A header has white space in its name, or before its colon. Remove the white "
               "space.";
    if (headers->repeated[API_HEADER_HOST] || headers->repeated[API_HEADER_CONTENT_LENGTH] ||
        headers->repeated[API_HEADER_TRANSFER_ENCODING])
        return "Send each of Host, Content-Length and Transfer-Encoding at most once.";
    if (length != NULL && coding != NULL)
        return "Send either Content-Length or Transfer-Encoding, not both.";
    if (length != NULL && !is_number(length))
        return "Content-Length must be a plain decimal number.";
    if (coding != NULL && (!http_1_1 || strcasecmp(coding, "chunked") != 0))
        return "The only supported transfer coding is 'chunked', in HTTP/1.1.";
    return NULL;
}

uint64_t api_headers_body_length(const struct api_headers *headers)
{
    const char *length = headers->value[API_HEADER_CONTENT_LENGTH];
    return length != NULL ? strtoull(length, NULL, 10) : 0;
}
