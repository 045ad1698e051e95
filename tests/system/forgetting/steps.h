/* The steps of a way to forget (ways/, way.sh), played on master 0 of the fleet. */
#ifndef TESTS_SYSTEM_FORGETTING_STEPS_H
#define TESTS_SYSTEM_FORGETTING_STEPS_H

#include <stdbool.h>

/* Reports whether @way has @step. */
bool steps_has(const char *way, const char *step);

/* Runs @step of @way. Fails the test, with what the step wrote, where the step fails. */
void steps_play(const char *way, const char *step);

/* Ends the processes that steps left. Before the fleet ends. */
void steps_end(void);

#endif
