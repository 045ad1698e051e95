/* pawld's command lines. Their options are the rows of the table of settings. */
#include "server/system/options.h"

#include "fence/protocol/name.h"
#include "server/loop/driver.h"
#include "server/loop/keys.h"
#include "server/loop/worker.h"
#include "server/pawld/password.h"
#include "server/pawld/settings.h"
#include "server/pawld/tls.h"
#include "storage/redis/master.h"

#include <argp.h>
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *argp_program_version = "pawld " PAWL_VERSION;

enum {
    OPTION_CONFIG = 0x100, /* beyond characters: there are no short options */
    OPTION_CHECK,
    OPTION_SAMPLE,
    OPTION_ROUTES,
    OPTION_SETTING,      /* and those behind it: the row of the table */
    OWN_OPTIONS = 4,     /* --config and the three that print */
    HELP_MAX = 512,      /* bytes of the help of an option, terminated */
    ARGUMENTS_MAX = 256, /* options on a command line */
    LABEL_OPTION_MAX = 64,
    CORES_A_WORKER = 2, /* the masters' connections and the kernel's part use the other core */
};

/* The options of a command line, kept until the weaker sources were read. */
struct command_line {
    enum pawld_command command;
    struct pawld_options *options;
    struct {
        const struct pawld_setting *setting;
        char *text;
    } said[ARGUMENTS_MAX];
    unsigned count;
    const char *stray; /* the first argument that belongs to no option; NULL: none */
};

/* Returns one worker for each two cores that this process may use. */
static unsigned default_workers(void)
{
    unsigned workers = uv_available_parallelism() / CORES_A_WORKER;
    if (workers > SERVER_WORKERS_MAX)
        return SERVER_WORKERS_MAX;
    return workers > 0 ? workers : 1;
}

/* Returns the data folder: the folder that systemd gives a service (systemd.exec(5)); the folder of
 * the system's own services; or a folder of an ordinary user. */
static const char *default_data(void)
{
    const char *given = getenv("STATE_DIRECTORY");
    if (given && given[0])
        return given;
    return geteuid() == 0 ? "/var/lib/pawl" : "pawl-data";
}

/* Adds a socket in the folder that systemd gives a service, for callers on this machine. Adds
 * nothing if its path is too long for a socket. */
static void add_default_socket(struct server_listens *listens)
{
    static char address[sizeof("unix:") + API_SOCKET_PATH_MAX];
    const char *given = getenv("RUNTIME_DIRECTORY");
    const int len = given && given[0] == '/'
                        ? snprintf(address, sizeof(address), "unix:%.*s/pawld.sock",
                                   (int)strcspn(given, ":"), given)
                        : 0;
    if (len > 0 && (size_t)len < sizeof(address) - 1)
        listens->address[listens->address_count++] = address;
}

/* ---- what must fit together ------------------------------------------------------------------ */

static error_t check_move(const struct pawld_options *options)
{
    const bool has_source = options->data || options->from_count > 0;
    if (!has_source || options->masters_count == 0)
        return server_options_error(
            "move needs the old fleet and its new masters: --data FOLDER, or --from "
            "redis://HOST:PORT for each old master; --master redis://HOST:PORT for each of the 1, "
            "3, 5, 7 or 9 new masters");
    if (options->data && options->from_count > 0)
        return server_options_error("give --from or --data, not both: a fleet in a folder has no "
                                    "Redis masters");
    if (options->from_count > 0 && options->from_count % 2 == 0)
        return server_options_error("--from: a fleet has 1, 3, 5, 7 or 9 masters, not %u: give all "
                                    "of them, in the order of pawld init",
                                    options->from_count);
    if (options->data && options->token_floor >= 0)
        return server_options_error(
            "--token-floor needs --from: with --data, the file stores the highest token");
    return 0;
}

static error_t check(const struct pawld_options *options)
{
    error_t error = options->moves ? check_move(options) : 0;
    if (error)
        return error;
    if (options->data && options->masters_count > 0 && !options->moves)
        return server_options_error("give --master or --data, not both: a fleet in a folder has "
                                    "no Redis masters");
    if (options->data && options->data[0] == '\0')
        return server_options_error("--data takes a folder, not ''");
    if (!options->data && options->masters_count == 0)
        return server_options_error("init needs the masters of the fleet: --master "
                                    "redis://HOST:PORT for each of 1, 3, 5, 7 or 9 masters, or "
                                    "--data FOLDER for a fleet in a file");
    if (options->masters_count % 2 == 0 && (!options->data || options->moves))
        return server_options_error("a fleet has 1, 3, 5, 7 or 9 masters, not %u: an even number "
                                    "tolerates no more failures than one master fewer",
                                    options->masters_count);
    return 0;
}

static error_t check_trace(const struct pawld_options *options)
{
    const char *name = options->trace_lock;
    if (!name)
        return 0;
    if (options->log_level != SERVER_LOG_TRACE)
        return server_options_error(
            "--trace-lock logs nothing without --log-level trace: give both");
    if (!fence_resource_valid(name, strlen(name)))
        return server_options_error("--trace-lock takes the name of a lock, as in /v1/locks/NAME, "
                                    "of 1 to %d characters",
                                    FENCE_RESOURCE_MAX);
    return 0;
}

static error_t check_all(struct pawld_options *options)
{
    error_t error = check(options);
    if (!error)
        error = check_trace(options);
    if (!error && server_keys_check_listens(&options->http))
        error = SERVER_OPTIONS_TOLD;
    if (!error)
        error = pawld_password_give(options);
    return error ? error : pawld_tls_give(options);
}

/* ---- the command line ------------------------------------------------------------------------ */

static error_t note_option(struct command_line *line, const struct pawld_setting *setting,
                           char *text)
{
    if (line->count == ARGUMENTS_MAX)
        return server_options_error("more than %d options are given", ARGUMENTS_MAX);
    line->said[line->count].setting = setting;
    line->said[line->count++].text = text;
    return 0;
}

static error_t apply_options(const struct command_line *line)
{
    error_t error = 0;
    for (unsigned i = 0; i < line->count && !error; i++) {
        char label[LABEL_OPTION_MAX];
        (void)snprintf(label, sizeof(label), "--%s", line->said[i].setting->name);
        error = pawld_setting_set(line->said[i].setting, line->options, PAWLD_BY_OPTION, label,
                                  line->said[i].text);
    }
    return error;
}

/* Applies all sources, the weakest first. */
static error_t apply_all(const struct command_line *line)
{
    struct pawld_options *options = line->options;
    error_t error = 0;
    if (!options->config)
        options->config = getenv(PAWLD_CONFIG_VARIABLE);
    if (options->config && options->config[0])
        error = pawld_settings_of_file(options->config, line->command, options);
    if (!error)
        error = pawld_settings_of_environment(line->command, options);
    if (!error)
        error = apply_options(line);
    if (!error && line->stray)
        error = server_options_error("unknown argument '%s'; see pawld --help", line->stray);
    if (!error && line->command == PAWLD_SERVE && options->masters_count == 0 && !options->data)
        options->data = default_data();
    if (options->deadline_ms == 0)
        options->deadline_ms =
            options->data ? PAWLD_FILE_DEADLINE_MS : FENCE_MASTER_DEADLINE_US / 1000;
    server_http_options_settle(&options->http);
    return error ? error : check_all(options);
}

static error_t parse_pawld_option(int key, char *text, struct argp_state *state)
{
    struct command_line *line = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        server_options_init(state);
        return 0;
    case OPTION_CONFIG:
        line->options->config = text;
        return 0;
    case OPTION_CHECK:
        line->options->checks = true;
        return 0;
    case OPTION_SAMPLE:
        line->options->samples = true;
        return 0;
    case OPTION_ROUTES:
        line->options->routes = true;
        return 0;
    case ARGP_KEY_ARG:
        line->stray = line->stray ? line->stray : text;
        return 0;
    case ARGP_KEY_END:
        return line->options->samples || line->options->routes ? 0 : apply_all(line);
    default:
        break;
    }
    if (key < OPTION_SETTING || (size_t)key >= OPTION_SETTING + pawld_settings_count)
        return ARGP_ERR_UNKNOWN;
    return note_option(line, &pawld_settings[key - OPTION_SETTING], text);
}

/* Returns the help with the default behind it. */
static const char *help_of(const struct pawld_setting *setting, char text[static HELP_MAX])
{
    int len = setting->usual
                  ? snprintf(text, HELP_MAX, "%s (default %s)", setting->help, setting->usual)
                  : snprintf(text, HELP_MAX, "%s", setting->help);
    assert(len < HELP_MAX);
    return text;
}

/* Returns the rows of the table for @command, as argp options. */
static const struct argp_option *options_of(enum pawld_command command)
{
    static struct argp_option list[OWN_OPTIONS + PAWLD_SETTINGS_MAX + 1];
    static char helps[PAWLD_SETTINGS_MAX][HELP_MAX];
    size_t count = 0;
    list[count++] = (struct argp_option){
        "config",
        OPTION_CONFIG,
        "FILE",
        0,
        "Read settings from FILE, in lines of the form name = value. A name is the name of an "
        "option without dashes. Environment variables, such as PAWL_MAX_WAITERS for --max-waiters, "
        "override the file. Options override the file and the variables (default: the value "
        "of " PAWLD_CONFIG_VARIABLE ")",
        0};
    if (command == PAWLD_SERVE) {
        list[count++] = (struct argp_option){
            "check",
            OPTION_CHECK,
            NULL,
            0,
            "Check the settings, print the settings in use (without passwords), and exit",
            0};
        list[count++] = (struct argp_option){
            "sample",
            OPTION_SAMPLE,
            NULL,
            0,
            "Print a file for --config with every setting commented out, and exit",
            0};
        list[count++] =
            (struct argp_option){"routes",
                                 OPTION_ROUTES,
                                 NULL,
                                 0,
                                 "Print the method, the path and the required right of each route, "
                                 "and exit",
                                 0};
    }
    assert(pawld_settings_count <= PAWLD_SETTINGS_MAX);
    for (size_t i = 0; i < pawld_settings_count; i++)
        if (pawld_settings[i].commands & command)
            list[count++] = (struct argp_option){pawld_settings[i].name,
                                                 OPTION_SETTING + (int)i,
                                                 pawld_settings[i].argument,
                                                 0,
                                                 help_of(&pawld_settings[i], helps[i]),
                                                 0};
    list[count] = (struct argp_option){0};
    return list;
}

/* Returns 0, or the exit status. */
static int read_command(int argc, char **argv, const char *doc, enum pawld_command command,
                        struct pawld_options *options)
{
    struct command_line line = {.command = command, .options = options};
    const struct argp parser = {
        .options = options_of(command), .parser = parse_pawld_option, .doc = doc};
    return server_options_parse(&parser, argc, argv, 0, &line) == 0 ? 0 : SERVER_EXIT_USAGE;
}

int pawld_read_serve_options(int argc, char **argv, struct pawld_options *ret_options)
{
    /* The first lines continue argp's own. It would put [OPTION...] before the command. */
    static const char doc[] =
        "  or:  pawld init [OPTION...]\n"
        "  or:  pawld move [OPTION...]\n"
        "Hands out locks with fencing tokens over HTTP, from a majority of Redis masters or "
        "from one file.\v"
        "Before the first start with Redis masters, mark the masters once: pawld init --new "
        "--master ... A fleet in a file needs no pawld init. pawld move moves a fleet to other "
        "masters. pawld init and pawld move have their own --help.";
    *ret_options = (struct pawld_options){
        .workers = default_workers(),
        .probe_ms = STORAGE_PROBE_MS,
        .waiters_max = SERVER_WAITERS,
        .log_level = SERVER_LOG_INFO,
        .ends = {.lead_ms = SERVER_LEAD_MS, .drain_ms = SERVER_DRAIN_MS},
        .counters_max = FENCE_COUNTERS_DEFAULT,
        .connections_max = API_HTTP_CONNECTIONS,
        .http = {.listens = {.address = {"127.0.0.1:7380"}, .address_count = 1},
                 .head_ms = API_HTTP_WAIT_MS,
                 .body_ms = API_HTTP_WAIT_MS,
                 .idle_s = API_HTTP_IDLE_S},
    };
    add_default_socket(&ret_options->http.listens);
    return read_command(argc, argv, doc, PAWLD_SERVE, ret_options);
}

static error_t check_way(const struct pawld_options *options)
{
    bool is_floor = options->token_floor >= 0;
    if (options->is_new && is_floor)
        return server_options_error("init takes --new or --token-floor, not both: a fleet that "
                                    "never issued a token needs no floor");
    if (!options->is_new && !is_floor)
        return server_options_error("init needs --new for a fleet that never issued a token, or "
                                    "--token-floor T for a fleet that lost its data");
    return 0;
}

int pawld_read_init_options(int argc, char **argv, struct pawld_options *ret_options)
{
    static const char doc[] =
        "Marks the masters as one fleet, so that pawld recognizes a master that lost its data. "
        "All masters must be reachable. With --new, every master must be unmarked.\vWith "
        "--token-floor, each master must be empty, or must still belong to the fleet. First shut "
        "down every old machine of this fleet that is not in the --master list. Such a machine "
        "could grant locks beside the new fleet. T is the highest token that any guard has seen. "
        "To find T in a SQLite database with the guard, run:\n"
        "\n"
        "  SELECT max(max(highest_token, reader_token)) FROM pawl_guard\n"
        "\n"
        "If no guard has seen a token, T is 0. The command removes all locks, and waits until "
        "the longest lease has ended. Then tokens continue 2^32 above T, and above every counter "
        "that survived. Tokens stay in order if the guards have missed fewer than 2^32 granted "
        "tokens. Guards need no change. If the command is interrupted, pawld grants nothing "
        "until you run the command again.";
    *ret_options = (struct pawld_options){.token_floor = -1};
    int status = read_command(argc, argv, doc, PAWLD_INIT, ret_options);
    return status == 0 && check_way(ret_options) != 0 ? SERVER_EXIT_USAGE : status;
}

int pawld_read_move_options(int argc, char **argv, struct pawld_options *ret_options)
{
    static const char doc[] =
        "Moves a fleet to other Redis masters. Each new master must be empty, or must already be a "
        "master of the fleet. Tokens continue above all tokens of the old fleet.\vThe old fleet is "
        "a file (--data) or has Redis masters (--from). The command claims the new masters, closes "
        "the old fleet permanently, waits until the leases of the old fleet have ended, and lets "
        "the new masters vote. Nothing is granted during that time, and no lock is held at the "
        "end. If the command is interrupted, run it again with the same options. Before the old "
        "fleet is closed, you can still return to it. After the old fleet is closed, nothing is "
        "granted until the move is complete.";
    *ret_options = (struct pawld_options){.token_floor = -1, .moves = true};
    return read_command(argc, argv, doc, PAWLD_MOVE, ret_options);
}
