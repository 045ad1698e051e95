#include "api/client/plain.h"

#include <stdio.h>
#include <string.h>

enum {
    ESCAPED_LEN = 4,  /* "\x9b" */
    SEQUENCE_MAX = 4, /* bytes of a character in UTF-8 */
    TAIL_MASK = 0xc0, /* bits of the bytes behind the first */
    TAIL_MARK = 0x80,
};

/* The bytes of the character that begins @text; 1 for a byte that begins none. Overlong forms are
 * told apart where it matters: the first byte is 0xc0 or 0xc1. */
static size_t sequence_of(const char *text, size_t left)
{
    const unsigned char first = (unsigned char)text[0];
    size_t len = 1;
    if (first >= 0xf0 && first <= 0xf4)
        len = SEQUENCE_MAX;
    else if (first >= 0xe0 && first < 0xf0)
        len = 3;
    else if (first >= 0xc2 && first < 0xe0)
        len = 2;
    for (size_t i = 1; i < len; i++)
        if (i >= left || ((unsigned char)text[i] & TAIL_MASK) != TAIL_MARK)
            return 1;
    return len;
}

/* Control characters, also C1, ends of lines and paragraphs, marks and changes of the direction of
 * writing; bytes that are no UTF-8. */
static bool may_be_shown(const char *text, size_t len)
{
    const unsigned char *byte = (const unsigned char *)text;
    if (len == 1)
        return byte[0] >= ' ' && byte[0] < 0x7f;
    if (len == 2)
        return !(byte[0] == 0xc2 && byte[1] < 0xa0) && !(byte[0] == 0xd8 && byte[1] == 0x9c);
    if (len != 3 || byte[0] != 0xe2)
        return len != 3 || byte[0] != 0xed || byte[1] < 0xa0; /* no surrogates */
    if (byte[1] == 0x80)
        return byte[2] != 0x8e && byte[2] != 0x8f && !(byte[2] >= 0xa8 && byte[2] <= 0xae);
    return !(byte[1] == 0x81 && byte[2] >= 0xa6 && byte[2] <= 0xa9);
}

bool client_is_plain(const char *text, size_t len)
{
    for (size_t at = 0; at < len;) {
        const size_t used = sequence_of(text + at, len - at);
        if (!may_be_shown(text + at, used))
            return false;
        at += used;
    }
    return true;
}

size_t client_plain(const char *text, size_t len, char *ret_text, size_t size)
{
    size_t made = 0;
    for (size_t at = 0; at < len;) {
        const size_t used = sequence_of(text + at, len - at);
        const bool shown = may_be_shown(text + at, used);
        if (made + (shown ? used : used * ESCAPED_LEN) >= size)
            break;
        if (shown)
            memcpy(ret_text + made, text + at, used);
        for (size_t i = 0; i < used && !shown; i++)
            (void)snprintf(ret_text + made + i * ESCAPED_LEN, ESCAPED_LEN + 1, "\\x%02x",
                           (unsigned char)text[at + i]);
        made += shown ? used : used * ESCAPED_LEN;
        at += used;
    }
    ret_text[made] = '\0';
    return made;
}
