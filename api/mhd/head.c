#include "api/mhd/head.h"

#include <stdint.h>
#include <string.h>

enum {
    LINE_END_MAX = 2, /* CR LF */
    LINE_ENDS_MAX = 2 * LINE_END_MAX,
};

void api_head_begin(struct api_head *head, const char *method, size_t size)
{
    *head = (struct api_head){.seen = method + strlen(method), .end = method + size};
}

static bool is_within(const struct api_head *head, const char *text)
{
    return (uintptr_t)text >= (uintptr_t)head->seen && (uintptr_t)text <= (uintptr_t)head->end;
}

/* Reports whether all of [@from, @to) are NULs (which replaced separators) or bytes of @others. */
static bool are_separators(const char *from, const char *to, const char *others)
{
    for (; from < to; from++)
        if (*from != '\0' && strchr(others, *from) == NULL)
            return false;
    return true;
}

/* @text comes next, after no more than separators. */
static void pass(struct api_head *head, const char *text, const char *others)
{
    if (head->hidden || !is_within(head, text) || !are_separators(head->seen, text, others))
        head->hidden = true;
    else
        head->seen = text + strlen(text);
}

void api_head_word(struct api_head *head, const char *word)
{
    if (word != NULL)
        pass(head, word, " ");
}

void api_head_field(struct api_head *head, const char *name, const char *value)
{
    const char *before = head->seen;
    pass(head, name, "");
    if (!head->hidden && name - before > LINE_END_MAX)
        head->hidden = true; /* the previous value ends with NULs */
    if (value != NULL)
        pass(head, value, " \t");
}

bool api_head_end(const struct api_head *head)
{
    /* The ends of the last line and of the empty one. More NULs came with the value. */
    return head->hidden || head->end - head->seen > LINE_ENDS_MAX ||
           !are_separators(head->seen, head->end, "");
}
