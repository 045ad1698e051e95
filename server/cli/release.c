/* `pawl release`: an end of a lock that is held. */
#include "server/cli/common.h"
#include "server/cli/grant.h"
#include "server/system/options.h"

#include <assert.h>
#include <stdio.h>

enum {
    OPTION_LOCK_ID = 256,
};

struct release_options {
    struct cli_globals *globals;
    struct cli_grant grant;
};

static const struct argp_option release_described[] = {
    {"lock-id", OPTION_LOCK_ID, "ID", 0, "The lock id of the grant (PAWL_LOCK_ID)", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

/* NOLINTNEXTLINE(readability-non-const-parameter): argp's type */
static error_t parse_release(int key, char *text, struct argp_state *state)
{
    struct release_options *options = state->input;
    struct cli_grant *grant = &options->grant;
    switch (key) {
    case ARGP_KEY_INIT:
        cli_init_verb(state, options->globals);
        return 0;
    case OPTION_LOCK_ID:
        grant->lock_id = text;
        return 0;
    case ARGP_KEY_ARG:
        return cli_take_name(text, grant->names, &grant->name_count);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int release_grant(const struct release_options *options)
{
    assert(options->grant.name_count >= 1 && options->grant.lock_id != NULL);
    pawl_client *client = cli_client(options->globals);
    pawl_lock *lock = NULL;
    bool released = false;
    if (client == NULL)
        return CLI_EXIT_ERROR;
    int error = pawl_lock_resume(client,
                                 &(struct pawl_grant){.names = options->grant.names,
                                                      .name_count = options->grant.name_count,
                                                      .lock_id = options->grant.lock_id},
                                 &lock);
    if (error == 0)
        error = pawl_release(client, lock, &released);
    int code = error < 0 ? cli_failed(options->globals, client, error) : CLI_EXIT_DONE;
    if (error == 0 && !released) {
        (void)cli_say("the lock was no longer held under this lock id");
        code = CLI_EXIT_LOST;
    }
    if (error == 0 && options->globals->json)
        (void)printf("{\"released\":%s}\n", released ? "true" : "false");
    pawl_lock_free(lock);
    pawl_client_free(client);
    return code;
}

int cli_release(struct cli_globals *globals, int argc, char **argv)
{
    static const struct argp parser = {
        .options = release_described,
        .parser = parse_release,
        .args_doc = "[NAME...]",
        .doc = "Releases a lock, or several locks that were acquired together. Without NAME and "
               "options, pawl release uses the variables that pawl acquire --shell sets.\vIt is "
               "safe to repeat the command. Exit code 123: the lock was no longer held.",
        .children = cli_globals_children,
    };
    struct release_options options = {.globals = globals};
    const int wrong = cli_parse(&parser, argc, argv, &options);
    if (wrong != 0)
        return wrong;
    return cli_grant_complete(&options.grant, false) ? release_grant(&options) : CLI_EXIT_ERROR;
}
