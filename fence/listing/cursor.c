#include "fence/listing/cursor.h"

#include "fence/base/set.h"
#include "fence/protocol/lease.h"
#include "fence/protocol/name.h"
#include "fence/protocol/seat.h"

#include <stdbool.h>
#include <string.h>

enum {
    FORM = 1,     /* rises by the number of kinds when the text changes its meaning */
    HEX_MAX = 16, /* digits of a number */
};

/* Returns a digest of everything that the listing depends on, including its text so far. */
static unsigned long sum_of(const char *text, enum fence_listing_kind kind, const char *prefix)
{
    return fence_hash(prefix, strlen(prefix), fence_hash(text, strlen(text), FORM + kind));
}

/* Writes at least @width digits, and a dot. Returns the end. */
static char *write_hex(char *to, uint64_t number, unsigned width)
{
    char digits[HEX_MAX];
    unsigned count = 0;
    do {
        digits[HEX_MAX - ++count] = "0123456789abcdef"[number & 15];
        number >>= 4;
    } while (number != 0 || count < width);
    memcpy(to, digits + HEX_MAX - count, count);
    to[count] = '.';
    return to + count + 1;
}

void fence_listing_cursor_write(const struct fence_listing_cursor *cursor, const char *prefix,
                                char ret_text[static FENCE_LISTING_CURSOR_MAX])
{
    char *what = ret_text + HEX_MAX + 1; /* behind the sum */
    char *to = write_hex(what, cursor->walked, 1);
    to = write_hex(to, cursor->walking, 1);
    to = write_hex(to, cursor->process, 1);
    to = write_hex(to, cursor->from, 1);
    to = write_hex(to, cursor->to, 1);
    memcpy(to, cursor->after, strlen(cursor->after) + 1);
    (void)write_hex(ret_text, sum_of(what, cursor->kind, prefix), HEX_MAX);
}

static bool plausible(const struct fence_listing_cursor *cursor, unsigned n)
{
    bool split = cursor->after[0] != '\0';
    return cursor->walking < n && cursor->walked >> n == 0 &&
           !(cursor->walked >> cursor->walking & 1) &&
           fence_set_count(cursor->walked) < fence_blocking(n) &&
           (split ? fence_lock_name_valid(cursor->after, strlen(cursor->after)) : cursor->to == 0);
}

static int digit_of(char byte)
{
    const char *digits = "0123456789abcdef";
    const char *digit = byte != '\0' ? strchr(digits, byte) : NULL;
    return digit ? (int)(digit - digits) : -1;
}

/* Returns the hexadecimal number before the next dot, and moves *@text behind the dot. Accepts more
 * than write_hex() writes: the caller compares the text afterwards. */
static uint64_t read_field(const char **text, bool *whole)
{
    uint64_t number = 0;
    const char *at = *text;
    for (; digit_of(*at) >= 0; at++)
        number = number << 4 | (unsigned)digit_of(*at);
    *whole = *whole && *at == '.';
    if (*whole)
        *text = at + 1;
    return number;
}

int fence_listing_cursor_read(const char *text, enum fence_listing_kind kind, const char *prefix,
                              unsigned n, struct fence_listing_cursor *ret_cursor)
{
    struct fence_listing_cursor cursor;
    char again[FENCE_LISTING_CURSOR_MAX];
    const char *rest = text;
    bool whole = true;
    (void)read_field(&rest, &whole); /* the sum */
    memset(&cursor, 0, sizeof(cursor));
    cursor.kind = kind;
    cursor.walked = (uint32_t)read_field(&rest, &whole);
    cursor.walking = (unsigned)read_field(&rest, &whole);
    cursor.process = read_field(&rest, &whole);
    cursor.from = read_field(&rest, &whole);
    cursor.to = read_field(&rest, &whole);
    if (!whole || strlen(rest) > FENCE_RESOURCE_MAX)
        return FENCE_EINVAL;
    memcpy(cursor.after, rest, strlen(rest) + 1);
    if (!plausible(&cursor, n))
        return FENCE_EINVAL;
    fence_listing_cursor_write(&cursor, prefix, again);
    if (strcmp(again, text) != 0)
        return FENCE_EINVAL;
    *ret_cursor = cursor;
    return 0;
}
