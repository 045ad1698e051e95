#include "api/http/percent.h"

#include "api/json/utf8.h"

#include <stddef.h>

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

enum api_percent api_percent_decode(const char *from, char *to)
{
    char *const start = to;
    while (*from != '\0') {
        if ((unsigned char)*from <= ' ' || *from == 0x7f)
            return API_PERCENT_BARE;
        if (*from != '%') {
            *to++ = *from++;
            continue;
        }
        int high = hex_digit(from[1]);
        int low = high < 0 ? -1 : hex_digit(from[2]);
        if (low < 0)
            return API_PERCENT_DIGITS;
        if (high == 0 && low == 0)
            return API_PERCENT_NUL;
        *to++ = (char)(high << 4 | low);
        from += 3;
    }
    *to = '\0';
    return api_utf8_valid(start, (size_t)(to - start)) ? API_PERCENT_FINE : API_PERCENT_UTF8;
}
