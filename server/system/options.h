/* Command lines, for the programs' use of argp. Every mistake is one sentence on stderr and exit
 * status SERVER_EXIT_USAGE. A mistake that getopt finds has a second sentence, which names --help.
 *
 *     static error_t parse_option(int key, char *text, struct argp_state *state)
 *     {
 *         switch (key) {
 *         case ARGP_KEY_INIT:
 *             server_options_init(state);
 *             return 0;
 *         case OPTION_LISTEN:
 *             ...
 *         case ARGP_KEY_ARG:
 *             return server_options_error("there are no arguments, only options: '%s'", text);
 *         default:
 *             return ARGP_ERR_UNKNOWN;
 *         }
 *     }
 *
 *     if (server_options_parse(&parser, argc, argv, 0, &options) != 0)
 *         return SERVER_EXIT_USAGE; */
#ifndef SERVER_SYSTEM_OPTIONS_H
#define SERVER_SYSTEM_OPTIONS_H

#include <argp.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

/* The message about a file whose last line does not end. */
#define SERVER_HALF_WRITTEN                                                                        \
    "the last line has no line break, so the file may be truncated: write a complete new file, "   \
    "and rename it over this file"

enum server_exit {
    SERVER_EXIT_DONE = 0,
    SERVER_EXIT_FAILED = 1, /* the reason is on stderr */
    SERVER_EXIT_USAGE = 2,
};

/* Opens /dev/null for each closed standard descriptor. Call it first in main(): otherwise the next
 * socket would get such a number, and the text that is written to stderr. */
void server_options_streams(void);

/* Prepares the signals of a service; call it in main(), before threads. Unblocks the signals that
 * the parent blocked, as SIGTERM must stop the program. Ignores SIGPIPE and SIGXFSZ: a peer that
 * disconnected and a file at its size limit (ulimit -f) are errors of a write. */
void server_options_signals(void);

/* Silences argp's hints. getopt prints its sentence as before. */
void server_options_init(struct argp_state *state);

/* Reads a whole decimal number from @min to @max. Returns false for any other text; *@ret_number is
 * then untouched. */
bool server_options_number(const char *text, int64_t min, int64_t max, int64_t *ret_number);

/* The error that ends argp_parse() after a sentence on stderr. argp returns EINVAL for a mistake of
 * getopt. */
#define SERVER_OPTIONS_TOLD ECANCELED

/* argp_parse() with @flags of argp. Returns 0, or an error number after a sentence on stderr. */
error_t server_options_parse(const struct argp *parser, int argc, char **argv, unsigned flags,
                             void *input) __attribute__((warn_unused_result));

/* Prints "<program>: <sentence>" to stderr and returns SERVER_OPTIONS_TOLD. */
error_t server_options_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
