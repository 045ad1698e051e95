#include "fence/round/holders.h"

#include "fence/base/set.h"
#include "fence/protocol/lock_id.h"

#include <assert.h>
#include <string.h>

void fence_holders_begin(struct fence_holders *holders)
{
    holders->named = 0;
    holders->top = 0;
    holders->votes = 0;
    holders->blocked = 0;
    holders->owner[0] = '\0';
}

uint64_t fence_holders_top(const struct fence_holders *holders)
{
    const uint64_t top = holders->votes > 0 ? holders->hash[holders->top] : 0;
    return top == fence_lock_id_hash(FENCE_TOMBSTONE) ? 0 : top;
}

bool fence_holders_kept(const struct fence_holders *holders)
{
    return holders->votes > 0 && holders->hash[holders->top] == fence_lock_id_hash(FENCE_KEPT_ID);
}

static bool names_top(const struct fence_holders *holders, unsigned i)
{
    assert(i < FENCE_MASTERS_MAX);
    return fence_set_has(holders->named, i) && holders->hash[i] == holders->hash[holders->top];
}

void fence_holders_record(struct fence_holders *holders, unsigned i,
                          const struct fence_reply *reply)
{
    assert(i < FENCE_MASTERS_MAX && !fence_set_has(holders->named, i));
    holders->named |= fence_set_of(i);
    holders->hash[i] = fence_lock_id_hash(reply->holder);
    holders->number[i] = reply->number;
    holders->remaining_ms[i] =
        reply->remaining_ms < FENCE_REMAINING_MAX_MS ? reply->remaining_ms : FENCE_REMAINING_MAX_MS;

    unsigned votes = 0;
    for (unsigned j = 0; j < FENCE_MASTERS_MAX; j++)
        votes += fence_set_has(holders->named, j) && holders->hash[j] == holders->hash[i];
    if (votes <= holders->votes)
        return;
    holders->votes = votes;
    holders->top = i;
    holders->blocked = reply->blocked;
    size_t len = strlen(reply->owner);
    assert(len <= FENCE_OWNER_MAX);
    memcpy(holders->owner, reply->owner, len + 1);
}

unsigned fence_holders_rival_votes(const struct fence_holders *holders)
{
    unsigned most = 0;
    for (unsigned i = 0; i < FENCE_MASTERS_MAX; i++) {
        if (!fence_set_has(holders->named, i) || names_top(holders, i))
            continue;
        unsigned votes = 0;
        for (unsigned j = 0; j < FENCE_MASTERS_MAX; j++)
            votes += fence_set_has(holders->named, j) && holders->hash[j] == holders->hash[i];
        most = votes > most ? votes : most;
    }
    return most;
}

uint64_t fence_holders_remaining_ms(const struct fence_holders *holders, unsigned majority)
{
    assert(majority > 0);
    uint64_t best_ms = 0;
    for (unsigned i = 0; i < FENCE_MASTERS_MAX; i++) {
        if (!names_top(holders, i))
            continue;
        unsigned as_long = 0;
        for (unsigned j = 0; j < FENCE_MASTERS_MAX; j++)
            as_long +=
                names_top(holders, j) && holders->remaining_ms[j] >= holders->remaining_ms[i];
        if (as_long >= majority && holders->remaining_ms[i] > best_ms)
            best_ms = holders->remaining_ms[i];
    }
    return best_ms;
}

int64_t fence_holders_token(const struct fence_holders *holders, unsigned majority)
{
    assert(majority > 0);
    int64_t token = 0;
    for (unsigned i = 0; i < FENCE_MASTERS_MAX; i++) {
        if (!names_top(holders, i) || holders->number[i] == token)
            continue;
        unsigned same = 0;
        for (unsigned j = 0; j < FENCE_MASTERS_MAX; j++)
            same += names_top(holders, j) && holders->number[j] == holders->number[i];
        if (same < majority)
            continue;
        if (token != 0)
            return 0;
        token = holders->number[i];
    }
    return token;
}

int64_t fence_holders_highest(const struct fence_holders *holders)
{
    int64_t highest = 0;
    for (unsigned i = 0; i < FENCE_MASTERS_MAX; i++)
        if (fence_set_has(holders->named, i) && holders->number[i] > highest)
            highest = holders->number[i];
    return highest;
}
