#include "tests/sim/actions/line.h"

#include "fence/protocol/decimal.h"

#include <assert.h>
#include <string.h>

enum {
    LINE_MAX = 2048, /* bytes; a line is far shorter */
};

/* The first incarnation of each member, which the model calls 0. */
#define FIRST_INCARNATION (INT64_C(1) << FENCE_INCARNATION_MEMORY_SHIFT)

void sim_line_begin(struct sim_actions *actions, const char *word)
{
    const size_t len = strlen(word);
    if (actions->len + LINE_MAX > sizeof(actions->text))
        sim_actions_flush(actions);
    memcpy(actions->text + actions->len, word, len);
    actions->len += len;
}

void sim_line_number(struct sim_actions *actions, uint64_t number)
{
    assert(actions->len + FENCE_DECIMAL_MAX + 2 < sizeof(actions->text));
    actions->text[actions->len++] = ' ';
    actions->len += fence_decimal(number, actions->text + actions->len);
}

void sim_line_end(struct sim_actions *actions)
{
    assert(actions->len < sizeof(actions->text));
    actions->text[actions->len++] = '\n';
    actions->lines++;
}

void sim_line_list(struct sim_actions *actions, const int64_t *numbers, unsigned count)
{
    sim_line_number(actions, count);
    for (unsigned k = 0; k < count; k++)
        sim_line_number(actions, (uint64_t)numbers[k]);
}

uint64_t sim_line_incarnation(int64_t incarnation)
{
    return incarnation > FIRST_INCARNATION ? (uint64_t)(incarnation - FIRST_INCARNATION) : 0;
}

void sim_line_view(struct sim_actions *actions, const struct fence_view *view, unsigned members)
{
    sim_line_number(actions, members);
    for (unsigned j = 0; j < members; j++)
        sim_line_number(actions, sim_line_incarnation(view->incarnation[j]));
}

void sim_line_machine(struct sim_actions *actions, const struct sim_shown *shown)
{
    sim_line_number(actions, shown->member);
    sim_line_number(actions, shown->index);
}

void sim_line_counters(struct sim_actions *actions, const struct sim_shown *shown)
{
    sim_line_list(actions, shown->counter, actions->slots + actions->names);
}
