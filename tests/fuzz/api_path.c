/* Targets of requests come from clients. A path that is accepted begins with a slash, is UTF-8, and
 * is no later than it came. */
#include "api/http/path.h"
#include "api/json/utf8.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *path = malloc(size + 1);
    assert(path);
    memcpy(path, data, size);
    path[size] = '\0';
    const size_t before = strlen(path);
    const char *reason = NULL;
    if (api_path_decode(path, &reason) == 0) {
        const size_t after = strlen(path);
        assert(after <= before && path[0] == '/' && api_utf8_valid(path, after));
    } else {
        assert(reason && reason[0] != '\0');
    }
    free(path);
    return 0;
}
