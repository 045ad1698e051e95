#include "api/json/utf8.h"

#include <assert.h>
#include <stdint.h>

/* The bytes that may follow a lead byte: so many, the first of them between these two. The others
 * are 80 to BF (RFC 3629, section 4, the ABNF). */
struct tail {
    size_t count;
    unsigned char low;
    unsigned char high;
};

static struct tail tail_of(unsigned char lead)
{
    if (lead < 0xc2)
        return (struct tail){0, 0, 0};
    if (lead < 0xe0)
        return (struct tail){1, 0x80, 0xbf};
    if (lead < 0xf0)
        return (struct tail){2, lead == 0xe0 ? 0xa0 : 0x80, lead == 0xed ? 0x9f : 0xbf};
    if (lead < 0xf5)
        return (struct tail){3, lead == 0xf0 ? 0x90 : 0x80, lead == 0xf4 ? 0x8f : 0xbf};
    return (struct tail){0, 0, 0};
}

size_t api_utf8_sequence(const char *bytes, size_t len)
{
    const unsigned char *byte = (const unsigned char *)bytes;
    if (len == 0)
        return 0;
    if (byte[0] < 0x80)
        return 1;

    struct tail tail = tail_of(byte[0]);
    if (tail.count == 0 || tail.count >= len)
        return 0;
    if (byte[1] < tail.low || byte[1] > tail.high)
        return 0;
    for (size_t i = 2; i <= tail.count; i++)
        if ((byte[i] & 0xc0) != 0x80)
            return 0;
    return 1 + tail.count;
}

bool api_utf8_is_control(const char *sequence, size_t len)
{
    const unsigned char *byte = (const unsigned char *)sequence;
    if (len == 1)
        return byte[0] < 0x20 || byte[0] == 0x7f;
    if (len == 2)
        return byte[0] == 0xc2 && byte[1] < 0xa0;
    if (len != 3 || byte[0] != 0xe2)
        return false;
    if (byte[1] == 0x80) /* U+200E, U+200F, U+2028 to U+202E */
        return byte[2] == 0x8e || byte[2] == 0x8f || (byte[2] >= 0xa8 && byte[2] <= 0xae);
    return byte[1] == 0x81 && byte[2] >= 0xa6 && byte[2] <= 0xa9; /* U+2066 to U+2069 */
}

bool api_utf8_valid(const char *bytes, size_t len)
{
    while (len > 0) {
        size_t used = api_utf8_sequence(bytes, len);
        if (used == 0)
            return false;
        assert(used <= len);
        bytes += used;
        len -= used;
    }
    return true;
}
