/* Random numbers of the simulator: the same seed gives the same numbers on every machine.
 *
 * A world draws from several streams, so that leaving out one fault does not shift what the clients
 * do afterwards. Source: D. Blackman and S. Vigna, "Scrambled linear pseudorandom number
 * generators" (xoshiro256**); G. Steele et al., "Fast splittable pseudorandom number generators"
 * (SplitMix64, which spreads the seed). */
#ifndef TESTS_SIM_WORLD_RNG_H
#define TESTS_SIM_WORLD_RNG_H

#include <stdbool.h>
#include <stdint.h>

struct sim_rng {
    uint64_t state[4];
};

/* Starts stream @stream of @seed. */
void sim_rng_init(struct sim_rng *rng, uint64_t seed, uint64_t stream);

static inline uint64_t sim_rng_rotate(uint64_t x, unsigned by)
{
    return x << by | x >> (64 - by);
}

static inline uint64_t sim_rng_next(struct sim_rng *rng)
{
    uint64_t *s = rng->state;
    uint64_t result = sim_rng_rotate(s[1] * 5, 7) * 9;
    uint64_t shifted = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = sim_rng_rotate(s[3], 45);
    return result;
}

/* Uniform in 0 .. @bound - 1; 0 if @bound is 0. */
static inline uint32_t sim_rng_below(struct sim_rng *rng, uint32_t bound)
{
    return (uint32_t)((sim_rng_next(rng) >> 32) * bound >> 32);
}

/* Uniform in @low .. @high. */
static inline uint32_t sim_rng_between(struct sim_rng *rng, uint32_t low, uint32_t high)
{
    return low + sim_rng_below(rng, high - low + 1);
}

/* True @permille times in a thousand. */
static inline bool sim_rng_chance(struct sim_rng *rng, uint32_t permille)
{
    return sim_rng_below(rng, 1000) < permille;
}

#endif
