#include "tests/sim/mutants/switches.h"

bool mutant_is_on[MUTANT_KINDS];
