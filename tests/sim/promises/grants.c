#include "tests/sim/promises/grants.h"

#include "tests/sim/promises/check.h"

#include <inttypes.h>
#include <string.h>

/* ---- P1: tokens are distinct, and rise from what was returned before ------------------------- */

static void raise_bounds(const struct sim_grants *grants, uint32_t lock, int64_t *above,
                         int64_t *least)
{
    for (uint32_t i = 0; i < grants->count; i++) {
        const struct sim_grant *grant = &grants->grants[i];
        int64_t *bound = grant->lock == lock ? least : above;
        if (*bound < grant->token)
            *bound = grant->token;
    }
}

/* Which seat it will be is not known yet, or it will be all. A new token has to exceed those of all
 * seats. A lock id that asks again may have a seat since before others were granted theirs. */
static void begun_for_a_seat(const struct sim_check *check, struct sim_call *call)
{
    int64_t highest = 0;
    for (uint32_t r = 0; r < check->seats; r++) {
        call->least[r] = 0;
        raise_bounds(&check->grants[r], call->lock, &call->above[r], &call->least[r]);
        highest = highest < call->above[r] ? call->above[r] : highest;
    }
    for (uint32_t r = 0; r < check->seats && !call->idempotent; r++)
        call->above[r] = highest;
}

void sim_grants_begun(const struct sim_check *check, struct sim_call *call)
{
    memset(call->above, 0, sizeof(call->above));
    if (call->seats > 0) {
        begun_for_a_seat(check, call);
        return;
    }
    if (call->mode == FENCE_MODE_WRITE && !call->idempotent) {
        begun_for_a_seat(check, call);
        return;
    }
    for (unsigned k = 0; k < call->set.count; k++) {
        call->least[k] = 0;
        raise_bounds(&check->grants[call->set.resource[k]], call->lock, &call->above[k],
                     &call->least[k]);
    }
}

/* Reports whether @call may have @resource by another call with its lock id, which came at the same
 * time.
 */
static bool has_twin(const struct sim_check *check, const struct sim_call *call, uint32_t resource)
{
    const struct sim_grants *grants = &check->grants[resource];
    for (uint32_t i = 0; i < grants->count; i++)
        if (grants->grants[i].lock == call->lock)
            return true;
    for (uint32_t i = 0; i < check->calls_count; i++) {
        const struct sim_call *other = &check->calls[i];
        if (other != call && other->kind == FENCE_CALL_ACQUIRE && other->lock == call->lock &&
            other->state < SIM_CALL_ANSWERED)
            return true;
    }
    return false;
}

/* If nothing is forgotten, a lock id that has a seat gets no second one when it asks again. */
static void check_one_seat(struct sim_check *check, const struct sim_call *call, uint32_t resource,
                           uint64_t now_us)
{
    for (uint32_t r = 0; r < call->seats && check->remembers; r++) {
        const struct sim_grants *grants = &check->grants[r];
        const bool has_it =
            grants->holder == call->lock && grants->held_until_us > now_us && call->least[r] > 0;
        if (has_it && r != resource && !sim_grants_is_given_up(check, r, call->lock) &&
            !has_twin(check, call, resource))
            sim_check_fail(check,
                           "P3: lock %" PRIu32 " has the seat r%" PRIu32 ", but gets seat r%" PRIu32
                           " when it asks again",
                           call->lock, r, resource);
    }
}

void sim_grants_seated(struct sim_check *check, struct sim_call *call, uint32_t resource,
                       uint64_t now_us)
{
    check_one_seat(check, call, resource, now_us);
    call->set.resource[0] = resource;
    call->above[0] = call->above[resource];
    call->least[0] = call->least[resource];
}

static void check_order(struct sim_check *check, const struct sim_call *call, unsigned k)
{
    struct sim_grants *grants = &check->grants[call->set.resource[k]];
    int64_t token = call->set.token[k];
    if (token <= call->above[k])
        sim_check_fail(check,
                       "P1: lock %" PRIu32 " got token %" PRId64 ", although token %" PRId64
                       " was returned before the call",
                       call->lock, token, call->above[k]);
    if (token < call->least[k])
        sim_check_fail(check,
                       "P1: lock %" PRIu32 " got token %" PRId64 ", although it had token %" PRId64
                       " before it asked again",
                       call->lock, token, call->least[k]);
    for (uint32_t i = 0; i < grants->count; i++)
        if (grants->grants[i].token == token && grants->grants[i].lock != call->lock)
            sim_check_fail(check, "P1: token %" PRId64 " was granted twice, now to lock %" PRIu32,
                           token, call->lock);
    grants->grants[grants->count++] = (struct sim_grant){.token = token, .lock = call->lock};
    if (grants->highest < token)
        grants->highest = token;
}

/* ---- P2: validities do not overlap, where clocks are sane ------------------------------------ */

bool sim_grants_is_given_up(const struct sim_check *check, uint32_t resource, uint32_t lock)
{
    return check->given_up[lock] >> resource & 1;
}

static void check_exclusion(struct sim_check *check, const struct sim_call *call, uint32_t resource,
                            uint64_t now_us)
{
    const struct sim_grants *grants = &check->grants[resource];
    if (check->sane && grants->held_until_us > now_us && grants->holder != call->lock)
        sim_check_fail(check,
                       "P2: lock %" PRIu32 " is valid, while lock %" PRIu32
                       " is valid for another %" PRIu64 " us",
                       call->lock, grants->holder, grants->held_until_us - now_us);
}

static void hold_until(struct sim_check *check, const struct sim_call *call, unsigned k,
                       uint64_t now_us, uint64_t until_us)
{
    uint32_t resource = call->set.resource[k];
    struct sim_grants *grants = &check->grants[resource];
    if (sim_grants_is_given_up(check, resource, call->lock) ||
        sim_broken_is_begun(check, resource, call->lock, call->set.token[k]))
        return;
    check_exclusion(check, call, resource, now_us);
    if (call->declined)
        return;
    if (grants->holder != call->lock || grants->held_until_us < until_us)
        grants->held_until_us = until_us;
    grants->holder = call->lock;
    grants->held_token = call->set.token[k];
}

void sim_grants_granted(struct sim_check *check, const struct sim_call *call, uint64_t now_us,
                        uint64_t until_us)
{
    for (unsigned k = 0; k < call->set.count; k++) {
        check_order(check, call, k);
        hold_until(check, call, k, now_us, until_us);
    }
}

/* A client that extends has had the lock ever since: no caller was granted it meanwhile. A late
 * copy of a release takes what its lock id was granted since. */
static void check_continuity(struct sim_check *check, const struct sim_call *call)
{
    if (sim_grants_is_given_up(check, call->set.resource[0], call->lock) ||
        sim_broken_is_begun(check, call->set.resource[0], call->lock, call->set.token[0]))
        return;
    const struct sim_grants *grants = &check->grants[call->set.resource[0]];
    for (uint32_t i = 0; i < grants->count && check->sane; i++)
        if (grants->grants[i].lock != call->lock && grants->grants[i].token > call->set.token[0])
            sim_check_fail(check,
                           "P2: lock %" PRIu32 " with token %" PRId64
                           " is extended, though lock %" PRIu32 " was granted since",
                           call->lock, call->set.token[0], grants->grants[i].lock);
}

void sim_grants_extended(struct sim_check *check, const struct sim_call *call, uint64_t now_us,
                         uint64_t until_us)
{
    check_continuity(check, call);
    hold_until(check, call, 0, now_us, until_us);
}

static bool has_a_later_token(const struct sim_grants *grants, const struct sim_call *call)
{
    for (uint32_t i = 0; i < grants->count; i++)
        if (grants->grants[i].lock == call->lock && grants->grants[i].token > call->set.token[0])
            return true;
    return false;
}

/* A retry may have been given a higher token, or be about to: the one that is named is
 * lost then, as it should be. The lock is not: its lock id has it still. */
void sim_grants_lost(struct sim_check *check, const struct sim_call *call, uint64_t now_us)
{
    const struct sim_grants *grants = &check->grants[call->set.resource[0]];
    bool asked_once = check->asked[call->lock] == 1 && !has_a_later_token(grants, call);
    if (asked_once && check->sane && grants->held_until_us > now_us && grants->holder == call->lock)
        sim_check_fail(check, "P2: lock %" PRIu32 " is lost %" PRIu64 " us before its time",
                       call->lock, grants->held_until_us - now_us);
}

void sim_grants_given_up(struct sim_check *check, uint32_t resource, uint32_t lock, uint64_t now_us)
{
    struct sim_grants *grants = &check->grants[resource];
    check->given_up[lock] |= (uint8_t)(1U << resource);
    if (grants->holder == lock && grants->held_until_us > now_us)
        grants->held_until_us = now_us;
}
