#include "api/v1/locks_problem.h"

#include "api/http/problem_answer.h"
#include "api/v1/write_answer.h"
#include "fence/protocol/error.h"
#include "fence/protocol/name.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The bound depends on the fleet, so the table cannot name it. */
static void answer_long_ttl(struct api_request *request, const struct fence_answer *answer)
{
    assert(answer->error == FENCE_ETTL && answer->lease.ttl_max_ms > 0);
    char detail[API_DETAIL_MAX];
    (void)snprintf(detail, sizeof(detail),
                   "ttl_ms%s longer than the fleet allows. Send at most %" PRIu32 ".",
                   answer->lease.delay_ms > 0 ? " and delay_ms together are" : " is",
                   answer->lease.ttl_max_ms);
    char body[API_PROBLEM_BODY_MAX];
    struct api_writer writer;
    api_problem_begin(&writer, body, API_PROBLEM_TTL, detail);
    api_write_integer(&writer, "ttl_max_ms", answer->lease.ttl_max_ms);
    api_problem_end(&writer, request, API_PROBLEM_TTL, -1);
}

/* Explains problems that only a person can repair. The sentence names the key, so the table cannot
 * have it. */
static void explain_obstacle(const struct fence_answer *answer,
                             char ret_detail[static API_DETAIL_MAX])
{
    assert(fence_error_is_obstacle(answer->error));
    const char *name = answer->resource;
    unsigned slot = fence_slot(name, strlen(name));
    switch (answer->error) {
    case FENCE_EFOREIGN:
        (void)snprintf(ret_detail, API_DETAIL_MAX,
                       "On the masters that refused, the key " FENCE_LOCK_KEY
                       "%s has a value that Pawl did not write. Find the program that wrote the "
                       "value, and delete the key on these masters.",
                       name);
        break;
    case FENCE_EENDLESS:
        (void)snprintf(ret_detail, API_DETAIL_MAX,
                       "The key " FENCE_LOCK_KEY
                       "%s has no expiry on the masters that refused, so the lock never ends. "
                       "Release the lock with its Lock-Id, or set an expiry on these masters "
                       "(PEXPIRE). If the holder has stopped, you can delete the key.",
                       name);
        break;
    case FENCE_ESPENT:
        (void)snprintf(
            ret_detail, API_DETAIL_MAX,
            "The field %u of " FENCE_FLEET_KEY
            " counts the tokens of this name. On the masters that refused, the field has reached "
            "its maximum. Use another name. If another program changed the field, set the field "
            "to the highest token that a guard has seen.",
            slot);
        break;
    default:
        (void)snprintf(
            ret_detail, API_DETAIL_MAX,
            "The field %u of " FENCE_FLEET_KEY
            " counts the tokens of this name. On the masters that refused, the field has a value "
            "that Pawl did not write. Set the field to the highest token that a guard has seen, or "
            "higher.",
            slot);
        break;
    }
}

static void answer_obstacle(struct api_request *request, const struct fence_answer *answer)
{
    char detail[API_DETAIL_MAX];
    explain_obstacle(answer, detail);
    api_answer_failed(request, api_problem_of(answer->error), detail, "resource", answer, true);
}

static int64_t seconds_rounded_up(uint64_t ms)
{
    return (int64_t)((ms + 999) / 1000);
}

static void answer_failure(struct api_request *request, const struct fence_answer *answer)
{
    enum api_problem problem = api_problem_of(answer->error);
    int64_t retry_after_s = -1;
    char body[API_PROBLEM_BODY_MAX];
    struct api_writer writer;
    api_problem_begin(&writer, body, problem, NULL);
    api_write_string(&writer, "resource", answer->resource);

    switch (answer->error) {
    case FENCE_EHELD:
    case FENCE_EWAITTIMEOUT:
        api_write_integer(&writer, "retry_after_ms", (int64_t)answer->remaining_ms);
        api_write_owner(&writer, request, answer->owner);
        retry_after_s = seconds_rounded_up(answer->remaining_ms);
        break;
    case FENCE_EBROKEN:
        if (answer->owner[0] != '\0')
            api_write_string(&writer, "by", answer->owner);
        else
            api_write_null(&writer, "by");
        break;
    case FENCE_EMISMATCH:
        api_write_token_now(&writer, answer->token);
        break;
    case FENCE_ENOQUORUM:
        api_write_parts(&writer, answer->parts, answer->total);
        break;
    default:
        break;
    }
    api_problem_end(&writer, request, problem, retry_after_s);
}

void api_locks_problem(struct api_request *request, const struct fence_answer *answer)
{
    assert(answer->error < 0);
    if (answer->error == FENCE_ETTL)
        answer_long_ttl(request, answer);
    else if (fence_error_is_obstacle(answer->error))
        answer_obstacle(request, answer);
    else
        answer_failure(request, answer);
}
