#include "server/cli/common.h"

#include "fence/protocol/name.h"
#include "fence/protocol/seat.h"
#include "server/cli/duration.h"
#include "server/system/options.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    OPTION_SERVER = 1000, /* beyond those of verbs */
    OPTION_JSON,
    OPTION_CA_FILE,
    OPTION_CERT,
    OPTION_CERT_KEY,
    OPTION_KEY_FILE,
    OPTION_OF_ARGP,
    SERVER_MAX = 256,    /* bytes of a URL */
    SENTENCE_MAX = 1024, /* bytes; longer ones are cut */
};

/* ---- sentences ------------------------------------------------------------------------------- */

int cli_say(const char *format, ...)
{
    char sentence[SENTENCE_MAX];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof(sentence), format, arguments);
    va_end(arguments);
    (void)server_options_error("%s", sentence);
    return CLI_EXIT_ERROR;
}

int cli_parse(const struct argp *parser, int argc, char **argv, void *input)
{
    return server_options_parse(parser, argc, argv, ARGP_IN_ORDER, input) == 0 ? 0 : CLI_EXIT_ERROR;
}

error_t cli_take_time(const char *text, const char *option, int64_t least_ms, int64_t *ret_ms)
{
    assert(option != NULL && least_ms >= 0);
    int64_t ms;
    char least[CLI_DURATION_BYTES];
    if (!cli_duration(text, &ms))
        return server_options_error("--%s takes a time such as 500ms, 30s or 5m, not '%s'", option,
                                    text);
    cli_duration_text(least_ms, least, sizeof(least));
    if (ms < least_ms)
        return server_options_error("--%s must be at least %s, not '%s'", option, least, text);
    *ret_ms = ms;
    return 0;
}

/* ---- words that several verbs take ----------------------------------------------------------- */

error_t cli_check_name(const char *text, const char *what)
{
    assert(text != NULL && what != NULL);
    if (fence_lock_name_valid(text, strlen(text))) /* pawl list shows seats, too */
        return 0;
    return server_options_error("'%s' is not a valid %s: use 1 to %d characters of A-Z a-z 0-9 . _ "
                                "~ : @ / - without an empty, \".\" or \"..\" part between slashes",
                                text, what, PAWL_NAME_MAX);
}

error_t cli_parse_one_name(int key, char *text, struct argp_state *state,
                           struct cli_globals *globals, const char *one_only, const char **name)
{
    assert(globals != NULL && one_only != NULL && name != NULL);
    switch (key) {
    case ARGP_KEY_INIT:
        cli_init_verb(state, globals);
        return 0;
    case ARGP_KEY_ARG:
        if (*name != NULL)
            return server_options_error("%s", one_only);
        *name = text;
        return cli_check_name(text, "name");
    case ARGP_KEY_END:
        return *name != NULL
                   ? 0
                   : server_options_error("the lock name is missing; see '%s --help'", state->name);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

error_t cli_check_prefix(const char *text)
{
    assert(text != NULL);
    if (fence_label_valid(text, strlen(text)))
        return 0;
    return server_options_error("'%s' is not a valid prefix: use only A-Z a-z 0-9 . _ ~ : @ / -",
                                text);
}

error_t cli_take_name(char *text, const char **names, size_t *count)
{
    assert(text != NULL && *count <= PAWL_NAMES_MAX);
    if (*count == PAWL_NAMES_MAX)
        return server_options_error("there are more than %d names", PAWL_NAMES_MAX);
    names[(*count)++] = text;
    return cli_check_name(text, "name");
}

error_t cli_take_label(char *text, const char **ret_label)
{
    assert(text != NULL);
    *ret_label = text;
    if (fence_label_valid(text, strlen(text)))
        return 0;
    return server_options_error(
        "'%s' is not a valid label for --why: use UTF-8 of at most %d bytes "
        "without control characters",
        text, PAWL_OWNER_MAX);
}

int cli_refuse_json(const char *why)
{
    return cli_say("this command does not accept --json: %s", why);
}

int64_t cli_wait_ms(int64_t wait_ms)
{
    assert(wait_ms >= -1);
    return wait_ms == 0 ? PAWL_NO_WAIT : wait_ms;
}

/* ---- options of all verbs -------------------------------------------------------------------- */

static const struct argp_option globals_described[] = {
    {"server", OPTION_SERVER, "URL", 0,
     "URL of a pawld, or unix:/PATH. Can be repeated (PAWL_SERVER, or this machine)", -1},
    {"ca-file", OPTION_CA_FILE, "FILE", 0, "For https://: CA to trust (PAWL_CA_FILE)", -1},
    {"cert", OPTION_CERT, "FILE", 0, "For https://: client certificate (PAWL_CERT)", -1},
    {"cert-key", OPTION_CERT_KEY, "FILE", 0, "The private key of --cert (PAWL_CERT_KEY)", -1},
    {"key-file", OPTION_KEY_FILE, "FILE", 0, "File whose first line is the key (PAWL_KEY)", -1},
    {NULL, 0, NULL, 0, NULL, 0},
};

static const struct argp_option json_described[] = {
    {"json", OPTION_JSON, NULL, 0, "Print JSON instead of tables", -1},
    {NULL, 0, NULL, 0, NULL, 0},
};

/* A verb that has no JSON takes the option, to say why it refuses it. */
static const struct argp_option json_hidden[] = {
    {"json", OPTION_JSON, NULL, OPTION_HIDDEN, NULL, -1},
    {NULL, 0, NULL, 0, NULL, 0},
};

/* If other users of this machine can read the key file, they have the key. */
static error_t read_key_file(struct cli_globals *globals, const char *path)
{
    struct stat stat;
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return server_options_error("--key-file %s: %s", path, strerror(errno));
    const bool known = fstat(fileno(file), &stat) == 0;
    const bool read = fgets(globals->key, sizeof(globals->key), file) != NULL;
    (void)fclose(file);
    if (known && S_ISREG(stat.st_mode) && (stat.st_mode & (S_IROTH | S_IWOTH)))
        return server_options_error(
            "--key-file %s: every user can read this file; run chmod o-rwx on it", path);
    if (read && strchr(globals->key, '\n') == NULL && strlen(globals->key) < PAWL_KEY_MAX)
        return server_options_error("--key-file %s: %s", path, SERVER_HALF_WRITTEN);
    const size_t len = read ? strcspn(globals->key, "\r\n") : 0;
    assert(len < sizeof(globals->key));
    if (len == 0 || len == PAWL_KEY_MAX || strcspn(globals->key, " \t") < len)
        return server_options_error("--key-file %s: its first line must be a key, pawl_...", path);
    globals->key[len] = '\0';
    return 0;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): argp's type */
static error_t parse_globals(int key, char *text, struct argp_state *state)
{
    struct cli_globals *globals = state->input;
    assert(globals->server_count <= PAWL_SERVERS_MAX);
    switch (key) {
    case OPTION_SERVER:
        if (globals->server_count == PAWL_SERVERS_MAX)
            return server_options_error("there are more than %d servers", PAWL_SERVERS_MAX);
        globals->servers[globals->server_count++] = text;
        return 0;
    case OPTION_CA_FILE:
        globals->ca_file = text;
        return 0;
    case OPTION_CERT:
        globals->cert = text;
        return 0;
    case OPTION_CERT_KEY:
        globals->cert_key = text;
        return 0;
    case OPTION_KEY_FILE:
        return read_key_file(globals, text);
    case OPTION_JSON:
        globals->json = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static bool begins_option(const struct argp_option *described, const char *word)
{
    assert(word[0] == '-' && word[1] != '\0');
    const size_t len = strcspn(word, "=");
    for (; described->name != NULL; described++) {
        if (word[1] == '-' && strncmp(described->name, word + 2, len - 2) == 0)
            return true;
        if (word[1] == described->key)
            return true;
    }
    return false;
}

bool cli_is_option(const struct argp_option *described, const char *word)
{
    static const struct argp_option of_argp[] = {{"help", '?', NULL, 0, NULL, 0},
                                                 {"usage", OPTION_OF_ARGP, NULL, 0, NULL, 0},
                                                 {"version", 'V', NULL, 0, NULL, 0},
                                                 {NULL, 0, NULL, 0, NULL, 0}};
    return begins_option(described, word) || begins_option(globals_described, word) ||
           begins_option(json_described, word) || begins_option(of_argp, word);
}

static const struct argp globals_parser = {.options = globals_described, .parser = parse_globals};
static const struct argp json_parser = {.options = json_described, .parser = parse_globals};
static const struct argp hidden_parser = {.options = json_hidden, .parser = parse_globals};

const struct argp_child cli_globals_children[] = {
    {&globals_parser, 0, NULL, 0}, {&json_parser, 0, NULL, 0}, {0}};
const struct argp_child cli_text_children[] = {
    {&globals_parser, 0, NULL, 0}, {&hidden_parser, 0, NULL, 0}, {0}};

void cli_init_verb(struct argp_state *state, struct cli_globals *globals)
{
    assert(state->child_inputs != NULL && globals != NULL);
    server_options_init(state);
    state->child_inputs[0] = state->child_inputs[1] = globals;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

int cli_get(const struct cli_globals *globals, const char *path, const char *name,
            json_t **ret_json)
{
    assert(path[0] == '/' && *ret_json == NULL);
    char *text = NULL;
    pawl_client *client = cli_client(globals);
    if (client == NULL)
        return CLI_EXIT_ERROR;
    const int error = pawl_get(client, path, name, &text);
    int code = error < 0 ? cli_failed(globals, client, error) : CLI_EXIT_DONE;
    if (error == 0)
        *ret_json = json_loads(text, 0, NULL);
    if (error == 0 && *ret_json == NULL)
        code = cli_say("out of memory");
    free(text);
    pawl_client_free(client);
    return code;
}

bool cli_printed(void)
{
    static bool told;
    const bool fine = fflush(stdout) == 0 && ferror(stdout) == 0;
    if (!fine && !told)
        (void)cli_say("cannot write to standard output");
    told |= !fine;
    return fine;
}

void cli_print_json(json_t *json)
{
    char *text = json != NULL ? json_dumps(json, JSON_COMPACT) : NULL;
    if (text != NULL)
        (void)puts(text);
    else
        (void)cli_say("out of memory");
    free(text);
    json_decref(json);
}

/* Other programs read JSON numbers exactly up to here; tokens are below it. */
#define NUMBER_MOST ((1LL << 53) - 1)

void cli_json_number(const json_t *json, const char *name, char *ret_text, size_t size)
{
    assert(name != NULL && size > 0);
    const json_t *value = json_object_get(json, name);
    ret_text[0] = '\0';
    if (json_is_integer(value) && llabs(json_integer_value(value)) <= NUMBER_MOST)
        (void)snprintf(ret_text, size, "%lld", (long long)json_integer_value(value));
}

void cli_holder_text(const json_t *lock, const char *unlabelled,
                     char ret_text[static CLI_HOLDER_MAX])
{
    const char *owner = json_string_value(json_object_get(lock, "owner"));
    const char *closed = json_string_value(json_object_get(lock, "closed"));
    const char *head = "";
    if (closed != NULL)
        head = strcmp(closed, "kept") == 0 ? "nobody; kept closed by "
                                           : "nobody; in the lock-delay of ";
    if (owner == NULL || owner[0] == '\0')
        owner = closed != NULL ? "a holder without a label" : unlabelled;
    (void)snprintf(ret_text, CLI_HOLDER_MAX, "%s%s", head, owner);
}

/* ---- client ---------------------------------------------------------------------------------- */

pawl_client *cli_client(const struct cli_globals *globals)
{
    assert(globals->server_count <= PAWL_SERVERS_MAX);
    pawl_client *client = NULL;
    const struct pawl_options options = {
        .servers = globals->servers,
        .server_count = globals->server_count,
        .key = globals->key[0] != '\0' ? globals->key : NULL,
        .ca_file = globals->ca_file,
        .cert = globals->cert,
        .cert_key = globals->cert_key,
    };
    char reason[CLI_REASON_MAX] = "out of memory";
    int error = pawl_options_check(&options, reason, sizeof(reason));
    if (error == 0)
        error = pawl_client_new(&options, &client);
    if (error < 0)
        (void)cli_say("%s", reason);
    return error < 0 ? NULL : client;
}

/* Returns where the key is from. NULL: no key is sent. */
static const char *key_source(const struct cli_globals *globals)
{
    const char *variable = getenv("PAWL_KEY");
    if (globals->key[0] != '\0')
        return "in the file of --key-file";
    return variable != NULL && variable[0] != '\0' ? "in PAWL_KEY" : NULL;
}

void cli_reason(const struct cli_globals *globals, const pawl_client *client,
                char ret_reason[static CLI_REASON_MAX])
{
    cli_problem_reason(client, key_source(globals), ret_reason);
}

int cli_failed(const struct cli_globals *globals, const pawl_client *client, int error)
{
    assert(error < 0);
    char reason[CLI_REASON_MAX];
    cli_reason(globals, client, reason);
    (void)cli_say("%s", reason);
    if (error == PAWL_EHELD)
        return CLI_EXIT_NOT_ACQUIRED;
    return error == PAWL_ELOST ? CLI_EXIT_LOST : CLI_EXIT_ERROR;
}

void cli_label(char ret_label[static PAWL_OWNER_MAX + 1])
{
    char host[HOST_NAME_MAX + 1] = "";
    const struct passwd *user = getpwuid(geteuid());
    (void)gethostname(host, sizeof(host) - 1);
    (void)snprintf(ret_label, PAWL_OWNER_MAX + 1, "%.60s@%.60s",
                   user != NULL ? user->pw_name : "somebody", host);
}

static void set_variable(const char *variable, const char *text)
{
    if (text != NULL)
        (void)setenv(variable, text, 1);
}

void cli_set_servers(const struct cli_globals *globals)
{
    set_variable("PAWL_CA_FILE", globals->ca_file);
    set_variable("PAWL_CERT", globals->cert);
    set_variable("PAWL_CERT_KEY", globals->cert_key);
    char text[PAWL_SERVERS_MAX * SERVER_MAX] = "";
    size_t at = 0;
    for (size_t i = 0; i < globals->server_count; i++)
        at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%.*s", i > 0 ? " " : "",
                               SERVER_MAX - 2, globals->servers[i]);
    assert(at < sizeof(text));
    if (globals->key[0] != '\0')
        (void)setenv("PAWL_KEY", globals->key, 1);
    if (at > 0)
        (void)setenv("PAWL_SERVER", text, 1);
    else if (getenv("PAWL_SERVER") == NULL)
        (void)setenv("PAWL_SERVER", pawl_default_server(), 1);
}
