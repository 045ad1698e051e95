/* Random numbers of the story: the same seed gives the same numbers on every machine. SplitMix64
 * (G. Steele et al., "Fast splittable pseudorandom number generators", 2014). */
#ifndef API_STORY_RNG_H
#define API_STORY_RNG_H

#include <stdint.h>

struct story_rng {
    uint64_t state;
};

static inline uint64_t story_rng_next(struct story_rng *rng)
{
    uint64_t z = rng->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Uniform in @low .. @high. */
static inline uint32_t story_rng_between(struct story_rng *rng, uint32_t low, uint32_t high)
{
    const uint64_t span = (uint64_t)high - low + 1;
    return low + (uint32_t)((story_rng_next(rng) >> 32) * span >> 32);
}

#endif
