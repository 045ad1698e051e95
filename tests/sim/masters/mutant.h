/* Rules that a master keeps and that can be switched off, to see whether the simulator finds out.
 * tests/sim/mutants/machine.txt lists them. */
#ifndef TESTS_SIM_MASTERS_MUTANT_H
#define TESTS_SIM_MASTERS_MUTANT_H

#include "tests/sim/mutants/switches.h"

#define SIM_MUTANT(name) MUTANT(name)

#endif
