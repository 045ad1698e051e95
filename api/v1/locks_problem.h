/* The problems that a failed call about locks is answered with. */
#ifndef API_V1_LOCKS_PROBLEM_H
#define API_V1_LOCKS_PROBLEM_H

#include "api/http/request.h"
#include "fence/protocol/message.h"

/* Answers @request with the problem of @answer, which is a failure. */
void api_locks_problem(struct api_request *request, const struct fence_answer *answer);

#endif
