/* The frame of a cmocka test executable.
 *
 *     #include "tests/lib/case.h"
 *
 *     static void token_older_than_highest_is_refused(void **state) { ... }
 *
 *     static const struct CMUnitTest cases[] = {
 *         cmocka_unit_test(token_older_than_highest_is_refused),
 *     };
 *
 *     CASE_MAIN(cases, NULL, NULL)
 *
 * The executable runs all its cases; `--list` prints their names instead, one a line, and a name
 * as the only argument runs that case alone. So CTest knows each case (pawl_add_tests() in
 * scripts/cmake/PawlTests.cmake). Its exit status is 1 if a case failed, else 77 if one was
 * skipped, else 0. */
#ifndef TESTS_LIB_CASE_H
#define TESTS_LIB_CASE_H

/* cmocka.h needs these four before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* A case and a callback have the parameters that their caller wants. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

enum {
    CASE_RUN = -1,     /* case_select(): go on and run the cases */
    CASE_SKIPPED = 77, /* the status that CTest takes for "skipped" */
};

/* Ends the case that calls it as skipped, saying why: for what this machine does not have. */
#define case_skip(why)                                                                             \
    do {                                                                                           \
        case_note_skip(why);                                                                       \
        skip();                                                                                    \
    } while (0)

/* Defines main(). @setup and @teardown run around all the cases together, or are NULL. */
#define CASE_MAIN(cases, setup, teardown)                                                          \
    int main(int argc, char **argv)                                                                \
    {                                                                                              \
        int status = case_select(argc, argv, cases, sizeof(cases) / sizeof((cases)[0]));           \
        if (status != CASE_RUN)                                                                    \
            return status;                                                                         \
        return case_status(cmocka_run_group_tests(cases, setup, teardown));                        \
    }

/* Reads the command line: CASE_RUN, or the exit status of a run that is over already. */
int case_select(int argc, char **argv, const struct CMUnitTest *cases, size_t count);

void case_note_skip(const char *why);

/* The exit status, from what cmocka returned: 0 if no case failed. */
int case_status(int failed);

#endif
