/* Numbers as text. They stand in every request and every answer, where printf() costs too much.
 * strtoull() takes signs, white space and leading zeros, and does not say what follows the number.
 */
#ifndef FENCE_PROTOCOL_DECIMAL_H
#define FENCE_PROTOCOL_DECIMAL_H

#include "fence/base/checked.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    FENCE_DECIMAL_MAX = 20, /* digits of UINT64_MAX */
};

/* Writes the digits of @number to @to, which has room for them (FENCE_DECIMAL_MAX is enough for
 * any), with no terminator. Returns how many. Any thread. */
size_t fence_decimal(uint64_t number, char *to);

/* Reads the @len bytes at @text: digits only, no zero in front but of 0 itself, at most @max. False
 * otherwise, and *@ret_number is untouched. Any thread. */
FENCE_CHECKED bool fence_decimal_read(const char *text, size_t len, uint64_t max,
                                      uint64_t *ret_number);

#endif
