/* Shared by all verbs: the options before the verb, the client, durations, and exit codes. */
#ifndef SERVER_CLI_COMMON_H
#define SERVER_CLI_COMMON_H

#include "api/client/pawl.h"
#include "server/cli/problem.h"

#include <argp.h>

#include <jansson.h>

/* Exit codes: those of timeout(1), env(1) and nohup(1), and two of Pawl. The code of a command is
 * passed on; it is 128 + n if signal n ended the command. */
enum cli_exit {
    CLI_EXIT_DONE = 0,
    CLI_EXIT_NOT_READY = 1,      /* pawl fleet, pawl top: no lock can be granted */
    CLI_EXIT_LOST = 123,         /* the lock was lost while the command ran */
    CLI_EXIT_NOT_ACQUIRED = 124, /* another caller holds the lock */
    CLI_EXIT_ERROR = 125,        /* the reason is on stderr */
    CLI_EXIT_NOT_EXECUTABLE = 126,
    CLI_EXIT_NOT_FOUND = 127,
    CLI_EXIT_SIGNAL = 128,
};

struct cli_globals {
    const char *servers[PAWL_SERVERS_MAX];
    size_t server_count;
    char key[PAWL_KEY_MAX + 1];            /* the key of --key-file; "": PAWL_KEY, or none */
    const char *ca_file, *cert, *cert_key; /* as in api/client/pawl.h */
    bool json;                             /* for machines; else tables for people */
};

/* The options of all verbs, which may stand before the verb or behind it. */
extern const struct argp_child cli_globals_children[];

/* The same for a verb that has no JSON, and calls cli_refuse_json(): its help does not name --json.
 */
extern const struct argp_child cli_text_children[];

/* Call it for ARGP_KEY_INIT, in a parser with either. */
void cli_init_verb(struct argp_state *state, struct cli_globals *globals);

/* Reads the value of an option that is a time of at least @least_ms. */
error_t cli_take_time(const char *text, const char *option, int64_t least_ms, int64_t *ret_ms);

/* Adds @text to the names of a lock; there may be PAWL_NAMES_MAX. */
error_t cli_take_name(char *text, const char **names, size_t *count);

/* Parses the keys of argp that are not options, for a verb with one lock. *@name is NULL at first,
 * and the name of the lock later. @one_only is the error for a second name. */
error_t cli_parse_one_name(int key, char *text, struct argp_state *state,
                           struct cli_globals *globals, const char *one_only, const char **name);

/* Reports whether pawld accepts @text as a name; @what names it in the sentence. */
error_t cli_check_name(const char *text, const char *what);

/* Checks the prefix of a listing. pawld checks the rest. */
error_t cli_check_prefix(const char *text);

/* The value of --why. */
error_t cli_take_label(char *text, const char **ret_label);

/* Returns true if @word is an option of all verbs, or of @described, or the beginning of one. */
bool cli_is_option(const struct argp_option *described, const char *word);

/* Rejects --json for a verb without JSON output. Returns CLI_EXIT_ERROR. */
int cli_refuse_json(const char *why);

/* Returns @wait_ms in the form for pawl_acquire(); -1: forever. */
int64_t cli_wait_ms(int64_t wait_ms);

/* Prints "pawl: <sentence>" to stderr. Returns CLI_EXIT_ERROR. */
int cli_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Parses the options and arguments of one verb. 0, or CLI_EXIT_ERROR. */
int cli_parse(const struct argp *parser, int argc, char **argv, void *input);

/* A client of the servers in @globals. NULL: the reason was printed. */
pawl_client *cli_client(const struct cli_globals *globals);

/* Writes why the last call of @client failed, as cli_problem_reason() does. */
void cli_reason(const struct cli_globals *globals, const pawl_client *client,
                char ret_reason[static CLI_REASON_MAX]);

/* Prints the reason. Returns the exit code for @error. */
int cli_failed(const struct cli_globals *globals, const pawl_client *client, int error);

/* GETs @path with @name behind it (NULL: none); prints the reason of a failure. Returns an exit
 * code. json_decref() *@ret_json, which may be NULL. */
int cli_get(const struct cli_globals *globals, const char *path, const char *name,
            json_t **ret_json);

/* Reports whether all output was written; prints the reason of a failure. */
bool cli_printed(void);

/* Prints @json on a line, and frees it. NULL: there was no memory. */
void cli_print_json(json_t *json);

/* Writes the integer member @name of @json as text; nothing where it is null. */
void cli_json_number(const json_t *json, const char *name, char *ret_text, size_t size);

/* Writes the holder of @lock, an inspection: its label, or @unlabelled. If the name is closed
 * without a holder, the text says why. */
void cli_holder_text(const json_t *lock, const char *unlabelled,
                     char ret_text[static CLI_HOLDER_MAX]);

/* Writes the default label of a lock: user@host. */
void cli_label(char ret_label[static PAWL_OWNER_MAX + 1]);

/* Sets PAWL_SERVER, the files of https://, and PAWL_KEY (if --key-file was used) for the
 * command. */
void cli_set_servers(const struct cli_globals *globals);

/* The verbs. argv[0] is "pawl VERB". Each returns an exit code. */
int cli_acquire(struct cli_globals *globals, int argc, char **argv);
int cli_break(struct cli_globals *globals, int argc, char **argv);
int cli_counter(struct cli_globals *globals, int argc, char **argv);
int cli_extend(struct cli_globals *globals, int argc, char **argv);
int cli_fleet(struct cli_globals *globals, int argc, char **argv);
int cli_guard(struct cli_globals *globals, int argc, char **argv);
int cli_key(struct cli_globals *globals, int argc, char **argv);
int cli_list(struct cli_globals *globals, int argc, char **argv);
int cli_lock(struct cli_globals *globals, int argc, char **argv);
int cli_rwlock(struct cli_globals *globals, int argc, char **argv);
int cli_semaphore(struct cli_globals *globals, int argc, char **argv);
int cli_release(struct cli_globals *globals, int argc, char **argv);
int cli_show(struct cli_globals *globals, int argc, char **argv);
int cli_top(struct cli_globals *globals, int argc, char **argv);
int cli_watch(struct cli_globals *globals, int argc, char **argv);

#endif
