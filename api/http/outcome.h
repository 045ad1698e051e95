/* The result of an answer, in one word, for metrics and logs: what was done, or the problem. Pure.
 */
#ifndef API_HTTP_OUTCOME_H
#define API_HTTP_OUTCOME_H

#include "api/http/problem.h"

#define API_PROBLEM_ONE(problem, error, status, name, title, detail) +1

enum api_outcome {
    API_OUTCOME_DONE,     /* and there is nothing else to say */
    API_OUTCOME_GRANTED,  /* with a new token */
    API_OUTCOME_FOUND,    /* acquire: the lock was there under its id, as a retry finds it */
    API_OUTCOME_EXTENDED, /* under the old token */
    API_OUTCOME_RELEASED,
    API_OUTCOME_NOT_HELD, /* release, break: it was no longer held */
    API_OUTCOME_PROBLEMS, /* the first problem; the others follow in the order of their table */
    API_OUTCOMES = API_OUTCOME_PROBLEMS API_PROBLEMS(API_PROBLEM_ONE), /* how many there are */
};

enum api_outcome api_outcome_of_problem(enum api_problem problem);

/* "granted"; of a problem its name, which some problems share. */
const char *api_outcome_name(enum api_outcome outcome);

/* The first outcome of the same name. */
enum api_outcome api_outcome_named_alike(enum api_outcome outcome);

/* The status of a problem; 0: it is none, and its status is the handler's choice. */
unsigned api_outcome_status(enum api_outcome outcome);

#endif
