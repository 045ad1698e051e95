#include "api/http/query.h"

#include "api/http/percent.h"
#include "fence/protocol/decimal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    VALUE_MAX = 4096, /* bytes of an encoded value; far more than any text here, encoded */
};

/* Quoted in sentences at most: a name can be as long as the request line. */
#define NAME_SHOWN "%.40s"

static const char *const faults[] = {
    [API_PERCENT_BARE] = "has an unencoded space, '+' or control character. Percent-encode that "
                         "character",
    [API_PERCENT_DIGITS] = "has a percent sign without its two hex digits. Write a literal percent "
                           "sign as %25",
    [API_PERCENT_NUL] = "has an encoded NUL, %00",
    [API_PERCENT_UTF8] = "is not valid UTF-8",
};

static int refuse_parameter(char error[static API_QUERY_ERROR_MAX], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static int refuse_parameter(char error[static API_QUERY_ERROR_MAX], const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(error, API_QUERY_ERROR_MAX, format, args);
    va_end(args);
    return FENCE_EINVAL;
}

static int read_query_integer(const struct api_query_param *param, const char *text, char *error)
{
    uint64_t number = 0;
    assert(param->min >= 0 && param->max >= param->min);
    if (!fence_decimal_read(text, strlen(text), (uint64_t)param->max, &number) ||
        number < (uint64_t)param->min)
        return refuse_parameter(error,
                                "The query parameter %s must be a whole number from %" PRId64
                                " to %" PRId64 ", in plain decimal digits.",
                                param->name, param->min, param->max);
    assert(param->integer != NULL);
    *param->integer = (int64_t)number;
    return 0;
}

static int read_text(const struct api_query_param *param, const char *text, char *error)
{
    size_t len = strlen(text);
    if ((int64_t)len < param->min || (int64_t)len > param->max)
        return refuse_parameter(error,
                                "The query parameter %s has %zu bytes. It must have from %" PRId64
                                " to %" PRId64 ".",
                                param->name, len, param->min, param->max);
    assert(param->text != NULL);
    memcpy(param->text, text, len + 1);
    return 0;
}

static int read_value(const struct api_query_param *param, const char *value, char *error)
{
    char text[VALUE_MAX + 1];
    if (value == NULL)
        return refuse_parameter(error, "The query parameter %s has no value. Write %s=...",
                                param->name, param->name);
    if (strlen(value) > VALUE_MAX)
        return refuse_parameter(error, "The query parameter %s is too long.", param->name);
    enum api_percent found = api_percent_decode(value, text);
    if (found != API_PERCENT_FINE)
        return refuse_parameter(error, "The query parameter %s %s.", param->name, faults[found]);
    return param->type == API_QUERY_INTEGER ? read_query_integer(param, text, error)
                                            : read_text(param, text, error);
}

int api_query_take(struct api_query *query, const char *name, const char *value,
                   char ret_error[static API_QUERY_ERROR_MAX])
{
    assert(query->count <= API_QUERY_PARAMS_MAX);
    for (size_t i = 0; i < query->count; i++) {
        if (strcmp(query->params[i].name, name) != 0)
            continue;
        if (query->seen & 1U << i)
            return refuse_parameter(ret_error, "Send the query parameter %s only once.", name);
        query->seen |= 1U << i;
        return read_value(&query->params[i], value, ret_error);
    }
    return refuse_parameter(ret_error, "The call takes no query parameter \"" NAME_SHOWN "\".",
                            name);
}
