#include "server/system/options.h"

#include "fence/protocol/decimal.h"
#include "server/system/printable.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    SENTENCE_MAX = 3072,    /* bytes of an error; longer ones are cut */
    STANDS_STILL_MS = 1000, /* after this time the reader of an error counts as stopped */
};

void server_options_streams(void)
{
    int fd = 0;
    while (fd >= 0 && fd <= STDERR_FILENO)
        fd = open("/dev/null", O_RDWR); /* takes the lowest free descriptor */
    if (fd >= 0)
        (void)close(fd);
}

void server_options_signals(void)
{
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN);
}

void server_options_init(struct argp_state *state)
{
    state->err_stream = NULL;
}

bool server_options_number(const char *text, int64_t min, int64_t max, int64_t *ret_number)
{
    uint64_t number = 0;
    assert(min >= 0 && min <= max);
    if (!fence_decimal_read(text, strlen(text), (uint64_t)max, &number) || number < (uint64_t)min)
        return false;
    *ret_number = (int64_t)number;
    return true;
}

error_t server_options_parse(const struct argp *parser, int argc, char **argv, unsigned flags,
                             void *input)
{
    const char *slash = strrchr(argv[0], '/');
    const char *name = slash != NULL ? slash + 1 : argv[0];
    const error_t error = argp_parse(parser, argc, argv, flags, NULL, input);
    if (error == EINVAL)
        (void)fprintf(stderr, "%s: see '%s --help'\n", name, name);
    return error;
}

/* A lock may be held meanwhile, so the line is lost if its reader has stopped. A writable pipe
 * takes PIPE_BUF bytes (pipe(7)). */
static void print_unless_stuck(const char *line)
{
    struct pollfd out = {.fd = STDERR_FILENO, .events = POLLOUT};
    int ready;
    do {
        ready = poll(&out, 1, STANDS_STILL_MS);
    } while (ready < 0 && errno == EINTR);
    if (ready > 0)
        (void)!write(STDERR_FILENO, line, strlen(line));
}

error_t server_options_error(const char *format, ...)
{
    char line[PIPE_BUF];
    char text[SENTENCE_MAX];
    char printable[SENTENCE_MAX];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    (void)server_printable(text, printable, sizeof(printable));
    (void)snprintf(line, sizeof(line), "%.256s: %s\n", program_invocation_short_name, printable);
    print_unless_stuck(line);
    return SERVER_OPTIONS_TOLD;
}
