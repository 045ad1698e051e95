#include "fence/protocol/name.h"

#include "fence/protocol/limits.h"

#include <stdint.h>
#include <string.h>

/* Unlike isalnum(), this does not depend on a locale. */
static bool is_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool is_base64url(char c)
{
    return is_alnum(c) || c == '-' || c == '_';
}

static bool is_name_char(char c)
{
    return is_base64url(c) || c == '.' || c == '~' || c == ':' || c == '@';
}

/* A segment is the text between two slashes. */
static bool segment_valid(const char *segment, size_t len)
{
    if (len == 0 || (len == 1 && segment[0] == '.') ||
        (len == 2 && segment[0] == '.' && segment[1] == '.'))
        return false;
    for (size_t i = 0; i < len; i++)
        if (!is_name_char(segment[i]))
            return false;
    return true;
}

bool fence_resource_valid(const char *name, size_t len)
{
    if (len > FENCE_RESOURCE_MAX)
        return false;
    size_t start = 0;
    for (size_t i = 0; i <= len; i++) {
        if (i < len && name[i] != '/')
            continue;
        if (!segment_valid(name + start, i - start))
            return false;
        start = i + 1;
    }
    return true;
}

bool fence_lock_id_valid(const char *id, size_t len)
{
    if (len < FENCE_LOCK_ID_MIN || len > FENCE_LOCK_ID_MAX)
        return false;
    for (size_t i = 0; i < len; i++)
        if (!is_base64url(id[i]))
            return false;
    return true;
}

/* Returns the length of the well-formed UTF-8 sequence at the start of @bytes; 0: there is none
 * (RFC 3629, section 4). Sets *ret_rune on success. */
static size_t utf8_sequence(const unsigned char *bytes, size_t len, uint32_t *ret_rune)
{
    unsigned char lead = bytes[0];
    size_t need = lead < 0x80 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if ((lead >= 0x80 && lead < 0xc2) || lead > 0xf4 || need > len)
        return 0;
    uint32_t rune = need == 1 ? lead : lead & (0xffU >> (need + 1));
    for (size_t i = 1; i < need; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
        rune = rune << 6 | (bytes[i] & 0x3fU);
    }
    static const uint32_t shortest[] = {0, 0, 0x80, 0x800, 0x10000};
    if (rune < shortest[need] || rune > 0x10ffff || (rune >= 0xd800 && rune <= 0xdfff))
        return 0;
    *ret_rune = rune;
    return need;
}

bool fence_label_valid(const char *label, size_t len)
{
    if (len > FENCE_LABEL_MAX)
        return false;
    for (size_t i = 0; i < len;) {
        uint32_t rune = 0;
        size_t used = utf8_sequence((const unsigned char *)label + i, len - i, &rune);
        if (used == 0 || rune < 0x20 || (rune >= 0x7f && rune < 0xa0))
            return false;
        i += used;
    }
    return true;
}

unsigned fence_slot(const char *name, size_t len)
{
    /* The effect of the polynomial 0x1021 on each value of four bits. */
    static const uint16_t step[16] = {
        0x0000, 0x1021, 0x2042, 0x3063, 0x4084, 0x50a5, 0x60c6, 0x70e7,
        0x8108, 0x9129, 0xa14a, 0xb16b, 0xc18c, 0xd1ad, 0xe1ce, 0xf1ef,
    };
    uint16_t crc = 0;
    for (size_t i = 0; i < len && name[i] != FENCE_SEAT_MARK; i++) {
        unsigned byte = (unsigned char)name[i];
        crc = (uint16_t)((uint16_t)(crc << 4) ^ step[(crc >> 12) ^ (byte >> 4)]);
        crc = (uint16_t)((uint16_t)(crc << 4) ^ step[(crc >> 12) ^ (byte & 15)]);
    }
    return crc % FENCE_SLOTS;
}

unsigned long fence_hash(const void *bytes, size_t len, unsigned long seed)
{
    /* FNV-1a, which starts from the seed. A mix follows, since the low bits of FNV-1a alone are
     * weak. */
    const unsigned char *byte = bytes;
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ seed;
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ byte[i]) * UINT64_C(0x100000001b3);
    hash ^= hash >> 32;
    hash *= UINT64_C(0xd6e8feb86659fd93);
    return hash ^ (hash >> 32);
}
