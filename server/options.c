#include "server/options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

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
