/* A line of text: a word, and numbers behind it. */
#ifndef TESTS_SIM_ACTIONS_LINE_H
#define TESTS_SIM_ACTIONS_LINE_H

#include "tests/sim/actions/actions.h"

void sim_line_begin(struct sim_actions *actions, const char *word);
void sim_line_number(struct sim_actions *actions, uint64_t number);
void sim_line_end(struct sim_actions *actions);

/* @count, and then so many numbers. */
void sim_line_list(struct sim_actions *actions, const int64_t *numbers, unsigned count);

/* A view: the incarnations of all members, where 0 is the first of each. */
void sim_line_view(struct sim_actions *actions, const struct fence_view *view, unsigned members);
uint64_t sim_line_incarnation(int64_t incarnation);

/* The member and the index of @shown. */
void sim_line_machine(struct sim_actions *actions, const struct sim_shown *shown);

/* The counters of a machine. */
void sim_line_counters(struct sim_actions *actions, const struct sim_shown *shown);

#endif
