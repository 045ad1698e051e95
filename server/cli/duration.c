#include "server/cli/duration.h"

#include "server/system/options.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum {
    DURATION_DIGITS_MAX = 12,
    UNITS = 5,
};

static const struct {
    const char *unit;
    int64_t ms;
} units[UNITS] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}};

bool cli_duration(const char *text, int64_t *ret_ms)
{
    char digits[DURATION_DIGITS_MAX + 1];
    int64_t number;
    const size_t len = strspn(text, "0123456789");
    if (len == 0 || len > DURATION_DIGITS_MAX)
        return false;
    (void)snprintf(digits, sizeof(digits), "%.*s", (int)len, text);
    if (!server_options_number(digits, 0, INT64_MAX / units[UNITS - 1].ms, &number))
        return false;
    for (size_t i = 0; i < UNITS; i++) {
        if (strcmp(text + len, units[i].unit) == 0) {
            *ret_ms = number * units[i].ms;
            return true;
        }
    }
    if (number != 0 || text[len] != '\0')
        return false;
    *ret_ms = 0;
    return true;
}

void cli_duration_text(int64_t ms, char *ret_text, size_t size)
{
    assert(size > 0);
    size_t i = UNITS - 1;
    while (i > 0 && ms % units[i].ms != 0)
        i--;
    (void)snprintf(ret_text, size, "%lld%s", (long long)(ms / units[i].ms), units[i].unit);
}
