/* The start of the next page of a listing, and its text form: the opaque cursor that a client sends
 * back.
 *
 * A checksum guards the text. The kind of listing and the prefix are part of the checksum. The
 * reader also writes the cursor again and compares the texts, so each cursor has exactly one text.
 * The checksum guards against mistakes, not against attackers: a forged cursor shows no more than a
 * listing from the start. */
#ifndef FENCE_LISTING_CURSOR_H
#define FENCE_LISTING_CURSOR_H

#include "fence/protocol/error.h"
#include "fence/protocol/listing_message.h"

#include <stdint.h>

struct fence_listing_cursor {
    enum fence_listing_kind kind;
    uint32_t walked;  /* set of masters that the listing has finished */
    unsigned walking; /* the current master, 0 .. n - 1; not in @walked */
    uint64_t process; /* fence_hash() of the current master's server id: a scan cursor is valid
                       * in one process only */
    uint64_t from;    /* the scan cursor of the current master */

    /* Set if a page ended within the names of one step (fence/listing/page.h says when): the last
     * name that was passed, and the scan cursor behind the step. Otherwise "" and 0. */
    char after[FENCE_RESOURCE_MAX + 1];
    uint64_t to;
};

enum {
    FENCE_LISTING_CURSOR_MAX = 128 + FENCE_RESOURCE_MAX, /* bytes of the text, terminated */
};

/* Writes the text of @cursor, for a page of the listing of @prefix. */
void fence_listing_cursor_write(const struct fence_listing_cursor *cursor, const char *prefix,
                                char ret_text[static FENCE_LISTING_CURSOR_MAX]);

/* Reads the text of a cursor, for a listing of @kind, @prefix and a fleet of @n. FENCE_EINVAL:
 * fence_listing_cursor_write() did not write this text for such a listing. */
FENCE_CHECKED int fence_listing_cursor_read(const char *text, enum fence_listing_kind kind,
                                            const char *prefix, unsigned n,
                                            struct fence_listing_cursor *ret_cursor);

#endif
