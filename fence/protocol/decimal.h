/* Numbers as text, without what printf() costs: they stand in every request and every answer. */
#ifndef FENCE_PROTOCOL_DECIMAL_H
#define FENCE_PROTOCOL_DECIMAL_H

#include <stddef.h>
#include <stdint.h>

enum {
    FENCE_DECIMAL_MAX = 20, /* digits of UINT64_MAX */
};

/* Writes the digits of @number to @to, which has room for them (FENCE_DECIMAL_MAX is enough for
 * any), with no terminator. Returns how many. Any thread. */
size_t fence_decimal(uint64_t number, char *to);

#endif
