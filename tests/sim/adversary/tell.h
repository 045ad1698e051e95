/* The history of a seed, told line by line: what happened, and what the core wanted. */
#ifndef TESTS_SIM_ADVERSARY_TELL_H
#define TESTS_SIM_ADVERSARY_TELL_H

#include "fence/core.h"

#include <stdio.h>

/* To @to; NULL: to no machine. */
void tell_event(FILE *to, const struct fence_event *event);
void tell_effect(FILE *to, const struct fence_effect *effect);

#endif
