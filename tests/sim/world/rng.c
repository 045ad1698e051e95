#include "tests/sim/world/rng.h"

static uint64_t splitmix(uint64_t *state)
{
    uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

void sim_rng_init(struct sim_rng *rng, uint64_t seed, uint64_t stream)
{
    uint64_t state = seed;
    state = splitmix(&state) ^ stream;
    for (unsigned i = 0; i < 4; i++)
        rng->state[i] = splitmix(&state);
}
