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

bool fence_decimal_read(const char *text, size_t len, uint64_t max, uint64_t *ret_number)
{
    uint64_t number = 0;
    if (len == 0 || len > FENCE_DECIMAL_MAX || (len > 1 && text[0] == '0'))
        return false;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        const unsigned digit = (unsigned)(text[i] - '0');
        if (number > (UINT64_MAX - digit) / 10)
            return false;
        number = number * 10 + digit;
    }
    if (number > max)
        return false;
    *ret_number = number;
    return true;
}
