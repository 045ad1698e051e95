#include "fence/protocol/predecessors.h"

#include <assert.h>
#include <string.h>

bool fence_predecessors_have(const struct fence_predecessors *list, const char *id)
{
    for (unsigned i = 0; i < list->n; i++)
        if (strcmp(list->id[i], id) == 0)
            return true;
    return false;
}

void fence_predecessors_add(struct fence_predecessors *list, const char *id)
{
    const size_t len = strlen(id);
    assert(len > 0 && len <= FENCE_ID_HEX_LEN);
    if (fence_predecessors_have(list, id))
        return;
    if (list->n == FENCE_PREDECESSORS_MAX)
        memmove(list->id, list->id + 1, sizeof(list->id[0]) * --list->n);
    memcpy(list->id[list->n++], id, len + 1);
}

/* Puts the fleet @id before all others, if there is room. */
static void add_oldest(struct fence_predecessors *list, const char *id)
{
    if (fence_predecessors_have(list, id) || list->n == FENCE_PREDECESSORS_MAX)
        return;
    memmove(list->id[1], list->id[0], list->n * sizeof(list->id[0]));
    memcpy(list->id[0], id, sizeof(list->id[0]));
    list->n++;
}

/* The ids before the last common id are older than this id, so they replace no later one. */
void fence_predecessors_merge(struct fence_predecessors *list,
                              const struct fence_predecessors *more)
{
    unsigned older = more->n;
    while (older > 0 && !fence_predecessors_have(list, more->id[older - 1]))
        older--;
    for (unsigned i = older; i > 0; i--)
        add_oldest(list, more->id[i - 1]);
    for (unsigned i = older; i < more->n; i++)
        fence_predecessors_add(list, more->id[i]);
}

void fence_predecessors_format(const struct fence_predecessors *list,
                               char ret_text[static FENCE_PREDECESSORS_TEXT_MAX])
{
    size_t len = 0;
    for (unsigned i = 0; i < list->n; i++) {
        const size_t id_len = strlen(list->id[i]);
        if (i > 0)
            ret_text[len++] = ',';
        memcpy(ret_text + len, list->id[i], id_len);
        len += id_len;
    }
    ret_text[len] = '\0';
}

int fence_predecessors_parse(const char *text, size_t len, struct fence_predecessors *ret_list)
{
    struct fence_predecessors list = {0};
    const char *end = text + len;
    for (const char *at = text; at <= end; at++) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        const size_t id_len = (size_t)((comma ? comma : end) - at);
        if (id_len == 0 || id_len > FENCE_ID_HEX_LEN || memchr(at, '\0', id_len) ||
            list.n == FENCE_PREDECESSORS_MAX)
            return FENCE_EINVAL;
        memcpy(list.id[list.n++], at, id_len);
        at += id_len;
    }
    *ret_list = list;
    return 0;
}
