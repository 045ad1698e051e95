#include "fence/protocol/view.h"

#include "fence/protocol/decimal.h"

#include <assert.h>

void fence_view_format(const struct fence_view *view, unsigned n,
                       char ret_text[static FENCE_VIEW_TEXT_MAX])
{
    assert(n >= 1 && n <= FENCE_MASTERS_MAX);
    size_t len = 0;
    for (unsigned i = 0; i < n; i++) {
        assert(view->incarnation[i] >= 0 && view->incarnation[i] <= FENCE_TOKEN_MAX);
        if (i > 0)
            ret_text[len++] = ',';
        len += fence_decimal((uint64_t)view->incarnation[i], ret_text + len);
    }
    ret_text[len] = '\0';
}

int fence_view_parse(const char *text, size_t len, unsigned n, struct fence_view *ret_view)
{
    struct fence_view view = {{0}};
    size_t at = 0;
    for (unsigned i = 0; i < n; i++) {
        size_t start = at;
        for (; at < len && text[at] >= '0' && text[at] <= '9'; at++) {
            if (at - start >= 16)
                return FENCE_EINVAL;
            view.incarnation[i] = view.incarnation[i] * 10 + (text[at] - '0');
        }
        if (at == start || view.incarnation[i] > FENCE_INCARNATION_MAX)
            return FENCE_EINVAL;
        if (i + 1 < n && (at >= len || text[at++] != ','))
            return FENCE_EINVAL;
    }
    if (at != len)
        return FENCE_EINVAL;
    *ret_view = view;
    return 0;
}

bool fence_view_merge(struct fence_view *view, const struct fence_view *other, unsigned n)
{
    assert(n <= FENCE_MASTERS_MAX);
    bool changed = false;
    for (unsigned i = 0; i < n; i++) {
        if (other->incarnation[i] <= view->incarnation[i])
            continue;
        view->incarnation[i] = other->incarnation[i];
        changed = true;
    }
    return changed;
}
