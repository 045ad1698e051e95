/* Numbers as text. Every request and every answer has numbers, and printf() costs too much there.
 * strtoull() accepts signs, white space and leading zeros, and does not report which text follows
 * the number. */
#ifndef FENCE_PROTOCOL_DECIMAL_H
#define FENCE_PROTOCOL_DECIMAL_H

#include "fence/base/checked.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    FENCE_DECIMAL_MAX = 20, /* digits of UINT64_MAX */
};

/* Writes the digits of @number to @to, with no terminator. @to has room for the digits:
 * FENCE_DECIMAL_MAX is enough for any number. Returns the number of digits. Any thread. */
size_t fence_decimal(uint64_t number, char *to);

/* Reads a number of at most @max from the @len bytes at @text. The text has digits only, and no
 * leading zero unless the number is 0. Returns false for any other text; *@ret_number is then
 * untouched. Any thread. */
FENCE_CHECKED bool fence_decimal_read(const char *text, size_t len, uint64_t max,
                                      uint64_t *ret_number);

#endif
