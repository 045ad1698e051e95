/* Strict reading of a query ("?prefix=orders&limit=10"), parameter by parameter. Pure.
 *
 * Refuses unknown or repeated parameters, parameters without a value, bad percent-encoding,
 * numbers and lengths out of bounds. The sentence names the parameter and the bound. A name is
 * taken as it is written; only values are decoded. */
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

/* A parameter that the query may have. One that is absent leaves its target as it is, so set the
 * default before. */
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
    unsigned seen;                        /* bit i: params[i] came; starts as 0 */
};

/* Takes one parameter as it came, not decoded; @value is NULL where it has no "=". FENCE_EINVAL:
 * refused, with the reason in @ret_error; its target may have been written nevertheless. */
FENCE_CHECKED int api_query_take(struct api_query *query, const char *name, const char *value,
                                 char ret_error[static API_QUERY_ERROR_MAX]);

#endif
