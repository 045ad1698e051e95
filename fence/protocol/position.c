#include "fence/protocol/position.h"

#include "fence/protocol/decimal.h"

#include <assert.h>
#include <string.h>

bool fence_position_is_behind(struct fence_position now, struct fence_position known)
{
    return now.incarnation != known.incarnation ? now.incarnation < known.incarnation
                                                : now.writes < known.writes;
}

void fence_position_raise(struct fence_position *known, struct fence_position heard)
{
    if (fence_position_is_behind(*known, heard))
        *known = heard;
}

void fence_positions_merge(struct fence_positions *known, const struct fence_positions *heard,
                           unsigned n)
{
    assert(n <= FENCE_MASTERS_MAX);
    for (unsigned i = 0; i < n; i++)
        fence_position_raise(&known->of[i], heard->of[i]);
}

void fence_positions_format(const struct fence_positions *positions, unsigned n,
                            char ret_text[static FENCE_POSITIONS_TEXT_MAX])
{
    assert(n >= 1 && n <= FENCE_MASTERS_MAX);
    size_t len = 0;
    for (unsigned i = 0; i < n; i++) {
        const struct fence_position *position = &positions->of[i];
        assert(position->incarnation >= 0 && position->incarnation <= FENCE_TOKEN_MAX);
        assert(position->writes >= 0 && position->writes <= FENCE_TOKEN_MAX);
        if (i > 0)
            ret_text[len++] = ',';
        len += fence_decimal((uint64_t)position->incarnation, ret_text + len);
        ret_text[len++] = ':';
        len += fence_decimal((uint64_t)position->writes, ret_text + len);
    }
    ret_text[len] = '\0';
}

/* Reads a number that ends at the character @end, and moves *@at behind that character. */
static bool read_up_to(const char **at, const char *text_end, char end, int64_t *ret_number)
{
    uint64_t number = 0;
    const char *stop = memchr(*at, end, (size_t)(text_end - *at));
    if (!stop)
        stop = text_end;
    if (!fence_decimal_read(*at, (size_t)(stop - *at), FENCE_TOKEN_MAX, &number))
        return false;
    *ret_number = (int64_t)number;
    *at = stop < text_end ? stop + 1 : NULL;
    return true;
}

int fence_positions_parse(const char *text, size_t len, unsigned n,
                          struct fence_positions *ret_positions)
{
    assert(n >= 1 && n <= FENCE_MASTERS_MAX);
    struct fence_positions positions = {0};
    const char *at = text;
    for (unsigned i = 0; i < n; i++) {
        struct fence_position *position = &positions.of[i];
        if (!at || !read_up_to(&at, text + len, ':', &position->incarnation) || !at ||
            !read_up_to(&at, text + len, ',', &position->writes))
            return FENCE_EINVAL;
    }
    if (at)
        return FENCE_EINVAL;
    *ret_positions = positions;
    return 0;
}
