/* One seed: a core, its clients, and masters that say anything, in any order that the driver's
 * contract allows (fence/core.h). The rules:
 *
 * - no assertion of the core fails;
 * - nothing is sent to a master that is not ready for it (links.h);
 * - each call is answered once, and a grant is what it should be (answers.h);
 * - time that is due passes: a bounded number of ticks does all that there is to do at a moment;
 * - at the end all masters are lost, or silent. Soon after, each call was answered, and nothing is
 * left that the core keeps for one or waits for.
 *
 * That tokens only rise, and that no two hold a lock at once, is not among it: that depends on
 * masters that keep what they are told, and is for tests/sim to hold. */
#ifndef TESTS_SIM_ADVERSARY_PLAY_H
#define TESTS_SIM_ADVERSARY_PLAY_H

#include "fence/core.h"
#include "tests/sim/adversary/answers.h"
#include "tests/sim/adversary/calls.h"
#include "tests/sim/adversary/lies.h"
#include "tests/sim/adversary/links.h"
#include "tests/sim/adversary/stats.h"
#include "tests/sim/world/rng.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum {
    PLAY_VIOLATION_TEXT_MAX = 200,
};

struct play {
    struct stats stats; /* totals of all seeds so far */
    FILE *story;        /* to be told to; NULL: none */
    struct fence_core *core;
    struct sim_rng rng;
    unsigned masters;
    uint64_t now_us;
    uint32_t honesty; /* honesty in this seed, per mille of its moves */
    bool honest;      /* in the move being made */
    bool unreadable;  /* pages of locks often fail */
    struct lies lies;
    struct calls calls;
    struct answers answers;
    struct link links[FENCE_MASTERS_MAX];
    struct fence_effects effects;
    char violation[PLAY_VIOLATION_TEXT_MAX]; /* "": none */
};

/* Room for one play at a time; NULL without memory. */
struct play *play_new(void);
void play_free(struct play *play);

/* Plays @seed, and tells of it to @story unless that is NULL. False at the first violation, which
 * is in play->violation then. */
bool play_seed(struct play *play, uint64_t seed, FILE *story);

/* One step of the core at the time that it is, and all that follows from it at once. */
void play_step(struct play *play, struct fence_event *event);

/* Drawn from the seed: uniform in 0 .. @bound - 1; true @permille times in a thousand. */
static inline uint32_t play_below(struct play *play, uint32_t bound)
{
    return sim_rng_below(&play->rng, bound);
}

static inline bool play_chance(struct play *play, uint32_t permille)
{
    return sim_rng_chance(&play->rng, permille);
}

/* Something does not hold. The first of it stays; the play ends. */
__attribute__((format(printf, 2, 3))) void play_fail(struct play *play, const char *format, ...);
bool play_ok(const struct play *play);

#endif
