/* Queries come from clients, a parameter at a time: here a line each. */
#include "api/http/query.h"
#include "api/json/utf8.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    TEXT_MAX = 12,
    NUMBER_MAX = 100,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int64_t number = 1;
    char text[TEXT_MAX + 1] = "";
    const struct api_query_param params[] = {
        {.name = "n", .type = API_QUERY_INTEGER, .min = 1, .max = NUMBER_MAX, .integer = &number},
        {.name = "t", .type = API_QUERY_TEXT, .max = TEXT_MAX, .text = text},
    };
    struct api_query query = {.params = params, .count = sizeof(params) / sizeof(params[0])};
    char *lines = malloc(size + 1);
    assert(lines);
    memcpy(lines, data, size);
    lines[size] = '\0';
    int result = 0;
    char *rest = lines;
    for (char *line; !result && (line = strsep(&rest, "\n"));) {
        char *value = line;
        char error[API_QUERY_ERROR_MAX] = "";
        const char *name = strsep(&value, "=");
        result = api_query_take(&query, name, value, error);
        assert(memchr(error, '\0', sizeof(error)) && (!result || error[0] != '\0'));
    }
    if (!result) {
        assert(number >= 1 && number <= NUMBER_MAX);
        assert(memchr(text, '\0', sizeof(text)) && api_utf8_valid(text, strlen(text)));
    }
    free(lines);
    return 0;
}
