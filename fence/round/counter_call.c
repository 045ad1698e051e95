#include "fence/round/counter_call.h"

#include "fence/base/set.h"
#include "fence/protocol/lease.h"

#include <assert.h>
#include <string.h>

void fence_counter_call_begin(struct fence_counter_call *round, uint32_t values, unsigned n,
                              uint32_t first, uint32_t spare)
{
    round->values = values;
    round->highest = 0;
    memset(round->numbers, 0, sizeof(round->numbers));
    fence_obstacles_begin(&round->obstacles);
    fence_tally_begin(&round->tally, n, first, spare);
}

/* A master that counted is at so many values at least, and one that did not count has not answered.
 */
static enum fence_part part_of(const struct fence_counter_call *round,
                               const struct fence_reply *reply)
{
    if (reply->kind == FENCE_REPLY_LOST)
        return FENCE_PART_TIMEOUT;
    if (reply->kind == FENCE_REPLY_NO && round->values == 0)
        return FENCE_PART_GRANTED;
    bool counted = reply->kind == FENCE_REPLY_NUMBER && reply->number >= round->values;
    return counted ? FENCE_PART_GRANTED : FENCE_PART_REFUSED;
}

void fence_counter_call_reply(struct fence_counter_call *round, unsigned i,
                              const struct fence_reply *reply)
{
    assert(i < round->tally.n);
    enum fence_part part = part_of(round, reply);
    if (!fence_tally_record(&round->tally, i, part))
        return;
    fence_obstacles_record(&round->obstacles, reply);
    if (part != FENCE_PART_GRANTED || reply->kind == FENCE_REPLY_NO)
        return;
    assert(reply->number > 0 && reply->number <= FENCE_TOKEN_MAX);
    round->numbers[i] = reply->number;
    if (round->highest < reply->number)
        round->highest = reply->number;
}

/* The masters that answered @number; 0: where it never counted. */
static unsigned votes_for(const struct fence_counter_call *round, int64_t number)
{
    unsigned votes = 0;
    for (unsigned i = 0; i < round->tally.n; i++)
        votes += round->tally.parts[i] == FENCE_PART_GRANTED && round->numbers[i] == number;
    return votes;
}

/* The number that most masters answered, and how many did. */
static unsigned most_votes(const struct fence_counter_call *round, int64_t *ret_number)
{
    unsigned most = 0;
    for (unsigned i = 0; i < round->tally.n; i++) {
        bool answered = round->tally.parts[i] == FENCE_PART_GRANTED;
        unsigned votes = answered ? votes_for(round, round->numbers[i]) : 0;
        if (votes <= most)
            continue;
        most = votes;
        *ret_number = round->numbers[i];
    }
    return most;
}

static unsigned votes_needed(const struct fence_counter_call *round)
{
    return fence_majority(round->tally.n);
}

/* Masters that have no room for the name. They have answered: with a hint they would have. */
static unsigned full_masters(const struct fence_counter_call *round)
{
    return round->obstacles.count[FENCE_OBSTACLE_FULL];
}

/* A name that no holder has is not begun on the spare masters, where others have no room for it. */
bool fence_counter_call_wants_more(const struct fence_counter_call *round)
{
    const struct fence_tally *tally = &round->tally;
    int64_t number = 0;
    unsigned open = fence_set_count(tally->open);
    unsigned answered = fence_tally_count(tally, FENCE_PART_GRANTED) + full_masters(round);
    bool one_cannot = answered + open < fence_set_count(tally->asked);
    bool they_differ =
        round->highest > 0 && most_votes(round, &number) + open < votes_needed(round);
    return tally->spare != 0 && (one_cannot || they_differ);
}

void fence_counter_call_give_up(struct fence_counter_call *round)
{
    fence_tally_give_up(&round->tally);
}

enum fence_count_verdict fence_counter_call_verdict(const struct fence_counter_call *round,
                                                    int64_t *ret_number)
{
    const struct fence_tally *tally = &round->tally;
    unsigned majority = votes_needed(round);
    unsigned open = fence_tally_open(tally);
    unsigned answered = fence_tally_count(tally, FENCE_PART_GRANTED);
    int64_t number = 0;
    unsigned most = most_votes(round, &number);
    if (most >= majority && number == 0)
        return FENCE_COUNT_NEVER;
    if (most >= majority) {
        *ret_number = number;
        return FENCE_COUNT_AGREED;
    }
    unsigned full = full_masters(round);
    if (full >= majority) /* which lack it: it was never counted for anybody */
        return FENCE_COUNT_UNKNOWN;
    bool none_has_it = full > 0 && round->highest == 0;
    if (none_has_it && tally->open == 0 && !fence_counter_call_wants_more(round))
        return FENCE_COUNT_UNKNOWN;
    answered += full;
    if (answered >= majority && most + open < majority)
        return FENCE_COUNT_DIFFER;
    if (answered + open < majority)
        return FENCE_COUNT_UNKNOWN;
    return open > 0 ? FENCE_COUNT_OPEN : FENCE_COUNT_DIFFER;
}

int fence_counter_call_error(const struct fence_counter_call *round)
{
    unsigned only = 0;
    return fence_obstacles_error(&round->obstacles, &round->tally, &only);
}
