/* Bodies come from clients. An accepted input keeps to its bounds; a refused one has a sentence.
 */
#include "api/json/reader.h"
#include "api/json/utf8.h"

#include <assert.h>
#include <string.h>

enum {
    STRING_MAX = 16,
    STRINGS_MAX = 4,
    NUMBER_MAX = 1000,
};

struct strings {
    struct api_json_strings take;
    size_t count;
};

static int take_string(struct api_json_strings *strings, const char *text, size_t len,
                       char ret_error[static API_JSON_ERROR_MAX])
{
    struct strings *taken = (struct strings *)strings;
    assert(strlen(text) == len && api_utf8_valid(text, len));
    if (++taken->count <= STRINGS_MAX)
        return 0;
    memcpy(ret_error, "Too many.", sizeof("Too many."));
    return FENCE_EINVAL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int64_t number = 1;
    char string[STRING_MAX + 1] = "";
    char error[API_JSON_ERROR_MAX] = "";
    struct strings strings = {.take.take = take_string};
    const struct api_json_member members[] = {
        {.name = "n", .type = API_JSON_INTEGER, .min = 1, .max = NUMBER_MAX, .integer = &number},
        {.name = "s", .type = API_JSON_STRING, .max = STRING_MAX, .string = string},
        {.name = "a", .type = API_JSON_STRINGS, .max = STRINGS_MAX, .strings = &strings.take},
    };
    int result = api_json_read((const char *)data, size, members,
                               sizeof(members) / sizeof(members[0]), error);
    assert(memchr(error, '\0', sizeof(error)));
    if (result == FENCE_EINVAL)
        assert(error[0] != '\0');
    if (result)
        return 0;
    assert(number >= 1 && number <= NUMBER_MAX && strings.count <= STRINGS_MAX);
    assert(memchr(string, '\0', sizeof(string)) && api_utf8_valid(string, strlen(string)));
    return 0;
}
