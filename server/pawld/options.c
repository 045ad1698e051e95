#include "server/system/options.h"

#include "fence/bootstrap/bootstrap.h"
#include "server/loop/driver.h"
#include "server/loop/worker.h"
#include "server/pawld/password.h"
#include "server/pawld/tls.h"
#include "storage/redis/master.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *argp_program_version = "pawld " PAWL_VERSION;

enum {
    OPTION_ASK = 0x100, /* beyond characters: there are no short options */
    OPTION_COUNTERS_MAX,
    OPTION_DATA,
    OPTION_EXTENSIONS_MAX,
    OPTION_FROM,
    OPTION_LISTEN,
    OPTION_MASTER,
    OPTION_MASTER_CA,
    OPTION_MASTER_CERT,
    OPTION_MASTER_KEY,
    OPTION_NEW,
    OPTION_PASSWORD_FILE,
    OPTION_PROBE,
    OPTION_TOKEN_FLOOR,
    OPTION_TTL_MAX,
    OPTION_WAITERS_MAX,
    OPTION_WORKERS,
    CORES_A_WORKER = 2, /* the masters' connections and the kernel's part keep the other busy */
};

/* The URL is wiped also where it is wrong: it may hold a password all the same. */
static error_t add_url(const char *option, char *text,
                       struct storage_redis_url urls[static FENCE_MASTERS_MAX], unsigned *count)
{
    const char *why = "";
    if (*count == FENCE_MASTERS_MAX)
        return server_options_error("a fleet has at most %d masters", FENCE_MASTERS_MAX);
    int error = storage_redis_url_parse(text, &urls[*count], &why);
    pawld_password_hide(text);
    if (error) /* not the text: it may hold a password */
        return server_options_error("%s: %s", option, why);
    (*count)++;
    return 0;
}

static error_t read_ttl_max(struct pawld_options *options, const char *text)
{
    int64_t ttl_ms = 0;
    if (!server_options_number(text, FENCE_TTL_MIN_MS, FENCE_TTL_CEILING_MS, &ttl_ms))
        return server_options_error("--max-ttl-ms takes a number from %d to %d, not '%s'",
                                    FENCE_TTL_MIN_MS, FENCE_TTL_CEILING_MS, text);
    options->ttl_max_ms = (uint32_t)ttl_ms;
    return 0;
}

static error_t read_extensions_max(struct pawld_options *options, const char *text)
{
    int64_t extensions = 0;
    if (!server_options_number(text, 1, FENCE_EXTENSIONS_CEILING, &extensions))
        return server_options_error("--max-extensions takes a number from 1 to %d, not '%s'",
                                    FENCE_EXTENSIONS_CEILING, text);
    options->extensions_max = (uint32_t)extensions;
    return 0;
}

static error_t read_waiters_max(struct pawld_options *options, const char *text)
{
    int64_t waiters = 0;
    if (!server_options_number(text, 0, SERVER_CALLS, &waiters))
        return server_options_error("--max-waiters takes a number from 0 to %d, not '%s'",
                                    SERVER_CALLS, text);
    options->waiters_max = (uint32_t)waiters;
    return 0;
}

static error_t read_counters_max(struct pawld_options *options, const char *text)
{
    int64_t counters = 0;
    if (!server_options_number(text, 1, FENCE_COUNTERS_CEILING, &counters))
        return server_options_error("--max-counters takes a number from 1 to %d, not '%s'",
                                    FENCE_COUNTERS_CEILING, text);
    options->counters_max = (uint32_t)counters;
    return 0;
}

static error_t read_probe(struct pawld_options *options, const char *text)
{
    int64_t probe_ms = 0;
    if (!server_options_number(text, STORAGE_PROBE_MIN_MS, STORAGE_PROBE_MAX_MS, &probe_ms))
        return server_options_error("--probe-ms takes a number from %d to %d, not '%s'",
                                    STORAGE_PROBE_MIN_MS, STORAGE_PROBE_MAX_MS, text);
    options->probe_ms = (unsigned)probe_ms;
    return 0;
}

static error_t read_ask(struct pawld_options *options, const char *text)
{
    static const char *const names[] = {
        [FENCE_ASK_MAJORITY] = "majority",
        [FENCE_ASK_SPREAD] = "spread",
        [FENCE_ASK_ALL] = "all",
    };
    for (size_t ask = 0; ask < sizeof(names) / sizeof(names[0]); ask++) {
        if (strcmp(text, names[ask]) != 0)
            continue;
        options->ask = (enum fence_ask)ask;
        return 0;
    }
    return server_options_error("--ask takes majority, spread or all, not '%s'", text);
}

static error_t read_workers(struct pawld_options *options, const char *text)
{
    int64_t workers = 0;
    if (!server_options_number(text, 1, SERVER_WORKERS_MAX, &workers))
        return server_options_error("--workers takes a number from 1 to %d, not '%s'",
                                    SERVER_WORKERS_MAX, text);
    options->workers = (unsigned)workers;
    return 0;
}

/* One for each two of the cores that this process may use. */
static unsigned default_workers(void)
{
    unsigned workers = uv_available_parallelism() / CORES_A_WORKER;
    if (workers > SERVER_WORKERS_MAX)
        return SERVER_WORKERS_MAX;
    return workers > 0 ? workers : 1;
}

static error_t read_token_floor(struct pawld_options *options, const char *text)
{
    if (!server_options_number(text, 0, FENCE_FLOOR_SEEN_MAX, &options->token_floor))
        return server_options_error("--token-floor takes a number from 0 to %" PRId64 ", not '%s'",
                                    FENCE_FLOOR_SEEN_MAX, text);
    return 0;
}

static error_t check_move(const struct pawld_options *options)
{
    const bool has_source = options->data || options->from_count > 0;
    if (!has_source || options->masters_count == 0)
        return server_options_error(
            "move needs the fleet, --data FOLDER or --from redis://HOST:PORT "
            "for each of its masters, and the masters that it is to have, "
            "--master redis://HOST:PORT for each, 1, 3, 5, 7 or 9");
    if (options->data && options->from_count > 0)
        return server_options_error("--data is the folder of a fleet that has no other masters: "
                                    "give --from or --data, not both");
    if (options->from_count > 0 && options->from_count % 2 == 0)
        return server_options_error("--from: a fleet has 1, 3, 5, 7 or 9 masters, not %u: give all "
                                    "of them, in the order that it was made with",
                                    options->from_count);
    if (options->data && options->token_floor >= 0)
        return server_options_error("--token-floor is for --from: a file tells its highest token");
    return 0;
}

static error_t check(const struct pawld_options *options)
{
    error_t error = options->moves ? check_move(options) : 0;
    if (error)
        return error;
    if (options->data && options->masters_count > 0 && !options->moves)
        return server_options_error("--data is the folder of a fleet that has no other masters: "
                                    "give --master or --data, not both");
    if (options->data && options->data[0] == '\0')
        return server_options_error("--data takes a folder, not ''");
    if (!options->data && options->masters_count == 0)
        return server_options_error("init needs the masters of the fleet, --master "
                                    "redis://HOST:PORT for each, 1, 3, 5, 7 or 9; or --data FOLDER "
                                    "for a fleet that is a file");
    if (options->masters_count % 2 == 0 && (!options->data || options->moves))
        return server_options_error("a fleet has 1, 3, 5, 7 or 9 masters, not %u: an even number "
                                    "survives no more failures than one fewer",
                                    options->masters_count);
    return 0;
}

static error_t check_all(struct pawld_options *options)
{
    error_t error = check(options);
    if (!error)
        error = pawld_password_give(options);
    return error ? error : pawld_tls_give(options);
}

static error_t parse_pawld_option(int key, char *text, struct argp_state *state)
{
    struct pawld_options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        server_options_init(state);
        return 0;
    case OPTION_ASK:
        return read_ask(options, text);
    case OPTION_COUNTERS_MAX:
        return read_counters_max(options, text);
    case OPTION_DATA:
        options->data = text;
        return 0;
    case OPTION_LISTEN:
        options->listen = text;
        return 0;
    case OPTION_MASTER:
        return add_url("--master", text, options->masters, &options->masters_count);
    case OPTION_FROM:
        return add_url("--from", text, options->from, &options->from_count);
    case OPTION_MASTER_CA:
        options->tls_files.ca = text;
        return 0;
    case OPTION_MASTER_CERT:
        options->tls_files.cert = text;
        return 0;
    case OPTION_MASTER_KEY:
        options->tls_files.key = text;
        return 0;
    case OPTION_PASSWORD_FILE:
        options->password_file = text;
        return 0;
    case OPTION_NEW:
        options->is_new = true;
        return 0;
    case OPTION_TOKEN_FLOOR:
        return read_token_floor(options, text);
    case OPTION_PROBE:
        return read_probe(options, text);
    case OPTION_TTL_MAX:
        return read_ttl_max(options, text);
    case OPTION_EXTENSIONS_MAX:
        return read_extensions_max(options, text);
    case OPTION_WAITERS_MAX:
        return read_waiters_max(options, text);
    case OPTION_WORKERS:
        return read_workers(options, text);
    case ARGP_KEY_ARG:
        return server_options_error("does not know '%s'; see --help", text);
    case ARGP_KEY_END:
        return check_all(options);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

#define DATA_OPTION(text)                                                                          \
    {                                                                                              \
        "data", OPTION_DATA, "FOLDER", 0, text, 0                                                  \
    }

#define MASTER_OPTIONS                                                                             \
    {"master",                                                                                     \
     OPTION_MASTER,                                                                                \
     "URL",                                                                                        \
     0,                                                                                            \
     "A master: redis://[user:password@]host:port, rediss:// in its place for TLS, or "            \
     "unix:///path. Give it once for each, "                                                       \
     "in the same order for every pawld and for init",                                             \
     0},                                                                                           \
        {"master-ca",                                                                              \
         OPTION_MASTER_CA,                                                                         \
         "FILE",                                                                                   \
         0,                                                                                        \
         "For rediss://: the authorities whose certificates are believed, in PEM (default: those " \
         "of "                                                                                     \
         "the system)",                                                                            \
         0},                                                                                       \
        {"master-cert",                                                                            \
         OPTION_MASTER_CERT,                                                                       \
         "FILE",                                                                                   \
         0,                                                                                        \
         "For rediss://: the certificate that is shown to masters, in PEM, with --master-key",     \
         0},                                                                                       \
        {"master-key", OPTION_MASTER_KEY, "FILE", 0, "The key of --master-cert, in PEM", 0},       \
    {                                                                                              \
        "master-password-file", OPTION_PASSWORD_FILE, "FILE", 0,                                   \
            "The first line of FILE is the password of all masters whose URLs have none. Without " \
            "this option it is " PAWLD_PASSWORD_VARIABLE " of the environment",                    \
            0                                                                                      \
    }

/* The folder that systemd gives a service (systemd.exec(5)); that of the system's own services; or
 * one where an ordinary user is. */
static const char *default_data(void)
{
    const char *given = getenv("STATE_DIRECTORY");
    if (given && given[0])
        return given;
    return geteuid() == 0 ? "/var/lib/pawl" : "pawl-data";
}

static error_t parse_serve(int key, char *text, struct argp_state *state)
{
    struct pawld_options *options = state->input;
    if (key == ARGP_KEY_END && options->masters_count == 0 && !options->data)
        options->data = default_data();
    if (key == ARGP_KEY_INIT)
        state->child_inputs[0] = &options->http;
    return parse_pawld_option(key, text, state);
}

int pawld_read_serve_options(int argc, char **argv, struct pawld_options *ret_options)
{
    static const struct argp_option list[] = {
        {"listen", OPTION_LISTEN, "HOST:PORT", 0,
         "Where to serve HTTP: an IP address or localhost. :PORT means all addresses of the "
         "machine. Port 0 takes a free one (default 127.0.0.1:7380)",
         0},
        {"ask", OPTION_ASK, "MASTERS", 0,
         "Which masters a call asks first: majority, the same for all names; spread, a majority by "
         "the slot of the name; or all. The first two ask others where one is slow or does not "
         "answer (default majority)",
         0},
        DATA_OPTION("Serve from a file in this folder, without any Redis. It is made where it is "
                    "not there. Without --master and --data it is $STATE_DIRECTORY; else "
                    "/var/lib/pawl for root, and pawl-data for others"),
        MASTER_OPTIONS,
        {"max-counters", OPTION_COUNTERS_MAX, "N", 0,
         "How many named counters the fleet may have, up to 10000000 (default 100000); another new "
         "name is refused with 409. Give every pawld the same",
         0},
        {"max-extensions", OPTION_EXTENSIONS_MAX, "N", 0,
         "With --data, where that is new: how often a grant may be extended (default 1000000)", 0},
        {"max-ttl-ms", OPTION_TTL_MAX, "MS", 0,
         "With --data, where that is new: the longest lease that it will ever grant (default "
         "300000)",
         0},
        {"max-waiters", OPTION_WAITERS_MAX, "N", 0,
         "How many calls may wait for locks at a time (default 12288); one more is refused with "
         "429. The workers have equal shares, rounded up",
         0},
        {"probe-ms", OPTION_PROBE, "MS", 0,
         "How long from one probe of a master to the next, 10 to 10000 (default 500). One that is "
         "silent for four probes and for two seconds does not vote",
         0},
        {"workers", OPTION_WORKERS, "K", 0,
         "How many event loops serve clients, 1 to 64, each with its own connections to the "
         "masters (default: one for each two cores)",
         0},
        {0},
    };
    static const struct argp_child children[] = {{&server_http_argp, 0, NULL, 0}, {0}};
    static const struct argp parser = {
        .options = list,
        .parser = parse_serve,
        .children = children,
        .doc = "Hands out locks with fencing tokens over HTTP, from a majority of Redis masters or "
               "from one file.\v"
               "Before the first start, mark masters once: pawld init --new --master ... A file "
               "needs no init.",
    };
    *ret_options = (struct pawld_options){
        .listen = "127.0.0.1:7380",
        .workers = default_workers(),
        .probe_ms = STORAGE_PROBE_MS,
        .waiters_max = SERVER_WAITERS,
        .counters_max = FENCE_COUNTERS_DEFAULT,
    };
    return argp_parse(&parser, argc, argv, 0, NULL, ret_options) == 0 ? 0 : SERVER_EXIT_USAGE;
}

static error_t check_way(const struct pawld_options *options)
{
    bool is_floor = options->token_floor >= 0;
    if (options->is_new && is_floor)
        return server_options_error("init takes --new or --token-floor, not both: a fleet that "
                                    "never issued a token needs no floor");
    if (!options->is_new && !is_floor)
        return server_options_error("init needs --new for a fleet that never issued a token, or "
                                    "--token-floor T for a fleet that lost its memory");
    return 0;
}

int pawld_read_init_options(int argc, char **argv, struct pawld_options *ret_options)
{
    static const struct argp_option list[] = {
        {"new", OPTION_NEW, NULL, 0, "This fleet never issued a token: its tokens start at 1", 0},
        {"token-floor", OPTION_TOKEN_FLOOR, "T", 0,
         "A majority of this fleet lost its memory: its tokens go on above T, the highest token "
         "that any guard has seen",
         0},
        DATA_OPTION("The folder of a fleet that is a file, in place of --master"),
        MASTER_OPTIONS,
        {"max-extensions", OPTION_EXTENSIONS_MAX, "N", 0,
         "How often a grant may be extended, 1 to 1000000000 (default 1000000). With "
         "--token-floor: "
         "as before, where a master remembers it",
         0},
        {"max-ttl-ms", OPTION_TTL_MAX, "MS", 0,
         "The longest lease that this fleet will ever grant (default 300000). With --token-floor: "
         "the longest lease that it had, if no master remembers it",
         0},
        {0},
    };
    static const struct argp parser = {
        .options = list,
        .parser = parse_pawld_option,
        .doc =
            "Marks the masters as one fleet, so that pawld knows a master that forgot. All must be "
            "reachable. With --new, none may be marked.\v"
            "With --token-floor, each is blank or still a member of the fleet. Find T in every "
            "guarded database: SELECT max(highest_token) FROM pawl_guard. Where no guard has "
            "seen a token, T is 0. The command removes all locks and waits for the longest "
            "lease. Then tokens go on 2^32 above T and above every counter that is left. So "
            "they stay in order as long as fewer than 2^32 were granted that no guard has seen. "
            "Guards need nothing. First shut down every old machine of this fleet that is not "
            "named here. It may remember what the others forgot, and grant beside them. If the "
            "command is broken off, nothing is granted, and it can be run again.",
    };
    *ret_options = (struct pawld_options){.token_floor = -1};
    bool read = argp_parse(&parser, argc, argv, 0, NULL, ret_options) == 0;
    return read && check_way(ret_options) == 0 ? 0 : SERVER_EXIT_USAGE;
}

int pawld_read_move_options(int argc, char **argv, struct pawld_options *ret_options)
{
    static const struct argp_option list[] = {
        DATA_OPTION("The folder of the fleet that is moved. No pawld may serve from it"),
        {"from", OPTION_FROM, "URL", 0,
         "A master of the fleet that is moved, as in --master. Give it once for each, in the order "
         "that the fleet was made with",
         0},
        MASTER_OPTIONS,
        {"max-extensions", OPTION_EXTENSIONS_MAX, "N", 0,
         "How often a grant may be extended then, 1 to 1000000000 (default: as before)", 0},
        {"max-ttl-ms", OPTION_TTL_MAX, "MS", 0,
         "The longest lease that the fleet will grant then. After --data: no shorter than before "
         "(default: as before)",
         0},
        {"token-floor", OPTION_TOKEN_FLOOR, "T", 0,
         "With --from, where too many masters lost their memory: T is the highest token that any "
         "guard has seen",
         0},
        {0},
    };
    static const struct argp parser = {
        .options = list,
        .parser = parse_pawld_option,
        .doc = "Moves a fleet to other Redis masters, which are blank or some of its own. Its "
               "tokens go on above all that it gave out.\v"
               "The fleet is a file (--data), or has Redis masters (--from). The command claims "
               "the masters, closes the old fleet for ever, waits until its leases have run out, "
               "and lets "
               "the masters vote. So nothing is granted for that long, and nothing is held at the "
               "end. Before a file is closed it may be served from again. If the command is broken "
               "off, it can be run again with the same options. Once the old fleet was closed, "
               "nothing is granted until then.",
    };
    *ret_options = (struct pawld_options){.token_floor = -1, .moves = true};
    return argp_parse(&parser, argc, argv, 0, NULL, ret_options) == 0 ? 0 : SERVER_EXIT_USAGE;
}
