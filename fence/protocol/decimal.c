#include "fence/protocol/decimal.h"

size_t fence_decimal(uint64_t number, char *to)
{
    char backwards[FENCE_DECIMAL_MAX];
    size_t count = 0;
    do {
        backwards[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    for (size_t i = 0; i < count; i++)
        to[i] = backwards[count - 1 - i];
    return count;
}
