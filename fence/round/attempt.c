#include "fence/round/attempt.h"

#include "fence/base/moves.h"
#include "fence/base/set.h"
#include "fence/protocol/error.h"
#include "fence/protocol/lease.h"

#include <assert.h>
#include <string.h>

static const uint32_t attempt_moves[] = {
    [FENCE_ATTEMPT_TAKING] = FENCE_MOVE(FENCE_ATTEMPT_CONFIRMING) | FENCE_MOVE(FENCE_ATTEMPT_WON) |
                             FENCE_MOVE(FENCE_ATTEMPT_FAILED),
    [FENCE_ATTEMPT_CONFIRMING] = FENCE_MOVE(FENCE_ATTEMPT_WON) | FENCE_MOVE(FENCE_ATTEMPT_FAILED),
    [FENCE_ATTEMPT_WON] = 0,
    [FENCE_ATTEMPT_FAILED] = 0,
};

static void attempt_move(struct fence_attempt *attempt, enum fence_attempt_state to)
{
    assert(fence_move_allowed(attempt_moves, attempt->state, to));
    attempt->state = to;
}

static unsigned size(uint32_t set)
{
    return fence_set_count(set);
}

/* Reports whether so many masters are down, silent or unwilling that the others do not matter. */
static bool quorum_lost(const struct fence_tally *tally)
{
    return fence_tally_unknown(tally) + fence_tally_count(tally, FENCE_PART_REFUSED) >=
           fence_blocking(tally->n);
}

/* How many must agree: a majority of all masters, up or down. */
static unsigned needed(const struct fence_tally *tally)
{
    return fence_majority(tally->n);
}

/* Fails the attempt once the masters that agreed and the open ones cannot make a majority of N. The
 * reason must be clear by then: "held" and "contended" ask different things of the caller. */
static void fail_if_out_of_reach(struct fence_attempt *attempt)
{
    const struct fence_tally *tally = &attempt->tally;
    unsigned majority = needed(tally);
    unsigned open = fence_tally_open(tally);
    if (fence_tally_count(tally, FENCE_PART_GRANTED) + open >= majority)
        return;
    bool clear = quorum_lost(tally) || attempt->holders.votes >= majority ||
                 attempt->holders.votes + open < majority;
    if (clear)
        attempt_move(attempt, FENCE_ATTEMPT_FAILED);
}

void fence_attempt_begin(struct fence_attempt *attempt, uint64_t id, struct fence_token_votes votes,
                         struct fence_attempt_masters masters, uint64_t now_us)
{
    assert(votes.count > 0 && votes.count <= FENCE_GROUP_MAX);
    attempt->state = FENCE_ATTEMPT_TAKING;
    attempt->id = id;
    attempt->began_us = now_us;
    attempt->sent = 0;
    attempt->frozen = 0;
    attempt->found = 0;
    attempt->remaining_ms = UINT64_MAX;
    attempt->stale = false;
    attempt->votes = votes;
    for (unsigned k = 0; k < votes.count; k++)
        votes.each[k].token = 0;
    fence_holders_begin(&attempt->holders);
    fence_obstacles_begin(&attempt->obstacles);
    fence_tally_begin(&attempt->tally, masters.n, masters.first, masters.spare);
    fail_if_out_of_reach(attempt);
    if (attempt->state == FENCE_ATTEMPT_TAKING)
        attempt->sent = masters.first;
}

bool fence_attempt_wants_more(const struct fence_attempt *attempt)
{
    const struct fence_tally *tally = &attempt->tally;
    if (attempt->state != FENCE_ATTEMPT_TAKING || tally->spare == 0)
        return false;
    unsigned granted = fence_tally_count(tally, FENCE_PART_GRANTED);
    unsigned held = fence_tally_count(tally, FENCE_PART_HELD);
    bool some_failed = granted + held + size(tally->open) < size(tally->asked);
    return some_failed || (granted > 0 && held > 0) || tally->open == 0;
}

void fence_attempt_asked(struct fence_attempt *attempt, uint32_t set)
{
    assert(attempt->state == FENCE_ATTEMPT_TAKING);
    assert((set & ~attempt->tally.asked) == 0);
    fail_if_out_of_reach(attempt);
    if (attempt->state == FENCE_ATTEMPT_TAKING)
        attempt->sent |= set;
}

void fence_attempt_outdate(struct fence_attempt *attempt)
{
    attempt->stale = true;
    if (attempt->state != FENCE_ATTEMPT_TAKING) {
        attempt_move(attempt, FENCE_ATTEMPT_FAILED);
        return;
    }
    fence_tally_drop(&attempt->tally, attempt->tally.spare);
    fail_if_out_of_reach(attempt);
}

int64_t fence_attempt_highest(const struct fence_attempt *attempt, unsigned k)
{
    assert(k < attempt->votes.count);
    const struct fence_counter_votes *votes = &attempt->votes.each[k];
    return attempt->frozen ? fence_token_votes_greatest(votes, attempt->tally.n, attempt->frozen)
                           : 0;
}

/* The first q numbers are in: fix the token. Later numbers do not join. */
static void freeze(struct fence_attempt *attempt)
{
    assert(attempt->state == FENCE_ATTEMPT_TAKING);
    if (fence_token_votes_fix(&attempt->votes, attempt->tally.n, attempt->frozen)) {
        attempt_move(attempt, FENCE_ATTEMPT_WON);
        return;
    }
    attempt_move(attempt, FENCE_ATTEMPT_CONFIRMING);
    enum fence_part first_round[FENCE_MASTERS_MAX];
    memcpy(first_round, attempt->tally.parts, sizeof(first_round));
    fence_tally_begin(&attempt->tally, attempt->tally.n, attempt->frozen, 0);
    for (unsigned i = 0; i < attempt->tally.n; i++)
        if (!fence_set_has(attempt->frozen, i))
            attempt->tally.parts[i] = first_round[i];
}

static void count_numbers(struct fence_attempt *attempt, unsigned i,
                          const struct fence_reply *reply)
{
    assert(attempt->votes.count == 1 || reply->numbers);
    for (unsigned k = 0; k < attempt->votes.count; k++)
        attempt->votes.each[k].numbers[i] = reply->numbers ? reply->numbers[k] : reply->number;
    attempt->frozen |= fence_set_of(i);
    if (reply->found)
        attempt->found |= fence_set_of(i);
    if (reply->remaining_ms > 0 && reply->remaining_ms < attempt->remaining_ms)
        attempt->remaining_ms = reply->remaining_ms;
}

static void take_reply(struct fence_attempt *attempt, unsigned i, const struct fence_reply *reply)
{
    assert(attempt->state == FENCE_ATTEMPT_TAKING);
    switch (reply->kind) {
    case FENCE_REPLY_NUMBER:
        if (!fence_tally_record(&attempt->tally, i, FENCE_PART_GRANTED))
            return;
        count_numbers(attempt, i, reply);
        if (size(attempt->frozen) >= needed(&attempt->tally)) {
            freeze(attempt);
            return;
        }
        break;
    case FENCE_REPLY_HELD:
        if (!fence_tally_record(&attempt->tally, i, FENCE_PART_HELD))
            return;
        fence_holders_record(&attempt->holders, i, reply);
        break;
    case FENCE_REPLY_LOST:
        (void)fence_tally_record(&attempt->tally, i, FENCE_PART_TIMEOUT);
        break;
    default:
        if (fence_tally_record(&attempt->tally, i, FENCE_PART_REFUSED))
            fence_obstacles_record(&attempt->obstacles, reply);
        break;
    }
    fail_if_out_of_reach(attempt);
}

/* "No" is a lost race, and no sign of trouble: the lock was gone there, or had another holder. */
static void confirm_reply(struct fence_attempt *attempt, unsigned i,
                          const struct fence_reply *reply)
{
    assert(attempt->state == FENCE_ATTEMPT_CONFIRMING);
    struct fence_tally *tally = &attempt->tally;
    if (fence_tally_record(tally, i, fence_part_of_reply(reply->kind)))
        fence_obstacles_record(&attempt->obstacles, reply);
    unsigned agreed = fence_tally_count(tally, FENCE_PART_GRANTED);
    if (agreed >= needed(tally))
        attempt_move(attempt, FENCE_ATTEMPT_WON);
    else if (agreed + fence_tally_open(tally) < needed(tally))
        attempt_move(attempt, FENCE_ATTEMPT_FAILED);
}

/* An attempt keeps to the view that it began under, and that one is over. */
static void refuse_view(struct fence_attempt *attempt, unsigned i)
{
    if (!fence_tally_record(&attempt->tally, i, FENCE_PART_REFUSED))
        return;
    attempt->stale = true;
    attempt_move(attempt, FENCE_ATTEMPT_FAILED);
}

void fence_attempt_reply(struct fence_attempt *attempt, unsigned i, const struct fence_reply *reply)
{
    assert(i < attempt->tally.n);
    bool is_open =
        attempt->state == FENCE_ATTEMPT_TAKING || attempt->state == FENCE_ATTEMPT_CONFIRMING;
    if (is_open && reply->kind == FENCE_REPLY_STALE)
        refuse_view(attempt, i);
    else if (attempt->state == FENCE_ATTEMPT_TAKING)
        take_reply(attempt, i, reply);
    else if (attempt->state == FENCE_ATTEMPT_CONFIRMING)
        confirm_reply(attempt, i, reply);
}

void fence_attempt_give_up(struct fence_attempt *attempt)
{
    assert(attempt->state == FENCE_ATTEMPT_TAKING || attempt->state == FENCE_ATTEMPT_CONFIRMING);
    fence_tally_give_up(&attempt->tally);
    attempt_move(attempt, FENCE_ATTEMPT_FAILED);
}

bool fence_attempt_found(const struct fence_attempt *attempt)
{
    assert(attempt->state == FENCE_ATTEMPT_WON);
    return (attempt->frozen & ~attempt->found) == 0;
}

int fence_attempt_error(const struct fence_attempt *attempt, unsigned *ret_blocked)
{
    assert(attempt->state == FENCE_ATTEMPT_FAILED);
    if (attempt->holders.votes >= fence_majority(attempt->tally.n))
        return FENCE_EHELD;
    if (!attempt->stale && quorum_lost(&attempt->tally))
        return fence_obstacles_error(&attempt->obstacles, &attempt->tally, ret_blocked);
    return FENCE_ECONTENDED;
}
