#include "tests/sim/mutant.h"

uint64_t sim_mutants;
