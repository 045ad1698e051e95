/* Strict reading of a query ("?prefix=orders&limit=10"), parameter by parameter. Pure.
 *
 * Refuses unknown or repeated parameters, parameters without a value, bad percent-encoding, numbers
 * and lengths out of bounds. The sentence names the parameter and the bound. Names are not decoded;
 * values are. */
#ifndef API_HTTP_QUERY_H
#define API_HTTP_QUERY_H

#include "fence/protocol/error.h"

#include <stddef.h>
#include <stdint.h>

enum {
    API_QUERY_PARAMS_MAX = 8,
    API_QUERY_ERROR_MAX = 256, /* bytes of a sentence, terminated */
};

enum api_query_type {
    API_QUERY_INTEGER, /* plain decimal digits */
    API_QUERY_TEXT,
};

/* A parameter that the query may have. If it is absent, its target stays unchanged: set the default
 * before. */
struct api_query_param {
    const char *name;
    enum api_query_type type;
    int64_t min;      /* least and greatest value of an integer, or number of bytes of a text; */
    int64_t max;      /* not negative */
    int64_t *integer; /* targets: the one that @type names; */
    char *text;       /* a text needs max + 1 bytes, and is terminated */
};

struct api_query {
    const struct api_query_param *params; /* borrowed */
    size_t count;                         /* up to API_QUERY_PARAMS_MAX */
    unsigned seen;                        /* bit i: params[i] was seen; starts as 0 */
};

/* Takes one parameter, not decoded; @value is NULL if it has no "=". FENCE_EINVAL: refused, with
 * the reason in @ret_error; its target may have been written nevertheless. */
FENCE_CHECKED int api_query_take(struct api_query *query, const char *name, const char *value,
                                 char ret_error[static API_QUERY_ERROR_MAX]);

#endif
