#include "tests/contract/guards/program.h"

#include "tests/lib/case.h"
#include "tests/lib/process.h"

error_t program_parse(int key, const char *arg, struct argp_state *state, const char **kind)
{
    switch (key) {
    case ARGP_KEY_ARG:
        *kind = arg;
        return 0;
    case ARGP_KEY_END:
        if (!*kind || !guard_find(*kind))
            argp_error(state, "name a kind of guard");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct guard_kind *program_kind(const char *name)
{
    const struct guard_kind *kind = guard_find(name);
    if (kind->missing())
        case_skip(kind->missing());
    return kind;
}

static int end(void **state)
{
    (void)state;
    process_kill_all();
    return 0;
}

int program_main(const struct argp *argp, int argc, char **argv, void (*play)(void **state))
{
    const struct CMUnitTest cases[] = {{.name = argv[0], .test_func = play}};
    argp_parse(argp, argc, argv, 0, NULL, NULL);
    return case_status(cmocka_run_group_tests(cases, NULL, end));
}
