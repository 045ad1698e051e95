/* Cursors come from clients. One that is accepted is what this code would write: no two texts mean
 * the same. */
#include "fence/listing/cursor.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    MEMBERS = 5,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char prefix[] = "a/";
    struct fence_listing_cursor cursor;
    char again[FENCE_LISTING_CURSOR_MAX];
    char *text = malloc(size + 1);
    assert(text);
    memcpy(text, data, size);
    text[size] = '\0';
    if (fence_listing_cursor_read(text, FENCE_LISTING_LOCKS, prefix, MEMBERS, &cursor) == 0) {
        fence_listing_cursor_write(&cursor, prefix, again);
        assert(strcmp(text, again) == 0);
        assert(cursor.walking < MEMBERS && !(cursor.walked >> cursor.walking & 1));
    }
    free(text);
    return 0;
}
