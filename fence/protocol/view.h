/* The view: the incarnation of every member of a fleet, in member order. Every script call names
 * the view under which it works. A master that has another view refuses the call. */
#ifndef FENCE_PROTOCOL_VIEW_H
#define FENCE_PROTOCOL_VIEW_H

#include "fence/protocol/error.h"
#include "fence/protocol/incarnation.h"
#include "fence/protocol/limits.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    FENCE_VIEW_TEXT_MAX = FENCE_MASTERS_MAX * 17, /* 16 digits and a comma each, and the NUL */
};

/* @incarnation: 0 if unknown. */
struct fence_view {
    int64_t incarnation[FENCE_MASTERS_MAX];
};

/* Writes the view of @n members as decimal numbers with commas between, terminated. */
void fence_view_format(const struct fence_view *view, unsigned n,
                       char ret_text[static FENCE_VIEW_TEXT_MAX]);

/* Reads text that fence_view_format() wrote for exactly @n members. Returns FENCE_EINVAL for any
 * other text, and for a number above FENCE_INCARNATION_MAX; *@ret_view is then untouched. */
FENCE_CHECKED int fence_view_parse(const char *text, size_t len, unsigned n,
                                   struct fence_view *ret_view);

/* Raises each incarnation in @view to the incarnation in @other if that is higher; never lowers
 * one. Returns true if anything changed. */
bool fence_view_merge(struct fence_view *view, const struct fence_view *other, unsigned n);

#endif
