#include "tests/lib/case.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool skipped;

static bool exists(const char *name, const struct CMUnitTest *cases, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(cases[i].name, name) == 0)
            return true;
    return false;
}

static void list(const struct CMUnitTest *cases, size_t count)
{
    for (size_t i = 0; i < count; i++)
        puts(cases[i].name);
}

int case_select(int argc, char **argv, const struct CMUnitTest *cases, size_t count)
{
    if (argc == 1)
        return CASE_RUN;
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        list(cases, count);
        return 0;
    }
    if (argc == 2 && exists(argv[1], cases, count)) {
        /* A pattern to cmocka, but the name of a C function has no wildcards. */
        cmocka_set_test_filter(argv[1]);
        return CASE_RUN;
    }
    fprintf(stderr, "usage: %s [--list | CASE]\n", argv[0]);
    return 2;
}

void case_note_skip(const char *why)
{
    skipped = true;
    print_message("skipped: %s\n", why);
}

int case_status(int failed)
{
    if (failed != 0)
        return 1;
    return skipped ? CASE_SKIPPED : 0;
}
