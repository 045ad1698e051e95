#include "tests/lib/answer.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum {
    STATUS_AT = 9,            /* "HTTP/1.1 201 ..." */
    HEAD_MIN = STATUS_AT + 3, /* up to and with the status */
    LENGTH_MAX = 1024 * 1024, /* no answer is near it */
    MEMBER_MAX = 32,          /* the name of one, with its quotes and colon */
};

/* Reads decimal digits; -1 if there are none, or too many. */
static long number(const char *at, const char *end)
{
    long value = -1;
    for (; at < end && *at >= '0' && *at <= '9' && value < LENGTH_MAX; at++)
        value = (value < 0 ? 0 : value) * 10 + (*at - '0');
    return value;
}

/* The Content-Length in the headers, -1 without one. */
static long content_length(const char *at, const char *end)
{
    static const char name[] = "\nContent-Length:";
    const size_t len = sizeof(name) - 1;
    const char *found = memmem(at, (size_t)(end - at), name, len);
    if (!found)
        return -1;
    for (found += len; found < end && *found == ' ';)
        found++;
    return number(found, end);
}

enum answer_state answer_read(const char *bytes, size_t len, struct answer *ret_answer)
{
    const char *head_end = memmem(bytes, len, "\r\n\r\n", 4);
    if (!head_end)
        return ANSWER_PARTIAL;
    if (head_end - bytes < HEAD_MIN || memcmp(bytes, "HTTP/1.1 ", STATUS_AT) != 0)
        return ANSWER_BROKEN;
    const long status = number(bytes + STATUS_AT, head_end);
    const long body_len = content_length(bytes, head_end);
    if (status < 0 || body_len < 0)
        return ANSWER_BROKEN;

    const char *body = head_end + 4;
    const size_t whole = (size_t)(body - bytes) + (size_t)body_len;
    if (len < whole)
        return ANSWER_PARTIAL;
    *ret_answer = (struct answer){
        .status = (int)status,
        .len = whole,
        .body = body,
        .body_len = (size_t)body_len,
    };
    return ANSWER_WHOLE;
}

bool answer_string(const struct answer *answer, const char *member, const char **ret_value,
                   size_t *ret_len)
{
    char name[MEMBER_MAX];
    const int name_len = snprintf(name, sizeof(name), "\"%s\":", member);
    assert(name_len > 0 && (size_t)name_len < sizeof(name));

    const char *const end = answer->body + answer->body_len;
    const char *value = memmem(answer->body, answer->body_len, name, (size_t)name_len);
    if (!value)
        return false;
    for (value += name_len; value < end && (*value == ' ' || *value == '"');)
        value++;
    const char *quote = memchr(value, '"', (size_t)(end - value));
    if (!quote)
        return false;
    *ret_value = value;
    *ret_len = (size_t)(quote - value);
    return true;
}

bool answer_lock_id(const struct answer *answer, const char **ret_id, size_t *ret_len)
{
    return answer_string(answer, "lock_id", ret_id, ret_len);
}
