#include "server/options.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

void server_options_streams(void)
{
    int fd = 0;
    while (fd >= 0 && fd <= STDERR_FILENO)
        fd = open("/dev/null", O_RDWR); /* takes the lowest that is free */
    if (fd >= 0)
        (void)close(fd);
}

void server_options_init(struct argp_state *state)
{
    state->err_stream = NULL;
}

error_t server_options_error(const char *format, ...)
{
    va_list args;
    (void)fprintf(stderr, "%s: ", program_invocation_short_name);
    va_start(args, format);
    (void)vfprintf(stderr, format, args);
    va_end(args);
    (void)fputc('\n', stderr);
    return EINVAL;
}
