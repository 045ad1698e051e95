/* Mutants: rules of the protocol that can be switched off, one by one. The simulator must find out
 * what each is for (tests/sim/mutants.c). They exist only in a library built with PAWL_MUTANTS.
 * Elsewhere each FENCE_MUTANT() is a plain 0, and the compiler drops the code behind it. */
#ifndef FENCE_BASE_MUTANT_H
#define FENCE_BASE_MUTANT_H

#ifdef PAWL_MUTANTS
#define FENCE_MUTANT(name) MUTANT(name)
#define FENCE_MUTANT_ANY   MUTANT(UNCHECKED)
#else
#define FENCE_MUTANT(name) 0
#define FENCE_MUTANT_ANY   0
#endif

#endif
