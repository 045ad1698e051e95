/* The parts that programs share that play one kind of guard, which their command line names. */
#ifndef TESTS_CONTRACT_GUARDS_PROGRAM_H
#define TESTS_CONTRACT_GUARDS_PROGRAM_H

#include "tests/contract/guards/guard.h"

#include <argp.h>

/* The acts of a program on the keys of argp that are none of its options: its one word is the kind.
 */
error_t program_parse(int key, const char *arg, struct argp_state *state, const char **kind);

/* The kind of that name. Skips the case where its database is missing here. */
const struct guard_kind *program_kind(const char *name);

/* The main function of such a program. @play is a cmocka case: assertions need one around them. */
int program_main(const struct argp *argp, int argc, char **argv, void (*play)(void **state));

#endif
