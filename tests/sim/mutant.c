#include "tests/sim/mutant.h"

unsigned sim_mutants;
