#include "tests/sim/promises/check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void sim_check_init(struct sim_check *check, const struct sim_plan *plan)
{
    check->sane = plan->sane;
    check->remembers = sim_plan_remembers(plan);
    check->seats = plan->seats ? plan->resources : 0;
    check->lost = false;
    check->violation[0] = '\0';
    check->calls_count = 0;
    for (unsigned r = 0; r < SIM_RESOURCES_MAX; r++) {
        check->grants[r].highest = 0;
        check->grants[r].count = 0;
        check->grants[r].held_until_us = 0;
        check->counted[r].highest = 0;
        check->counted[r].blocks_count = 0;
        memset(&check->broken[r], 0, sizeof(check->broken[r]));
        check->closed[r] = (struct sim_closed){.lock = SIM_NO_LOCK};
    }
    memset(check->asked, 0, sizeof(check->asked));
    memset(check->given_up, 0, sizeof(check->given_up));
    memset(check->counters, 0, sizeof(check->counters));
}

void sim_check_fail(struct sim_check *check, const char *format, ...)
{
    if (!sim_check_ok(check))
        return;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(check->violation, sizeof(check->violation), format, arguments);
    va_end(arguments);
}

/* ---- calls: each is answered once, with what fits it ----------------------------------------- */

struct sim_call *sim_check_new_call(struct sim_check *check)
{
    if (check->calls_count == SIM_CALLS_MAX)
        return NULL;
    struct sim_call *call = &check->calls[check->calls_count++];
    memset(call, 0, sizeof(*call));
    return call;
}

void sim_check_begun(struct sim_check *check, struct sim_call *call)
{
    call->state = SIM_CALL_UNDER_WAY;
    call->hopeless = check->lost;
    if (call->kind == FENCE_CALL_ACQUIRE)
        check->asked[call->lock]++;
    if (call->kind == FENCE_CALL_ACQUIRE || call->kind == FENCE_CALL_EXTEND) {
        sim_grants_begun(check, call);
        sim_broken_begun(check, call);
    }
    if (call->kind == FENCE_CALL_COUNT)
        sim_counted_begun(check, call);
}

static bool error_fits(const struct sim_call *call, int error)
{
    switch (error) {
    case 0:
    case FENCE_ENOQUORUM:
    case FENCE_ENOTREADY:
    case FENCE_EBUSY:
        return true;
    case FENCE_EHELD:
        return call->kind == FENCE_CALL_ACQUIRE;
    case FENCE_ECONTENDED:
        return call->kind == FENCE_CALL_ACQUIRE || call->kind == FENCE_CALL_COUNT;
    case FENCE_ENOENT:
        return call->kind == FENCE_CALL_COUNT && call->count == 0;
    case FENCE_ELEFT:
        return call->left;
    case FENCE_EWAITTIMEOUT:
    case FENCE_EWAITERS:
        return (call->kind == FENCE_CALL_ACQUIRE ||
                (call->kind == FENCE_CALL_WATCH && error == FENCE_EWAITERS)) &&
               call->wait_ms > 0;
    case FENCE_ETOOSLOW:
        return call->kind == FENCE_CALL_ACQUIRE || call->kind == FENCE_CALL_EXTEND;
    case FENCE_ELOCKLOST:
    case FENCE_EEXHAUSTED:
    case FENCE_EBROKEN:
        return call->kind == FENCE_CALL_EXTEND;
    case FENCE_EMISMATCH:
        return call->kind == FENCE_CALL_BREAK;
    default:
        return false;
    }
}

void sim_check_dropped(struct sim_check *check, struct sim_call *call)
{
    if (call->state != SIM_CALL_UNDER_WAY)
        sim_check_fail(check, "a call was dropped that was not under way");
    call->state = SIM_CALL_DROPPED;
    call->error = FENCE_EIO;
}

void sim_check_all_answered(struct sim_check *check)
{
    for (uint32_t i = 0; i < check->calls_count; i++)
        if (check->calls[i].state < SIM_CALL_ANSWERED)
            sim_check_fail(check, "call %" PRIu32 " was never answered", i);
}

/* ---- answers --------------------------------------------------------------------------------- */

static void check_validity(struct sim_check *check, const struct sim_call *call,
                           const struct fence_answer *answer)
{
    if (answer->lease.validity_ms > call->ttl_ms)
        sim_check_fail(check, "a validity of %" PRIu64 " ms from a lease of %" PRIu32 " ms",
                       answer->lease.validity_ms, call->ttl_ms);
}

static void check_granted(struct sim_check *check, const struct sim_call *call,
                          const struct fence_answer *answer, uint64_t now_us, uint64_t until_us)
{
    if (call->hopeless && check->lost)
        sim_check_fail(check, "P5: lock %" PRIu32 " is granted, though a majority has forgotten",
                       call->lock);
    check_validity(check, call, answer);
    sim_broken_granted(check, call);
    sim_grants_granted(check, call, now_us, until_us);
    sim_closed_granted(check, call, now_us, until_us);
}

static void check_extended(struct sim_check *check, const struct sim_call *call,
                           const struct fence_answer *answer, uint64_t now_us, uint64_t until_us)
{
    if (answer->error == FENCE_ELOCKLOST)
        sim_grants_lost(check, call, now_us);
    if (answer->error == FENCE_EBROKEN)
        sim_broken_told(check, call, answer->owner);
    if (answer->error)
        return;
    sim_broken_extended(check, call);
    if (call->anew) {
        check_granted(check, call, answer, now_us, until_us);
        return;
    }
    check_validity(check, call, answer);
    sim_grants_extended(check, call, now_us, until_us);
    sim_closed_granted(check, call, now_us, until_us);
}

/* One token for each resource, in the order in which they were asked for. */
static void keep_tokens(struct sim_check *check, struct sim_call *call,
                        const struct fence_answer *answer)
{
    const struct fence_group *group = answer->acquire.group;
    call->set.token[0] = answer->token;
    const bool writes =
        call->mode == FENCE_MODE_WRITE; /* it has all seats, whatever it asked for */
    if ((group != NULL) != (call->set.count > 1) ||
        (group && !writes && group->count != call->set.count))
        sim_check_fail(check, "lock %" PRIu32 " is granted other resources than were asked for",
                       call->lock);
    else if (group)
        for (unsigned k = 0; k < call->set.count; k++)
            call->set.token[k] = k < group->count ? group->locks[k].token : answer->token;
}

void sim_check_answered(struct sim_check *check, struct sim_call *call,
                        const struct fence_answer *answer, uint64_t now_us, uint64_t until_us)
{
    if (call->state != SIM_CALL_UNDER_WAY) {
        sim_check_fail(check, "call %" PRIu64 " was answered twice", answer->client);
        return;
    }
    call->state = SIM_CALL_ANSWERED;
    call->error = answer->error;
    call->found = answer->kind == FENCE_CALL_ACQUIRE && answer->acquire.found;
    call->anew = answer->kind == FENCE_CALL_EXTEND && answer->extend.anew;
    if (answer->kind != call->kind || !error_fits(call, answer->error))
        sim_check_fail(check, "call %" PRIu64 " got an answer that does not fit: %s",
                       answer->client, fence_strerror(answer->error));
    if (call->kind == FENCE_CALL_ACQUIRE && answer->error == 0) {
        keep_tokens(check, call, answer);
        call->until_us = until_us;
        check_granted(check, call, answer, now_us, until_us);
    } else if (call->kind == FENCE_CALL_BREAK && answer->breaks.released) {
        sim_broken_ends(check, call);
    } else if (call->kind == FENCE_CALL_RELEASE && answer->release.released) {
        sim_closed_left(check, call);
    } else if (call->kind == FENCE_CALL_EXTEND) {
        call->named_token = call->set.token[0];
        if (call->anew)
            call->set.token[0] = answer->token;
        check_extended(check, call, answer, now_us, until_us);
    } else if (call->kind == FENCE_CALL_COUNT) {
        sim_counted_answered(check, call, answer->count.value);
    }
}

unsigned sim_check_unheard(const struct fence_answer *answer)
{
    unsigned unheard = 0;
    for (unsigned i = 0; i < answer->total; i++)
        unheard += answer->parts[i] == FENCE_PART_DOWN || answer->parts[i] == FENCE_PART_TIMEOUT ||
                   answer->parts[i] == FENCE_PART_REFUSED;
    return unheard;
}

/* ---- masters and the account ----------------------------------------------------------------- */

void sim_check_counter(struct sim_check *check, unsigned machine, uint32_t slot, int64_t value)
{
    int64_t *seen = &check->counters[machine][slot];
    if (value < *seen)
        sim_check_fail(check, "counter %" PRIu32 " of machine %u fell from %" PRId64 " to %" PRId64,
                       slot, machine, *seen, value);
    *seen = value;
}

void sim_check_forgot(struct sim_check *check, unsigned machine, uint32_t slot, int64_t value)
{
    check->counters[machine][slot] = value;
}

void sim_check_lost(struct sim_check *check)
{
    check->lost = true;
}

void sim_check_mended(struct sim_check *check)
{
    check->lost = false;
}

void sim_check_account(struct sim_check *check, const struct sim_account *account)
{
    if (account->value != account->accepted)
        sim_check_fail(check, "P4: an update was lost: %" PRId64 " writes made %" PRId64,
                       account->accepted, account->value);
}
