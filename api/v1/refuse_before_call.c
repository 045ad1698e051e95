#include "api/v1/refuse_before_call.h"

#include "api/http/problem_answer.h"

bool api_refuse_while_draining(struct api_request *request, const struct api_backend *backend)
{
    if (!backend->draining)
        return false;
    api_problem_answer_detail(request, API_PROBLEM_STOPPING,
                              "This pawld is shutting down. The call acquired no lock. Retry the "
                              "call at another pawld.");
    return true;
}

bool api_refuse_wait_in_batch(struct api_request *request, int64_t wait_ms)
{
    if (wait_ms == 0 || !api_request_is_batched(request))
        return false;
    api_problem_answer_detail(request, API_PROBLEM_INVALID,
                              "A call of a batch cannot wait for the lock. Remove wait_ms, or send "
                              "this call separately.");
    return true;
}
