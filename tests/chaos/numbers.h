/* The command line of a chaos program whose options are all numbers. */
#ifndef TESTS_CHAOS_NUMBERS_H
#define TESTS_CHAOS_NUMBERS_H

#include <stdint.h>

enum {
    NUMBERS_MAX = 8
};

struct number_option {
    const char *name; /* NULL ends a list */
    char key;         /* of the short form */
    const char *help;
    unsigned *count; /* to fill in; or @seed */
    uint64_t *seed;
};

/* Fills in what the arguments name. Exits with status 2 if one is unknown. */
void numbers_parse(int argc, char **argv, const char *what, const struct number_option list[]);

#endif
