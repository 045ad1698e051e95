#include "fence/round/quorum_call.h"

#include "fence/base/set.h"
#include "fence/protocol/lease.h"

#include <assert.h>
#include <string.h>

void fence_quorum_call_begin(struct fence_quorum_call *vote, enum fence_call_kind kind, unsigned n,
                             uint32_t first, uint32_t spare)
{
    assert(kind != FENCE_CALL_ACQUIRE);
    vote->kind = kind;
    vote->exhausted = 0;
    vote->extensions_max = INT64_MAX;
    vote->past = 0;
    vote->superseded = 0;
    vote->uncounted = 0;
    vote->extensions = 0;
    vote->joinable = 0;
    vote->joined = 0;
    vote->adopted = false;
    vote->broken = false;
    vote->owner[0] = '\0';
    fence_holders_begin(&vote->holders);
    fence_obstacles_begin(&vote->obstacles);
    fence_tally_begin(&vote->tally, n, first, spare);
}

static void keep_owner(struct fence_quorum_call *vote, const char *owner)
{
    size_t len = strlen(owner);
    assert(len <= FENCE_OWNER_MAX);
    memcpy(vote->owner, owner, len + 1);
}

/* Where a master extended the lock, the label of that lock stands. */
static void note_superseded(struct fence_quorum_call *vote, const struct fence_reply *reply)
{
    vote->superseded++;
    if (vote->extensions == 0 && !vote->broken && reply->owner)
        keep_owner(vote, reply->owner);
}

static void note_extended(struct fence_quorum_call *vote, const struct fence_reply *reply)
{
    if (vote->extensions == 0 && reply->number == 0 && reply->owner)
        keep_owner(vote, reply->owner);
    if (reply->number <= vote->extensions)
        return;
    vote->extensions = reply->number;
    keep_owner(vote, reply->owner);
}

static void note_broken_reply(struct fence_quorum_call *vote, const struct fence_reply *reply)
{
    vote->broken = true;
    keep_owner(vote, reply->owner);
}

void fence_quorum_call_reply(struct fence_quorum_call *vote, unsigned i,
                             const struct fence_reply *reply)
{
    assert(i < vote->tally.n);
    bool extends = vote->kind == FENCE_CALL_EXTEND;
    if (!fence_tally_record(&vote->tally, i, fence_part_of_reply(reply->kind)))
        return;
    if (reply->kind == FENCE_REPLY_HELD)
        fence_holders_record(&vote->holders, i, reply);
    else if (reply->kind == FENCE_REPLY_YES && extends)
        note_extended(vote, reply);
    else if (reply->kind == FENCE_REPLY_SUPERSEDED)
        note_superseded(vote, reply);
    else if (reply->kind == FENCE_REPLY_BROKEN && extends)
        note_broken_reply(vote, reply);
    else if (reply->kind == FENCE_REPLY_NO && extends && !fence_set_has(vote->joined, i))
        vote->joinable |= fence_set_of(i);
    vote->adopted |= reply->kind == FENCE_REPLY_YES && reply->adopted;
    vote->exhausted += reply->kind == FENCE_REPLY_EXHAUSTED;
    vote->past += reply->kind == FENCE_REPLY_PAST;
    if (reply->kind == FENCE_REPLY_UNCOUNTED)
        vote->uncounted |= fence_set_of(i);
    fence_obstacles_record(&vote->obstacles, reply);
}

/* ---- who else is asked ----------------------------------------------------------------------- */

bool fence_quorum_call_wants_more(const struct fence_quorum_call *vote)
{
    const struct fence_tally *tally = &vote->tally;
    unsigned yes = fence_tally_count(tally, FENCE_PART_GRANTED);
    return !vote->broken && tally->spare != 0 &&
           yes + fence_set_count(tally->open) < fence_set_count(tally->asked);
}

/* Masters that may still extend the lock are waited for. A join that was not needed would only
 * leave the lock on more masters. */
uint32_t fence_quorum_call_join(struct fence_quorum_call *vote, uint32_t late, uint32_t active)
{
    struct fence_tally *tally = &vote->tally;
    unsigned awaited = fence_set_count((tally->open & ~late) | tally->spare);
    unsigned yes = fence_tally_count(tally, FENCE_PART_GRANTED);
    if (vote->kind != FENCE_CALL_EXTEND || vote->broken || vote->extensions == 0 ||
        yes + awaited >= fence_majority(tally->n))
        return 0;
    uint32_t set = vote->joinable & active;
    vote->joinable = 0;
    vote->joined |= set;
    fence_tally_ask_again(tally, set);
    return set;
}

void fence_quorum_call_give_up(struct fence_quorum_call *vote)
{
    fence_tally_give_up(&vote->tally);
    vote->joinable = 0;
}

/* ---- verdicts -------------------------------------------------------------------------------- */

static unsigned unheard(const struct fence_quorum_call *vote)
{
    return fence_tally_unknown(&vote->tally) + fence_tally_count(&vote->tally, FENCE_PART_REFUSED);
}

unsigned fence_quorum_call_agreeing(const struct fence_quorum_call *vote)
{
    unsigned majority = fence_majority(vote->tally.n);
    unsigned silent = unheard(vote);
    return silent < majority ? majority - silent : 1;
}

/* If a lock was acquired again, masters that were not asked then have it under an older number.
 * So a majority of one holder may not agree on the token yet. */
static bool agrees_on_token(const struct fence_quorum_call *vote)
{
    return fence_holders_token(&vote->holders, fence_quorum_call_agreeing(vote)) > 0;
}

/* A reading: a holder that has a majority, or that only silent masters keep from one; or certainly
 * none. */
static enum fence_verdict reading(const struct fence_quorum_call *vote)
{
    const struct fence_tally *tally = &vote->tally;
    unsigned majority = fence_majority(tally->n);
    unsigned open = fence_tally_open(tally);
    if (vote->holders.votes >= majority)
        return open == 0 || agrees_on_token(vote) ? FENCE_VERDICT_YES : FENCE_VERDICT_OPEN;
    if (vote->holders.votes + open + unheard(vote) < majority)
        return FENCE_VERDICT_NO;
    if (unheard(vote) >= fence_blocking(tally->n))
        return FENCE_VERDICT_UNKNOWN;
    if (open > 0)
        return FENCE_VERDICT_OPEN;
    if (fence_holders_rival_votes(&vote->holders) + unheard(vote) >= majority)
        return FENCE_VERDICT_UNKNOWN; /* the silent ones may have either */
    return vote->holders.votes > 0 ? FENCE_VERDICT_YES : FENCE_VERDICT_NO;
}

/* One master alone may be wrong about the cap. It is believed if another had half as many: masters
 * count the extensions that reach them, and some are asked less often. */
static bool is_exhausted(const struct fence_quorum_call *vote)
{
    bool one_is_enough =
        fence_blocking(vote->tally.n) < 2 || vote->extensions >= vote->extensions_max / 2;
    return vote->exhausted >= (one_is_enough ? 1 : 2);
}

static bool is_refused(const struct fence_quorum_call *vote)
{
    return vote->past > 0 || vote->superseded > 0 || vote->uncounted != 0;
}

/* Reports whether a majority said what is there. */
static bool is_majority_heard(const struct fence_quorum_call *vote)
{
    unsigned heard = fence_tally_count(&vote->tally, FENCE_PART_GRANTED) +
                     fence_tally_count(&vote->tally, FENCE_PART_FREE) + vote->superseded +
                     fence_set_count(vote->uncounted) + vote->exhausted;
    return heard >= fence_majority(vote->tally.n);
}

/* A majority has it, and no master but by an import, as after a replacement of all its masters one
 * after the other. No later round of the token can succeed: no master extends it, so none may join.
 * Imports lose notes of breaks: so all are heard that answer. */
static bool is_imported_alone(const struct fence_quorum_call *vote)
{
    const struct fence_tally *tally = &vote->tally;
    return fence_set_count(vote->uncounted) >= fence_majority(tally->n) &&
           fence_tally_open(tally) == 0;
}

static bool stands_somewhere(const struct fence_quorum_call *vote)
{
    return fence_tally_count(&vote->tally, FENCE_PART_GRANTED) > 0 || vote->superseded > 0;
}

bool fence_quorum_call_stands(const struct fence_quorum_call *vote)
{
    return (stands_somewhere(vote) || is_imported_alone(vote)) && !vote->broken &&
           is_refused(vote) && is_majority_heard(vote);
}

uint32_t fence_quorum_call_stands_where(const struct fence_quorum_call *vote)
{
    return stands_somewhere(vote) ? 0 : vote->uncounted;
}

/* A master extended the lock under a number below the token, as a writer's seats have, and another
 * master lacks the lock: no such master can join under that token. */
bool fence_quorum_call_is_below(const struct fence_quorum_call *vote)
{
    return vote->kind == FENCE_CALL_EXTEND && vote->extensions == 0 &&
           fence_tally_count(&vote->tally, FENCE_PART_GRANTED) > 0 &&
           fence_tally_count(&vote->tally, FENCE_PART_FREE) > 0 && is_majority_heard(vote);
}

static enum fence_verdict extending(const struct fence_quorum_call *vote)
{
    const struct fence_tally *tally = &vote->tally;
    unsigned majority = fence_majority(tally->n);
    unsigned open = fence_tally_open(tally);
    unsigned yes = fence_tally_count(tally, FENCE_PART_GRANTED);
    unsigned absent = fence_tally_count(tally, FENCE_PART_FREE);
    if (vote->broken)
        return FENCE_VERDICT_BROKEN;
    if (is_exhausted(vote))
        return FENCE_VERDICT_EXHAUSTED;
    if (yes >= majority)
        return FENCE_VERDICT_YES;
    if (vote->past >= fence_blocking(tally->n) || absent == tally->n)
        return FENCE_VERDICT_NO;
    bool may_join = open > 0 || vote->extensions > 0;
    unsigned joins = may_join ? fence_set_count(vote->joinable) : 0;
    if (open + joins == 0)
        return FENCE_VERDICT_UNKNOWN;
    if (yes + open + joins >= majority)
        return FENCE_VERDICT_OPEN;
    /* It may be acquired again, once a master has it and a majority answered. */
    if (is_refused(vote))
        return fence_quorum_call_stands(vote) ? FENCE_VERDICT_UNKNOWN : FENCE_VERDICT_OPEN;
    bool may_be_lost = open >= fence_blocking(tally->n) || absent + open == tally->n;
    return may_be_lost || vote->exhausted > 0 ? FENCE_VERDICT_OPEN : FENCE_VERDICT_UNKNOWN;
}

/* If some deleted it, and so many do not have it that no majority can, nothing is left to do. */
static enum fence_verdict releasing(const struct fence_quorum_call *vote)
{
    const struct fence_tally *tally = &vote->tally;
    unsigned blocking = fence_blocking(tally->n);
    unsigned open = fence_tally_open(tally);
    unsigned yes = fence_tally_count(tally, FENCE_PART_GRANTED);
    unsigned absent = fence_tally_count(tally, FENCE_PART_FREE);
    if (yes >= fence_majority(tally->n))
        return FENCE_VERDICT_YES;
    if (absent >= blocking)
        return FENCE_VERDICT_NO;
    if (yes + absent + open < blocking)
        return FENCE_VERDICT_UNKNOWN;
    return open > 0 ? FENCE_VERDICT_OPEN : FENCE_VERDICT_YES;
}

enum fence_verdict fence_quorum_call_verdict(const struct fence_quorum_call *vote)
{
    if (vote->kind == FENCE_CALL_INSPECT)
        return reading(vote);
    return vote->kind == FENCE_CALL_EXTEND ? extending(vote) : releasing(vote);
}

int fence_quorum_call_error(const struct fence_quorum_call *vote)
{
    unsigned only = 0;
    return fence_obstacles_error(&vote->obstacles, &vote->tally, &only);
}
