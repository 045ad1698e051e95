/* pawld with one rule switched off: PAWL_MUTANT names the rule, as tests/sim/mutants.c does.
 * Without it all rules hold. */
#include "tests/sim/mutants/switches.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    enum mutant_switch off;
} rules[] = {
    {"majority-of-asked", MUTANT_MAJORITY_OF_ASKED},
    {"late-number", MUTANT_LATE_NUMBERS_JOIN},
    {"count-majority-of-asked", MUTANT_COUNT_MAJORITY_OF_ASKED},
    {"one-read-fewer", MUTANT_ONE_READ_FEWER},
    {"incarnation-reused", MUTANT_INCARNATION_REUSED},
};

__attribute__((constructor)) static void switch_off(void)
{
    const char *name = getenv("PAWL_MUTANT");
    if (!name)
        return;
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        if (strcmp(name, rules[i].name) != 0)
            continue;
        mutant_is_on[rules[i].off] = true;
        mutant_is_on[MUTANT_UNCHECKED] = true;
        return;
    }
    fprintf(stderr, "PAWL_MUTANT: no such rule: %s\n", name);
    exit(2);
}
