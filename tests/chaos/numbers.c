#include "tests/chaos/numbers.h"

#include <argp.h>
#include <assert.h>
#include <stdlib.h>

static error_t take_number(int key, char *text, struct argp_state *state)
{
    for (const struct number_option *option = state->input; option->name != NULL; option++) {
        if (option->key != key)
            continue;
        if (option->count != NULL)
            *option->count = (unsigned)strtoul(text, NULL, 10);
        else
            *option->seed = strtoull(text, NULL, 10);
        return 0;
    }
    return ARGP_ERR_UNKNOWN;
}

void numbers_parse(int argc, char **argv, const char *what, const struct number_option list[])
{
    struct argp_option shown[NUMBERS_MAX + 1] = {{0}};
    for (unsigned i = 0; list[i].name != NULL; i++) {
        assert(i < NUMBERS_MAX && (list[i].count != NULL || list[i].seed != NULL));
        shown[i] = (struct argp_option){list[i].name, list[i].key, "N", 0, list[i].help, 0};
    }
    const struct argp argp = {shown, take_number, NULL, what, NULL, NULL, NULL};
    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, 0, NULL, (void *)(uintptr_t)list);
}
