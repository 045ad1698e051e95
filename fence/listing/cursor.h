/* The start of the next page of a listing, and its text form: the opaque cursor that a client sends
 * back.
 *
 * Its sum guards the text. The kind of listing and the prefix are part of the sum. The text is also
 * compared with what this very code would write, so no two texts mean the same. The sum guards
 * against mistakes, not against people. A made-up cursor shows them no more than a listing from the
 * start does. */
#ifndef FENCE_LISTING_CURSOR_H
#define FENCE_LISTING_CURSOR_H

#include "fence/protocol/error.h"
#include "fence/protocol/listing_message.h"

#include <stdint.h>

struct fence_listing_cursor {
    enum fence_listing_kind kind;
    uint32_t walked;  /* set of masters whose names were all gone through */
    unsigned walking; /* the master whose turn it is, 0 .. n - 1; not one of those */
    uint64_t process; /* fence_hash() of its server id: a scan cursor means nothing to another */
    uint64_t from;    /* its scan cursor */

    /* If a page ended within the names of one step (fence/listing/page.h says when): the last
     * of them that was gone through, "" if it ended between two steps, and the scan cursor that
     * followed the step, 0 then. */
    char after[FENCE_RESOURCE_MAX + 1];
    uint64_t to;
};

enum {
    FENCE_LISTING_CURSOR_MAX = 128 + FENCE_RESOURCE_MAX, /* bytes of the text, terminated */
};

/* Writes the text of @cursor, a page of the listing of @prefix. */
void fence_listing_cursor_write(const struct fence_listing_cursor *cursor, const char *prefix,
                                char ret_text[static FENCE_LISTING_CURSOR_MAX]);

/* Reads a text again, for a listing of @kind, @prefix and a fleet of @n. FENCE_EINVAL: it was not
 * written so. */
FENCE_CHECKED int fence_listing_cursor_read(const char *text, enum fence_listing_kind kind,
                                            const char *prefix, unsigned n,
                                            struct fence_listing_cursor *ret_cursor);

#endif
