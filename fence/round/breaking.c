#include "fence/round/breaking.h"

#include "fence/base/set.h"
#include "fence/protocol/lease.h"
#include "fence/protocol/lock_id.h"
#include "fence/protocol/owner.h"

#include <assert.h>
#include <string.h>

void fence_breaking_begin(struct fence_breaking *breaking, int64_t token, bool covers, unsigned n,
                          uint32_t asked)
{
    assert(token > 0);
    breaking->token = token;
    breaking->covers = covers;
    breaking->writes = false;
    breaking->breaks = false;
    breaking->named = 0;
    breaking->later = 0;
    breaking->now = 0;
    breaking->lock_id[0] = '\0';
    fence_quorum_call_begin(&breaking->seen, FENCE_CALL_INSPECT, n, asked, 0);
}

void fence_breaking_break(struct fence_breaking *breaking, uint32_t asked)
{
    assert(breaking->named > 0 && !breaking->breaks);
    breaking->breaks = true;
    fence_tally_begin(&breaking->tally, breaking->seen.tally.n, asked, 0);
    fence_obstacles_begin(&breaking->obstacles);
}

/* ---- replies --------------------------------------------------------------------------------- */

static bool is_meant(const struct fence_breaking *breaking, int64_t number)
{
    return breaking->covers ? number <= breaking->token : number == breaking->token;
}

/* How many masters name the token with the lock id that master @i names. */
static unsigned naming_as(const struct fence_breaking *breaking, unsigned i)
{
    const struct fence_holders *holders = &breaking->seen.holders;
    unsigned count = 0;
    for (unsigned j = 0; j < breaking->seen.tally.n; j++)
        count += fence_set_has(holders->named, j) && holders->hash[j] == holders->hash[i] &&
                 is_meant(breaking, holders->number[j]);
    return count;
}

static void see(struct fence_breaking *breaking, unsigned i, const struct fence_reply *reply)
{
    bool owes = fence_set_has(breaking->seen.tally.open, i);
    fence_quorum_call_reply(&breaking->seen, i, reply);
    if (!owes || reply->kind != FENCE_REPLY_HELD || !is_meant(breaking, reply->number) ||
        strcmp(reply->holder, FENCE_TOMBSTONE) == 0)
        return;
    unsigned naming = naming_as(breaking, i);
    if (naming <= breaking->named)
        return;
    size_t len = strlen(reply->holder);
    assert(len <= FENCE_LOCK_ID_MAX);
    memcpy(breaking->lock_id, reply->holder, len + 1);
    breaking->named = naming;
    breaking->writes = fence_owner_writes(reply->owner);
}

static void count(struct fence_breaking *breaking, unsigned i, const struct fence_reply *reply)
{
    if (!fence_tally_record(&breaking->tally, i, fence_part_of_reply(reply->kind)))
        return;
    fence_obstacles_record(&breaking->obstacles, reply);
    if (reply->kind != FENCE_REPLY_HELD || reply->number <= breaking->token ||
        strcmp(reply->holder, breaking->lock_id) != 0)
        return;
    breaking->later++;
    if (breaking->now < reply->number)
        breaking->now = reply->number;
}

void fence_breaking_reply(struct fence_breaking *breaking, unsigned i,
                          const struct fence_reply *reply)
{
    assert(i < breaking->seen.tally.n);
    if (breaking->breaks)
        count(breaking, i, reply);
    else
        see(breaking, i, reply);
}

void fence_breaking_give_up(struct fence_breaking *breaking)
{
    if (breaking->breaks)
        fence_tally_give_up(&breaking->tally);
    else
        fence_quorum_call_give_up(&breaking->seen);
}

/* ---- verdicts -------------------------------------------------------------------------------- */

/* Masters that said what is there. */
static unsigned heard(const struct fence_breaking *breaking)
{
    return fence_tally_count(&breaking->seen.tally, FENCE_PART_HELD) +
           fence_tally_count(&breaking->seen.tally, FENCE_PART_FREE);
}

/* The token that the masters agree on; 0: none. */
static int64_t seen_token(const struct fence_breaking *breaking)
{
    const struct fence_quorum_call *seen = &breaking->seen;
    if (fence_quorum_call_verdict(seen) != FENCE_VERDICT_YES)
        return 0;
    return fence_holders_token(&seen->holders, fence_quorum_call_agreeing(seen));
}

/* Masters where the lock id that was named with the token has a number that is not above it. */
static unsigned having(const struct fence_breaking *breaking)
{
    const struct fence_holders *holders = &breaking->seen.holders;
    uint64_t hash = fence_lock_id_hash(breaking->lock_id);
    unsigned count = 0;
    for (unsigned j = 0; j < breaking->seen.tally.n; j++)
        count += fence_set_has(holders->named, j) && holders->hash[j] == hash &&
                 holders->number[j] <= breaking->token;
    return count;
}

/* Reports whether the lock id that was named with the token may have the grant. It may if a
 * majority may have it. If no majority holds the lock, a few masters may have the rest of the
 * grant, which could still be extended. In any other case an attempt received the number. */
static bool may_be_the_grants(const struct fence_breaking *breaking, enum fence_verdict reading)
{
    unsigned n = breaking->seen.tally.n;
    int64_t now = seen_token(breaking);
    if (breaking->named == 0 || (now != 0 && !is_meant(breaking, now)))
        return false;
    return reading == FENCE_VERDICT_NO ||
           having(breaking) + n - heard(breaking) >= fence_majority(n);
}

/* Masters that are fewer than a majority may have the rest of a writer's seat. It is no seat then
 * that the writer holds. */
static bool is_one_of_a_writers(const struct fence_breaking *breaking, enum fence_verdict reading)
{
    return breaking->writes && !breaking->covers && reading != FENCE_VERDICT_NO;
}

static enum fence_break_verdict seeing(const struct fence_breaking *breaking)
{
    enum fence_verdict reading = fence_quorum_call_verdict(&breaking->seen);
    if (reading == FENCE_VERDICT_OPEN)
        return FENCE_BREAK_OPEN;
    if (heard(breaking) < fence_majority(breaking->seen.tally.n))
        return FENCE_BREAK_UNKNOWN;
    if (may_be_the_grants(breaking, reading))
        return is_one_of_a_writers(breaking, reading) ? FENCE_BREAK_WRITERS : FENCE_BREAK_FOUND;
    if (reading == FENCE_VERDICT_UNKNOWN)
        return FENCE_BREAK_UNKNOWN;
    return reading == FENCE_VERDICT_YES ? FENCE_BREAK_MISMATCH : FENCE_BREAK_FREE;
}

/* If the lock id has a higher number, no call can extend it under this token either. */
static enum fence_break_verdict breaking_it(const struct fence_breaking *breaking)
{
    const struct fence_tally *tally = &breaking->tally;
    unsigned yes = fence_tally_count(tally, FENCE_PART_GRANTED);
    unsigned open = fence_tally_open(tally);
    unsigned majority = fence_majority(tally->n);
    if (yes >= majority)
        return FENCE_BREAK_DONE;
    if (yes + open >= majority)
        return FENCE_BREAK_OPEN;
    if (breaking->later > 0 && yes + breaking->later >= majority)
        return FENCE_BREAK_MISMATCH;
    return open > 0 ? FENCE_BREAK_OPEN : FENCE_BREAK_UNKNOWN;
}

enum fence_break_verdict fence_breaking_verdict(const struct fence_breaking *breaking)
{
    return breaking->breaks ? breaking_it(breaking) : seeing(breaking);
}

struct fence_tally *fence_breaking_tally(struct fence_breaking *breaking)
{
    return breaking->breaks ? &breaking->tally : &breaking->seen.tally;
}

int64_t fence_breaking_token_now(const struct fence_breaking *breaking)
{
    return breaking->breaks ? breaking->now : seen_token(breaking);
}

int fence_breaking_error(const struct fence_breaking *breaking)
{
    unsigned only = 0;
    if (!breaking->breaks)
        return fence_quorum_call_error(&breaking->seen);
    return fence_obstacles_error(&breaking->obstacles, &breaking->tally, &only);
}
