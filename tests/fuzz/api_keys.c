/* Key files come from operators, and keys from clients: the first line is a key, the rest a file.
 */
#include "api/auth/keys.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char why[API_KEYS_WHY_MAX] = "";
    struct api_keys *keys = NULL;
    char *text = malloc(size + 1);
    assert(text);
    memcpy(text, data, size);
    text[size] = '\0';
    const size_t first = strcspn(text, "\n");
    const size_t from = first < size ? first + 1 : size;
    text[first < size ? first : size] = '\0';

    const int result = api_keys_parse("keys", text + from, size - from, why, &keys);
    assert(result == 0 || result == FENCE_EINVAL);
    assert((result == 0) == (keys != NULL));
    assert(memchr(why, '\0', sizeof(why)) && (result == 0 || why[0] != '\0'));
    assert(keys == NULL || from == size || data[size - 1] == '\n');
    if (keys != NULL) {
        assert(api_keys_count(keys) <= API_KEYS_MAX);
        assert(api_keys_verify(keys, text) == NULL); /* no caller can guess a secret */
        (void)api_keys_of_subject(keys, text);
    }
    api_keys_unref(keys);
    free(text);
    return 0;
}
