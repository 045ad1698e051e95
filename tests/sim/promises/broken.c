#include "tests/sim/promises/broken.h"

#include "tests/sim/promises/check.h"

#include <inttypes.h>
#include <string.h>

void sim_broken_begins(struct sim_check *check, uint32_t resource, uint32_t lock, int64_t token,
                       uint64_t now_us)
{
    struct sim_broken *broken = &check->broken[resource];
    struct sim_grants *grants = &check->grants[resource];
    sim_closed_opens(check, resource);
    if (broken->begun[lock] < token)
        broken->begun[lock] = token;
    if (broken->highest < token)
        broken->highest = token;
    if (grants->holder == lock && grants->held_token <= token && grants->held_until_us > now_us)
        grants->held_until_us = now_us;
}

bool sim_broken_is_begun(const struct sim_check *check, uint32_t resource, uint32_t lock,
                         int64_t token)
{
    return check->broken[resource].begun[lock] >= token;
}

void sim_broken_ends(struct sim_check *check, const struct sim_call *call)
{
    struct sim_broken *broken = &check->broken[call->set.resource[0]];
    if (broken->ended[call->lock] < call->set.token[0])
        broken->ended[call->lock] = call->set.token[0];
}

void sim_broken_begun(const struct sim_check *check, struct sim_call *call)
{
    for (uint32_t r = 0; r < call->seats; r++)
        call->broken[r] = check->broken[r].ended[call->lock];
    for (unsigned k = 0; call->seats == 0 && k < call->set.count; k++)
        call->broken[k] = check->broken[call->set.resource[k]].ended[call->lock];
}

void sim_broken_seated(struct sim_call *call, uint32_t resource)
{
    call->broken[0] = call->broken[resource];
}

void sim_broken_granted(struct sim_check *check, const struct sim_call *call)
{
    for (unsigned k = 0; k < call->set.count; k++)
        if (call->set.token[k] <= call->broken[k])
            sim_check_fail(check,
                           "B3: lock %" PRIu32 " got token %" PRId64 ", although token %" PRId64
                           " was broken before the call",
                           call->lock, call->set.token[k], call->broken[k]);
}

void sim_broken_extended(struct sim_check *check, const struct sim_call *call)
{
    if (call->named_token > call->broken[0])
        return;
    if (!call->anew)
        sim_check_fail(check,
                       "B1: lock %" PRIu32 " with token %" PRId64
                       " is extended, although the grant was broken before the call",
                       call->lock, call->named_token);
    else if (check->remembers)
        sim_check_fail(check,
                       "B2: lock %" PRIu32 " with token %" PRId64
                       " is acquired again, although the grant was broken before the call",
                       call->lock, call->named_token);
}

void sim_broken_told(struct sim_check *check, const struct sim_call *call, const char *by)
{
    if (strcmp(by, SIM_BREAKER) != 0 ||
        check->broken[call->set.resource[0]].highest < call->named_token)
        sim_check_fail(check,
                       "B4: lock %" PRIu32 " with token %" PRId64
                       " is reported as broken, but no client asked for the break",
                       call->lock, call->named_token);
}
