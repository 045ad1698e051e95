/* `pawl extend`: a longer lease of a lock that is held. */
#include "fence/protocol/limits.h"
#include "server/cli/common.h"
#include "server/cli/grant.h"
#include "server/system/options.h"

#include <assert.h>

enum {
    OPTION_TTL = 256,
    OPTION_LOCK_ID,
    OPTION_TOKEN,
};

#define TOKEN_MAX INT64_C(9007199254740991)

struct extend_options {
    struct cli_globals *globals;
    struct cli_grant grant;
    int64_t ttl_ms;
};

static const struct argp_option extend_described[] = {
    {"ttl", OPTION_TTL, "TIME", 0, "The new lease, counted from now (30s)", 0},
    {"lock-id", OPTION_LOCK_ID, "ID", 0, "The lock id of the grant (PAWL_LOCK_ID)", 0},
    {"token", OPTION_TOKEN, "TOKEN", 0, "The token of the grant (PAWL_TOKEN)", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static error_t parse_extend(int key, char *text, struct argp_state *state)
{
    struct extend_options *options = state->input;
    assert(options->grant.name_count <= 1);
    switch (key) {
    case ARGP_KEY_INIT:
        cli_init_verb(state, options->globals);
        return 0;
    case OPTION_TTL:
        return cli_take_time(text, "ttl", FENCE_TTL_MIN_MS, &options->ttl_ms);
    case OPTION_LOCK_ID:
        options->grant.lock_id = text;
        return 0;
    case OPTION_TOKEN:
        options->grant.token = text;
        return 0;
    case ARGP_KEY_ARG:
        if (options->grant.name_count == 1)
            return server_options_error(
                "extends one name at a time, because each lock has its own token");
        return cli_take_name(text, options->grant.names, &options->grant.name_count);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int extend_grant(const struct extend_options *options, int64_t token)
{
    assert(token >= 1 && options->grant.name_count == 1 && options->grant.lock_id != NULL);
    pawl_client *client = cli_client(options->globals);
    pawl_lock *lock = NULL;
    if (client == NULL)
        return CLI_EXIT_ERROR;
    int error = pawl_lock_resume(client,
                                 &(struct pawl_grant){.names = options->grant.names,
                                                      .name_count = 1,
                                                      .lock_id = options->grant.lock_id,
                                                      .tokens = &token},
                                 &lock);
    if (error == 0)
        error = pawl_extend(client, lock, options->ttl_ms);
    const int code = error < 0 ? cli_failed(options->globals, client, error) : CLI_EXIT_DONE;
    if (error == PAWL_NEW_GRANT)
        (void)cli_say("the lock was acquired again: claim with the new token, and read your data "
                      "again");
    if (error >= 0)
        cli_grant_print(lock, options->globals->json, false);
    pawl_lock_free(lock);
    pawl_client_free(client);
    return code;
}

int cli_extend(struct cli_globals *globals, int argc, char **argv)
{
    static const struct argp parser = {
        .options = extend_described,
        .parser = parse_extend,
        .args_doc = "[NAME]",
        .doc = "Extends a held lock. Without NAME and options, pawl extend uses the variables that "
               "pawl lock and pawl acquire --shell set.\vA higher token in the answer means that "
               "the lock was acquired again. Exit code 123: the lock was lost.",
        .children = cli_globals_children,
    };
    struct extend_options options = {.globals = globals};
    int64_t token = 0;
    const int wrong = cli_parse(&parser, argc, argv, &options);
    if (wrong != 0)
        return wrong;
    if (!cli_grant_complete(&options.grant, true))
        return CLI_EXIT_ERROR;
    if (!server_options_number(options.grant.token, 1, TOKEN_MAX, &token))
        return cli_say("the token must be a number of at least 1, not '%s'", options.grant.token);
    return extend_grant(&options, token);
}
