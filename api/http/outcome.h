/* The result of an answer, in one word, for metrics and logs: the success, or the problem. Pure. */
#ifndef API_HTTP_OUTCOME_H
#define API_HTTP_OUTCOME_H

#include "api/http/problem.h"

#define API_PROBLEM_ONE(problem, error, status, name, title, detail) +1

enum api_outcome {
    API_OUTCOME_DONE,     /* success of any other kind */
    API_OUTCOME_GRANTED,  /* with a new token */
    API_OUTCOME_FOUND,    /* acquire: the lock was already held under its id, as a retry finds it */
    API_OUTCOME_EXTENDED, /* under the old token */
    API_OUTCOME_RELEASED,
    API_OUTCOME_NOT_HELD, /* release, break: the lock was no longer held */
    API_OUTCOME_PROBLEMS, /* the first problem; the others follow in the order of their table */
    API_OUTCOMES = API_OUTCOME_PROBLEMS API_PROBLEMS(API_PROBLEM_ONE), /* how many there are */
};

enum api_outcome api_outcome_of_problem(enum api_problem problem);

/* Returns the name, such as "granted". Some problems share a name. */
const char *api_outcome_name(enum api_outcome outcome);

/* The first outcome of the same name. */
enum api_outcome api_outcome_named_alike(enum api_outcome outcome);

/* Returns the status of a problem; 0: the outcome is no problem, and the handler chooses the
 * status. */
unsigned api_outcome_status(enum api_outcome outcome);

#endif
