#include "server/options.h"
#include "server/pawld.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>

const char *argp_program_version = "pawld " PAWL_VERSION;

enum {
    OPTION_LISTEN = 0x100, /* beyond characters: there are no short options */
    OPTION_MASTER,
    OPTION_NEW,
    OPTION_TTL_MAX,
};

static error_t add_master(struct pawld_options *options, const char *text)
{
    const char *why = "";
    if (options->masters_count == FENCE_MASTERS_MAX)
        return server_options_error("a fleet has at most %d masters", FENCE_MASTERS_MAX);
    if (storage_redis_url_parse(text, &options->masters[options->masters_count], &why) != 0)
        return server_options_error("--master: %s", why); /* not the text: it may hold a password */
    options->masters_count++;
    return 0;
}

static error_t read_ttl_max(struct pawld_options *options, const char *text)
{
    char *end = NULL;
    errno = 0;
    unsigned long ttl_ms = strtoul(text, &end, 10);
    if (errno || text[0] < '0' || text[0] > '9' || *end != '\0' || ttl_ms < FENCE_TTL_MIN_MS ||
        ttl_ms > FENCE_TTL_CEILING_MS)
        return server_options_error("--max-ttl-ms takes a number from %d to %d, not '%s'",
                                    FENCE_TTL_MIN_MS, FENCE_TTL_CEILING_MS, text);
    options->ttl_max_ms = (uint32_t)ttl_ms;
    return 0;
}

static error_t check(const struct pawld_options *options)
{
    if (options->masters_count == 0)
        return server_options_error("name the masters: --master redis://HOST:PORT for each of "
                                    "them, 1, 3, 5, 7 or 9");
    if (options->masters_count % 2 == 0)
        return server_options_error("a fleet has 1, 3, 5, 7 or 9 masters, not %u: an even number "
                                    "survives no more failures than one fewer",
                                    options->masters_count);
    return 0;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct pawld_options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        server_options_init(state);
        return 0;
    case OPTION_LISTEN:
        options->listen = text;
        return 0;
    case OPTION_MASTER:
        return add_master(options, text);
    case OPTION_NEW:
        options->is_new = true;
        return 0;
    case OPTION_TTL_MAX:
        return read_ttl_max(options, text);
    case ARGP_KEY_ARG:
        return server_options_error("does not know '%s'; see --help", text);
    case ARGP_KEY_END:
        return check(options);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

#define MASTER_OPTION                                                                              \
    {                                                                                              \
        "master", OPTION_MASTER, "URL", 0,                                                         \
            "A master: redis://[user:password@]host:port or unix:///path. Once for each, in the "  \
            "same "                                                                                \
            "order for every pawld and for init",                                                  \
            0                                                                                      \
    }

int pawld_read_serve_options(int argc, char **argv, struct pawld_options *ret_options)
{
    static const struct argp_option list[] = {
        {"listen", OPTION_LISTEN, "HOST:PORT", 0,
         "Where to serve HTTP, numeric; port 0 takes a free one (default 127.0.0.1:7380)", 0},
        MASTER_OPTION,
        {0},
    };
    static const struct argp parser = {
        .options = list,
        .parser = parse,
        .doc = "Hands out locks with fencing tokens over HTTP, from a majority of Redis masters.\v"
               "Before the first start, mark the masters once: pawld init --new --master ...",
    };
    *ret_options = (struct pawld_options){.listen = "127.0.0.1:7380"};
    return argp_parse(&parser, argc, argv, 0, NULL, ret_options) == 0 ? 0 : SERVER_EXIT_USAGE;
}

int pawld_read_init_options(int argc, char **argv, struct pawld_options *ret_options)
{
    static const struct argp_option list[] = {
        {"new", OPTION_NEW, NULL, 0, "This fleet never issued a token: its tokens start at 1", 0},
        MASTER_OPTION,
        {"max-ttl-ms", OPTION_TTL_MAX, "MS", 0,
         "The longest lease this fleet will ever grant (default 300000)", 0},
        {0},
    };
    static const struct argp parser = {
        .options = list,
        .parser = parse,
        .doc = "Marks the masters as one fleet, so that pawld knows one that forgot. All must be "
               "reachable, and none marked.",
    };
    *ret_options = (struct pawld_options){.ttl_max_ms = FENCE_TTL_MAX_DEFAULT_MS};
    if (argp_parse(&parser, argc, argv, 0, NULL, ret_options) != 0)
        return SERVER_EXIT_USAGE;
    if (ret_options->is_new)
        return 0;
    (void)server_options_error("init needs --new, which says that this fleet never issued a token");
    return SERVER_EXIT_USAGE;
}
