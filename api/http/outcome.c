#include "api/http/outcome.h"

#include <assert.h>
#include <string.h>

enum api_outcome api_outcome_of_problem(enum api_problem problem)
{
    enum api_outcome outcome = API_OUTCOME_PROBLEMS + (enum api_outcome)problem;
    assert(outcome < API_OUTCOMES);
    return outcome;
}

const char *api_outcome_name(enum api_outcome outcome)
{
    static const char *const done[API_OUTCOME_PROBLEMS] = {
        [API_OUTCOME_DONE] = "ok",           [API_OUTCOME_GRANTED] = "granted",
        [API_OUTCOME_FOUND] = "found",       [API_OUTCOME_EXTENDED] = "extended",
        [API_OUTCOME_RELEASED] = "released", [API_OUTCOME_NOT_HELD] = "not-held",
    };
    assert(outcome < API_OUTCOMES);
    if (outcome < API_OUTCOME_PROBLEMS)
        return done[outcome];
    return api_problem_name((enum api_problem)(outcome - API_OUTCOME_PROBLEMS));
}

enum api_outcome api_outcome_named_alike(enum api_outcome outcome)
{
    enum api_outcome first = 0;
    while (strcmp(api_outcome_name(first), api_outcome_name(outcome)) != 0)
        first++;
    return first;
}

unsigned api_outcome_status(enum api_outcome outcome)
{
    assert(outcome < API_OUTCOMES);
    return outcome < API_OUTCOME_PROBLEMS
               ? 0
               : api_problem_status((enum api_problem)(outcome - API_OUTCOME_PROBLEMS));
}
