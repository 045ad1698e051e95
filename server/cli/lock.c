/* `pawl lock`, `pawl semaphore` and `pawl rwlock`: run a command under a lock, under a seat of a
 * semaphore, or as a reader or the writer of a name. */
#include "fence/protocol/limits.h"
#include "fence/protocol/name.h"
#include "server/cli/common.h"
#include "server/cli/descendants.h"
#include "server/cli/descriptors.h"
#include "server/cli/grant.h"
#include "server/cli/nested_lock.h"
#include "server/cli/run_under_lock.h"
#include "server/cli/signals.h"
#include "server/cli/waiting.h"
#include "server/system/options.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <unistd.h>

enum {
    TTL_DEFAULT_MS = 30000,
    ON_ITS_WAY_MS = 1000, /* longest time from the masters' grant to its arrival here */
    KILL_AFTER_DEFAULT_MS = 5000,
    EXIT_CODE_MOST = 255,

    OPTION_TTL = 256,
    OPTION_WHY,
    OPTION_SIGNAL,
    OPTION_KILL_AFTER,
    OPTION_FOREGROUND,
    OPTION_ONCE,
    OPTION_QUIET,
    OPTION_ALL,
    OPTION_PERMITS,
    OPTION_DELAY,
    OPTION_AT_LEAST,
};

/* The first words of `pawl rwlock`, in place of a mode. */
#define MODE_UNSAID ((enum pawl_mode)(PAWL_WRITE + 1))

struct options {
    struct cli_globals *globals;
    const char *names[PAWL_NAMES_MAX];
    size_t name_count;
    char **command; /* NULL-terminated; NULL: none yet */
    int64_t wait_ms;
    int64_t ttl_ms;
    int64_t delay_ms;
    int64_t at_least_ms;
    int64_t kill_after_ms;
    int64_t not_acquired; /* exit code */
    int64_t permits; /* permits of the semaphore; 0: it is a lock, or --permits is still to come */
    enum pawl_mode mode;
    const char *verb;
    const char *why;
    int signal;
    bool foreground;
    bool once;
    bool quiet;
    bool all; /* the words before "--" are names */
    struct cli_descriptors inherited;
    struct cli_signals signals;
    int ended_by; /* the signal that ended the wait; 0: none */
};

/* The options of both verbs. */
#define SHARED_OPTIONS                                                                              \
    {"wait", 'w', "TIME", 0, "Maximum wait (default: forever)", 0},                                 \
        {"nonblock", 'n', NULL, 0, "Do not wait", 0},                                               \
        {"ttl", OPTION_TTL, "TIME", 0, "The lease, extended while COMMAND runs (30s)", 0},          \
        {"delay", OPTION_DELAY, "TIME", 0, "Lock stays closed for TIME if the lease expires", 0},   \
        {"at-least", OPTION_AT_LEAST, "TIME", 0, "Keep the lock for at least TIME", 0},             \
        {"exit-code", 'E', "CODE", 0, "Exit code if the lock was not acquired (124)", 0},           \
        {"why", OPTION_WHY, "TEXT", 0, "Label shown to waiters (user@host)", 0},                    \
        {"signal", OPTION_SIGNAL, "NAME", 0, "Signal for COMMAND when the lock is lost (TERM)", 0}, \
        {"kill-after", OPTION_KILL_AFTER, "TIME", 0, "Delay before SIGKILL (5s)", 0},               \
        {"foreground", OPTION_FOREGROUND, NULL, 0, "Run COMMAND in the process group of pawl", 0},  \
        {"once", OPTION_ONCE, NULL, 0, "If the token changes, exit with 123", 0},                   \
    {                                                                                               \
        "quiet", OPTION_QUIET, NULL, 0, "Print only errors", 0                                      \
    }

static const struct argp_option described[] = {
    {"all", OPTION_ALL, NULL, 0, "Lock all names before --, or none of them", 0},
    SHARED_OPTIONS,
    {NULL, 0, NULL, 0, NULL, 0},
};

static const struct argp_option described_rwlock[] = {
    SHARED_OPTIONS,
    {NULL, 0, NULL, 0, NULL, 0},
};

static const struct argp_option described_semaphore[] = {
    {"permits", OPTION_PERMITS, "N", 0, "Number of seats, which must be the same for all callers",
     0},
    SHARED_OPTIONS,
    {NULL, 0, NULL, 0, NULL, 0},
};

/* ---- options --------------------------------------------------------------------------------- */

/* "TERM", "SIGTERM" or "15". 0: there is no such signal. */
static int signal_of(const char *text)
{
    int64_t number;
    if (server_options_number(text, 1, SIGRTMAX, &number))
        return (int)number;
    if (strncmp(text, "SIG", 3) == 0)
        text += 3;
    for (int signal = 1; signal < NSIG; signal++) {
        const char *name = sigabbrev_np(signal);
        if (name != NULL && strcmp(name, text) == 0)
            return signal;
    }
    return 0;
}

/* Reports whether the words between NAME and a later "--" could be names and options of `pawl`:
 * before --all existed, pawl took them for that. */
static bool may_be_names(char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (words[i][0] == '-' && words[i][1] != '\0')
            return cli_is_option(described, words[i]);
        if (!fence_resource_valid(words[i], strlen(words[i])))
            return false;
    }
    return true;
}

/* The command begins here, and all later words belong to it. An ambiguous command line is
 * refused. */
static error_t take_command(struct options *options, struct argp_state *state)
{
    assert(options->command == NULL && options->name_count >= 1);
    char **command = state->argv + state->next - 1;
    size_t count = 1;
    options->command = command;
    state->next = state->argc;
    while (command[count] != NULL && strcmp(command[count], "--") != 0)
        count++;
    if (state->quoted > 0 || command[count] == NULL || !may_be_names(command, count) ||
        strcmp(options->verb, "lock") != 0)
        return 0;
    return server_options_error(
        "unexpected '%s' between the name and '--'. Use pawl lock %s -- %s ... to run %s, or pawl "
        "lock --all %s %s ... -- COMMAND to lock several names",
        command[0], options->names[0], command[0], command[0], options->names[0], command[0]);
}

/* The word behind `pawl rwlock`. */
static error_t take_mode(struct options *options, const char *text)
{
    if (strcmp(text, "read") != 0 && strcmp(text, "write") != 0)
        return server_options_error("'%s' is neither read nor write: pawl rwlock read|write NAME "
                                    "-- COMMAND",
                                    text);
    options->mode = strcmp(text, "read") == 0 ? PAWL_READ : PAWL_WRITE;
    return 0;
}

/* Without --all, the first word is the name. */
static error_t take_word(struct options *options, char *text, struct argp_state *state)
{
    if (state->quoted > 0 && options->name_count == 0)
        return server_options_error("the lock name before '--' is missing: pawl %s NAME -- COMMAND",
                                    options->verb);
    if (state->quoted > 0 || (options->name_count > 0 && !options->all))
        return take_command(options, state);
    if (options->mode == MODE_UNSAID)
        return take_mode(options, text);
    return cli_take_name(text, options->names, &options->name_count);
}

static error_t check_missing(const struct options *options)
{
    if (options->command == NULL || options->command[0] == NULL)
        return server_options_error("the command is missing: pawl %s %s -- COMMAND", options->verb,
                                    options->all ? "--all NAME..." : "NAME");
    if (options->permits == 0 && strcmp(options->verb, "semaphore") == 0)
        return server_options_error("--permits is missing: give the number of seats");
    return 0;
}

static error_t parse_lock(int key, char *text, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        cli_init_verb(state, options->globals);
        return 0;
    case 'w':
        return cli_take_time(text, "wait", 0, &options->wait_ms);
    case 'n':
        options->wait_ms = 0;
        return 0;
    case OPTION_TTL:
        return cli_take_time(text, "ttl", FENCE_TTL_MIN_MS, &options->ttl_ms);
    case OPTION_DELAY:
        return cli_take_time(text, "delay", 0, &options->delay_ms);
    case OPTION_AT_LEAST:
        return cli_take_time(text, "at-least", 0, &options->at_least_ms);
    case OPTION_KILL_AFTER:
        return cli_take_time(text, "kill-after", 0, &options->kill_after_ms);
    case 'E':
        if (!server_options_number(text, 0, EXIT_CODE_MOST, &options->not_acquired))
            return server_options_error("--exit-code must be 0 to %d, not '%s'", EXIT_CODE_MOST,
                                        text);
        return 0;
    case OPTION_WHY:
        return cli_take_label(text, &options->why);
    case OPTION_SIGNAL:
        options->signal = signal_of(text);
        return options->signal > 0
                   ? 0
                   : server_options_error("--signal: '%s' is not the name of a signal", text);
    case OPTION_FOREGROUND:
        options->foreground = true;
        return 0;
    case OPTION_ONCE:
        options->once = true;
        return 0;
    case OPTION_QUIET:
        options->quiet = true;
        return 0;
    case OPTION_ALL:
        options->all = true;
        return 0;
    case OPTION_PERMITS:
        if (!server_options_number(text, 1, FENCE_SEATS_MAX, &options->permits))
            return server_options_error("--permits must be 1 to %d, not '%s'", FENCE_SEATS_MAX,
                                        text);
        return 0;
    case ARGP_KEY_ARG:
        return take_word(options, text, state);
    case ARGP_KEY_END:
        return check_missing(options);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- what people see ------------------------------------------------------------------------- */

static void tell_waiting(void *user, const struct pawl_holder *holder)
{
    const struct options *options = user;
    char left[64] = "";
    if (options->quiet)
        return;
    if (holder->retry_after_ms >= 0)
        (void)snprintf(left, sizeof(left), ", for %.1f s unless extended",
                       (double)holder->retry_after_ms / 1000);
    (void)cli_say("waiting for %s: held by %s%s",
                  holder->name != NULL ? holder->name : options->names[0],
                  holder->owner != NULL ? holder->owner : "another caller", left);
}

static void tell_got(const struct options *options, const pawl_lock *lock)
{
    assert(pawl_lock_count(lock) == options->name_count);
    for (size_t i = 0; i < pawl_lock_count(lock) && !options->quiet; i++)
        (void)cli_say("got %s: token %lld", pawl_lock_name(lock, i),
                      (long long)pawl_lock_token(lock, i));
}

/* ---- environment ----------------------------------------------------------------------------- */

static void set_number(const char *name, int64_t number)
{
    char text[32];
    (void)snprintf(text, sizeof(text), "%lld", (long long)number);
    (void)setenv(name, text, 1);
}

static void set_environment(const struct cli_globals *globals, const pawl_lock *lock)
{
    char *text = cli_grant_tokens(lock);
    (void)setenv("PAWL_TOKENS", text != NULL ? text : "{}", 1);
    free(text);
    if (pawl_lock_count(lock) == 1) {
        set_number("PAWL_TOKEN", pawl_lock_token(lock, 0));
        (void)setenv("PAWL_RESOURCE", pawl_lock_name(lock, 0), 1);
    } else {
        (void)unsetenv("PAWL_TOKEN");
        (void)unsetenv("PAWL_RESOURCE");
    }
    if (pawl_lock_seat(lock) >= 0)
        set_number("PAWL_SEAT", pawl_lock_seat(lock));
    else
        (void)unsetenv("PAWL_SEAT");
    (void)setenv("PAWL_LOCK_ID", pawl_lock_id(lock), 1);
    set_number("PAWL_DEADLINE_MS", pawl_lock_left_ms(lock));
    cli_set_servers(globals);
}

/* ---- the lock and the command ---------------------------------------------------------------- */

/* Returns the lease, which bounds how long a release keeps a name closed. */
static int64_t lease_ms(const struct options *options)
{
    const int64_t slot_ms = options->at_least_ms > 0 ? options->at_least_ms + ON_ITS_WAY_MS : 0;
    return slot_ms > options->ttl_ms ? slot_ms : options->ttl_ms;
}

static int acquire_lock(pawl_client *client, struct options *options, pawl_lock **ret_lock)
{
    assert(options->name_count >= 1 && options->wait_ms >= -1);
    char label[PAWL_OWNER_MAX + 1];
    if (options->why == NULL)
        cli_label(label);
    const struct pawl_request request = {
        .names = options->names,
        .name_count = options->name_count,
        .ttl_ms = lease_ms(options),
        .delay_ms = options->delay_ms,
        .wait_ms = cli_wait_ms(options->wait_ms),
        .owner = options->why != NULL ? options->why : label,
        .waiting = tell_waiting,
        .user = options,
        .permits = options->permits,
        .mode = options->mode,
    };
    const int error = cli_wait(client, &request, &options->signals, ret_lock, &options->ended_by);
    if (error == 0 || options->ended_by != 0)
        return options->ended_by != 0 ? CLI_EXIT_SIGNAL + options->ended_by : 0;
    if (error == PAWL_EHELD && options->quiet)
        return (int)options->not_acquired;
    const int code = cli_failed(options->globals, client, error);
    return code == CLI_EXIT_NOT_ACQUIRED ? (int)options->not_acquired : code;
}

static void tell_lock_lost(const struct cli_globals *globals, const pawl_client *client,
                           const pawl_lock *lock)
{
    char reason[CLI_REASON_MAX];
    cli_reason(globals, client, reason);
    (void)cli_say("lost the lock, and ended the command: %s",
                  pawl_lock_deadline_ms(lock) > pawl_now_ms() && reason[0] != '\0'
                      ? reason
                      : "it could not be extended in time");
}

/* Runs the command under one grant. After a new grant, runs it again under the new tokens, unless
 * it is to run once. */
static enum cli_run_end run_under(const struct cli_globals *globals, const struct options *options,
                                  pawl_client *client, pawl_lock *lock, int *ret_code)
{
    assert(lock != NULL && options->command != NULL);
    const struct cli_run run = {
        .client = client,
        .lock = lock,
        .argv = options->command,
        .signal = options->signal,
        .kill_after_ms = options->kill_after_ms,
        .inherited = &options->inherited,
        .signals = &options->signals,
        .foreground = options->foreground,
    };
    enum cli_run_end end;
    do {
        tell_got(options, lock);
        set_environment(globals, lock);
        end = cli_run(&run, ret_code);
        if (end == CLI_RUN_NEW_GRANT)
            (void)cli_say("ended the command: the extension was a new grant with a new token");
    } while (end == CLI_RUN_NEW_GRANT && !options->once);
    if (end == CLI_RUN_LOST)
        tell_lock_lost(globals, client, lock);
    if (end == CLI_RUN_EXHAUSTED)
        (void)cli_say("ended the command: the lock has reached its extension limit");
    return end;
}

/* Keeps other callers out for the rest of the slot, unless the command is to continue under another
 * grant. If no server answers, the lease ends by itself. */
static void release_for_slot(const struct options *options, pawl_client *client, pawl_lock *lock,
                             int64_t acquired_ms, bool goes_on)
{
    const int64_t left_ms = acquired_ms + options->at_least_ms - pawl_now_ms();
    (void)pawl_release_and_keep(client, lock, left_ms > 0 && !goes_on ? left_ms : 0, NULL);
}

static int lock_and_run(const struct cli_globals *globals, struct options *options,
                        pawl_client *client)
{
    bool goes_on;
    int code;
    do {
        pawl_lock *lock = NULL;
        code = acquire_lock(client, options, &lock);
        if (lock == NULL)
            return code;
        const int64_t acquired_ms = pawl_now_ms();
        const enum cli_run_end end = run_under(globals, options, client, lock, &code);
        goes_on = end == CLI_RUN_EXHAUSTED && !options->once;
        if (end != CLI_RUN_LOST || pawl_lock_deadline_ms(lock) > pawl_now_ms())
            release_for_slot(options, client, lock, acquired_ms, goes_on);
        pawl_lock_free(lock);
        options->wait_ms = -1; /* a command that has started must continue */
    } while (goes_on);
    return code;
}

static int parse_and_run(struct cli_globals *globals, const struct argp *parser, const char *verb,
                         int argc, char **argv)
{
    struct options options = {
        .globals = globals,
        .wait_ms = -1,
        .ttl_ms = TTL_DEFAULT_MS,
        .kill_after_ms = KILL_AFTER_DEFAULT_MS,
        .not_acquired = CLI_EXIT_NOT_ACQUIRED,
        .signal = SIGTERM,
        .verb = verb,
        .mode = strcmp(verb, "rwlock") == 0 ? MODE_UNSAID : PAWL_EXCLUSIVE,
    };
    cli_descriptors_note(&options.inherited);
    const int wrong = cli_parse(parser, argc, argv, &options);
    if (wrong != 0)
        return wrong;
    if (globals->json)
        return cli_refuse_json("standard output belongs to the command, which finds the grant in "
                               "PAWL_TOKENS and PAWL_LOCK_ID");
    if (!cli_descendants_visible())
        return cli_say("cannot read child processes in /proc, so pawl could not end the command: "
                       "mount /proc, with a kernel that has CONFIG_PROC_CHILDREN");
    if (cli_signals_block(&options.signals) < 0)
        return cli_say("cannot wait for signals: %s", strerror(errno));
    pawl_client *client = cli_client(globals);
    if (client == NULL)
        return CLI_EXIT_ERROR;
    int code = CLI_EXIT_DONE;
    if (options.wait_ms < 0)
        code = cli_own_check(globals, client, options.names, options.name_count);
    if (code == CLI_EXIT_DONE)
        code = lock_and_run(globals, &options, client);
    pawl_client_free(client);
    if (options.ended_by != 0)
        cli_signals_die(options.ended_by);
    return code;
}

#define EXIT_CODES                                                                                 \
    "Exit code: the exit code of COMMAND, 128+n if signal n ended COMMAND, 123 if the lock was "   \
    "lost, 124 if not acquired, 125 if pawl failed, 126 if COMMAND is not executable, 127 if not " \
    "found."

int cli_lock(struct cli_globals *globals, int argc, char **argv)
{
    static const struct argp parser = {
        .options = described,
        .parser = parse_lock,
        .args_doc = "NAME [--] COMMAND [ARG...]\n--all NAME... -- COMMAND [ARG...]",
        .doc = "Runs COMMAND while pawl holds the lock NAME, or several locks together.\vIf "
               "COMMAND contains '--', write '--' before COMMAND. COMMAND finds its token in "
               "PAWL_TOKEN, or several tokens in PAWL_TOKENS. If pawl cannot extend the lock, "
               "pawl ends COMMAND in time. " EXIT_CODES,
        .children = cli_text_children,
    };
    return parse_and_run(globals, &parser, "lock", argc, argv);
}

int cli_rwlock(struct cli_globals *globals, int argc, char **argv)
{
    static const struct argp parser = {
        .options = described_rwlock,
        .parser = parse_lock,
        .args_doc = "read NAME [--] COMMAND [ARG...]\nwrite NAME [--] COMMAND [ARG...]",
        .doc = "Runs COMMAND while pawl holds the read-write lock NAME, with other readers or as "
               "the only writer.\vCOMMAND finds its fencing token in PAWL_TOKEN. A reader also "
               "finds the index of its seat in PAWL_SEAT. If pawl cannot extend the lock, pawl "
               "ends COMMAND in time. " EXIT_CODES,
        .children = cli_text_children,
    };
    return parse_and_run(globals, &parser, "rwlock", argc, argv);
}

int cli_semaphore(struct cli_globals *globals, int argc, char **argv)
{
    static const struct argp parser = {
        .options = described_semaphore,
        .parser = parse_lock,
        .args_doc = "NAME --permits N [--] COMMAND [ARG...]",
        .doc = "Runs COMMAND while pawl holds one of the N seats of the semaphore NAME.\vCOMMAND "
               "finds the index of its seat in PAWL_SEAT, from 0 up, and its fencing token in "
               "PAWL_TOKEN. If pawl cannot extend the seat, pawl ends COMMAND in time. " EXIT_CODES,
        .children = cli_text_children,
    };
    return parse_and_run(globals, &parser, "semaphore", argc, argv);
}
