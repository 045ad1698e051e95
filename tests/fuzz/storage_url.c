/* Addresses of masters come from operators. The shown form has no password. */
#include "storage/redis/url.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct storage_redis_url url;
    const char *why = NULL;
    char *text = malloc(size + 1);
    assert(text);
    memcpy(text, data, size);
    text[size] = '\0';
    if (storage_redis_url_parse(text, &url, &why) == 0) {
        char shown[STORAGE_ADDRESS_MAX];
        storage_redis_url_show(&url, shown);
        assert(memchr(shown, '\0', sizeof(shown)));
        assert((url.path[0] != '\0') != (url.host[0] != '\0'));
        assert(url.path[0] != '\0' || url.port > 0);
        assert(!strchr(shown, '@') || strchr(url.host, '@') || strchr(url.path, '@'));
    } else {
        assert(why && why[0] != '\0');
    }
    free(text);
    return 0;
}
