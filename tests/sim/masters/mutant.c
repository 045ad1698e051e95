#include "tests/sim/masters/mutant.h"

uint64_t sim_mutants;
