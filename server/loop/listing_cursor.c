#include "server/loop/listing_cursor.h"

#include "fence/protocol/lease.h"
#include "fence/protocol/name.h"

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FORM = 1, /* goes up when the text changes its meaning */
};

/* Of all that the listing depends on, its text so far included. */
static unsigned long sum_of(const char *text, const char *prefix)
{
    return fence_hash(prefix, strlen(prefix), fence_hash(text, strlen(text), FORM));
}

void server_listing_cursor_write(const struct server_listing_cursor *cursor, const char *prefix,
                                 char ret_text[static SERVER_LISTING_CURSOR_MAX])
{
    char what[SERVER_LISTING_CURSOR_MAX];
    (void)snprintf(what, sizeof(what), "%" PRIx32 ".%x.%" PRIx64 ".%" PRIx64 ".%" PRIx64 ".%s",
                   cursor->walked, cursor->walking, cursor->process, cursor->from, cursor->to,
                   cursor->after);
    int len =
        snprintf(ret_text, SERVER_LISTING_CURSOR_MAX, "%016lx.%s", sum_of(what, prefix), what);
    assert(len > 0 && len < SERVER_LISTING_CURSOR_MAX);
}

static bool plausible(const struct server_listing_cursor *cursor, unsigned n)
{
    bool split = cursor->after[0] != '\0';
    return cursor->walking < n && cursor->walked >> n == 0 &&
           !(cursor->walked >> cursor->walking & 1) &&
           (unsigned)__builtin_popcount(cursor->walked) < fence_blocking(n) &&
           (split ? fence_resource_valid(cursor->after, strlen(cursor->after)) : cursor->to == 0);
}

/* The hexadecimal number before the next dot; moves *@text behind that. Is lenient: what it lets
 * pass is not what would be written. */
static uint64_t read_field(const char **text, bool *whole)
{
    char *end = NULL;
    uint64_t number = strtoull(*text, &end, 16);
    *whole = *whole && *end == '.';
    if (*whole)
        *text = end + 1;
    return number;
}

int server_listing_cursor_read(const char *text, const char *prefix, unsigned n,
                               struct server_listing_cursor *ret_cursor)
{
    struct server_listing_cursor cursor;
    char again[SERVER_LISTING_CURSOR_MAX];
    const char *rest = text;
    bool whole = true;
    (void)read_field(&rest, &whole); /* the sum */
    memset(&cursor, 0, sizeof(cursor));
    cursor.walked = (uint32_t)read_field(&rest, &whole);
    cursor.walking = (unsigned)read_field(&rest, &whole);
    cursor.process = read_field(&rest, &whole);
    cursor.from = read_field(&rest, &whole);
    cursor.to = read_field(&rest, &whole);
    if (!whole || strlen(rest) > FENCE_RESOURCE_MAX)
        return FENCE_EINVAL;
    memcpy(cursor.after, rest, strlen(rest) + 1);
    if (!plausible(&cursor, n))
        return FENCE_EINVAL;
    server_listing_cursor_write(&cursor, prefix, again);
    if (strcmp(again, text) != 0)
        return FENCE_EINVAL;
    *ret_cursor = cursor;
    return 0;
}
