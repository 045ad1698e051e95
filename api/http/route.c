#include "api/http/route.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const char *const method_names[] = {
    [API_GET] = "GET", [API_HEAD] = "HEAD",   [API_POST] = "POST",
    [API_PUT] = "PUT", [API_PATCH] = "PATCH", [API_DELETE] = "DELETE",
};

enum api_method api_method_parse(const char *text)
{
    for (int method = 0; method < API_METHOD_OTHER; method++)
        if (strcmp(text, method_names[method]) == 0)
            return (enum api_method)method;
    return API_METHOD_OTHER;
}

const char *api_method_name(enum api_method method)
{
    assert(method < API_METHOD_OTHER);
    return method_names[method];
}

/* A parameter of a pattern and what it matched. */
struct capture {
    char *start;
    size_t len;
};

/* Matches @path against @pattern; true fills @captures and *@ret_count. The pattern is the
 * program's own: a malformed one asserts. */
static bool matches(const char *pattern, char *path, struct capture captures[API_PARAMS_MAX],
                    size_t *ret_count)
{
    size_t count = 0;
    while (*pattern != '\0') {
        if (*pattern != '{') {
            if (*pattern++ != *path++)
                return false;
            continue;
        }
        const char *close = strchr(pattern, '}');
        assert(close != NULL && count < API_PARAMS_MAX);
        bool rest = close[-1] == '.';
        size_t len = rest ? strlen(path) : strcspn(path, "/");
        if (!rest && len == 0)
            return false;
        captures[count++] = (struct capture){path, len};
        pattern = close + 1;
        path += len;
    }
    *ret_count = count;
    return *path == '\0';
}

/* Adds a method, and HEAD beside GET, to a list that never names one twice. */
static void allow(char list[static API_ALLOW_MAX], unsigned *seen, enum api_method method)
{
    if (*seen & 1U << method)
        return;
    *seen |= 1U << method;
    size_t len = strlen(list);
    int added = snprintf(list + len, API_ALLOW_MAX - len, "%s%s%s", len > 0 ? ", " : "",
                         method_names[method], method == API_GET ? ", HEAD" : "");
    assert(added > 0 && (size_t)added < API_ALLOW_MAX - len);
}

static void fill_match(struct api_match *match, const struct api_routes *table,
                       const struct api_route *route, const struct capture *captures, size_t count)
{
    assert(route->handler != NULL && count <= API_PARAMS_MAX);
    *match = (struct api_match){.route = route, .context = table->context};
    for (size_t i = 0; i < count; i++) {
        captures[i].start[captures[i].len] = '\0';
        match->params[i] = captures[i].start;
    }
}

enum api_found api_route_find(const struct api_routes *tables, size_t count, enum api_method method,
                              char *path, struct api_match *ret_match,
                              char ret_allow[static API_ALLOW_MAX])
{
    enum api_method wanted = method == API_HEAD ? API_GET : method;
    char list[API_ALLOW_MAX] = "";
    unsigned seen = 0;

    for (size_t t = 0; t < count; t++) {
        for (size_t r = 0; r < tables[t].count; r++) {
            const struct api_route *route = &tables[t].items[r];
            struct capture captures[API_PARAMS_MAX];
            size_t captured = 0;
            if (!matches(route->pattern, path, captures, &captured))
                continue;
            if (route->method == wanted) {
                fill_match(ret_match, &tables[t], route, captures, captured);
                return API_FOUND;
            }
            allow(list, &seen, route->method);
        }
    }
    if (seen == 0)
        return API_FOUND_NOTHING;
    memcpy(ret_allow, list, sizeof(list));
    return API_FOUND_OTHER_METHOD;
}
