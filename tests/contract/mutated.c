/* A simulated master with one rule of fence/master switched off (tests/sim/mutants/): PAWL_MUTANT
 * is the number of its switch. Without that variable all rules are kept. */
#include "tests/sim/mutants/switches.h"

#include <assert.h>
#include <stdlib.h>

__attribute__((constructor)) static void switch_rule_off(void)
{
    const char *number = getenv("PAWL_MUTANT");
    if (!number)
        return;
    long mutant = strtol(number, NULL, 10);
    assert(mutant > MUTANT_NONE && mutant < MUTANT_KINDS);
    mutant_is_on[mutant] = true;
}
