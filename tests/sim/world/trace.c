#include "tests/sim/world/trace.h"

#include <inttypes.h>
#include <stdarg.h>

void sim_trace_say(const struct sim_trace *trace, uint64_t now_us, const char *format, ...)
{
    va_list arguments;
    if (trace->out) {
        fprintf(trace->out, "%8" PRIu64 ".%03" PRIu64 " ms  ", now_us / 1000, now_us % 1000);
        va_start(arguments, format);
        (void)vfprintf(trace->out, format, arguments);
        va_end(arguments);
        fputc('\n', trace->out);
    }
    if (trace->scene) {
        fprintf(trace->scene, "%" PRIu64 " says ", now_us);
        va_start(arguments, format);
        (void)vfprintf(trace->scene, format, arguments);
        va_end(arguments);
        fputc('\n', trace->scene);
    }
}
