/* Views come from masters. Whatever text is accepted must mean the same when written and read
 * again. */
#include "fence/protocol/view.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The first byte says how many members are expected. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    unsigned n = 1 + data[0] % FENCE_MASTERS_MAX;
    struct fence_view view;
    if (fence_view_parse((const char *)data + 1, size - 1, n, &view) < 0)
        return 0;

    char text[FENCE_VIEW_TEXT_MAX];
    fence_view_format(&view, n, text);
    struct fence_view again;
    int error = fence_view_parse(text, strlen(text), n, &again);
    assert(error == 0);
    assert(memcmp(&view, &again, sizeof(view)) == 0);
    return 0;
}
