#include "tests/system/usage.h"

#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/lib/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The caller frees it. */
static char *read_file(const struct process *process, const char *name)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)process_id(process), name);
    return text_read(path, 0);
}

/* The 12th and 13th word behind the name, which is in brackets. */
long usage_cpu_ms(const struct process *process)
{
    char *text = read_file(process, "stat");
    char *at = strrchr(text, ')');
    for (unsigned skipped = 0; skipped < 12 && at; skipped++)
        at = strchr(at + 1, ' ');
    if (!at) {
        fail_msg("no times in %s", text);
        return 0;
    }
    const unsigned long user = strtoul(at, &at, 10);
    const unsigned long kernel = strtoul(at, &at, 10);
    free(text);
    return (long)(user + kernel) * 1000 / sysconf(_SC_CLK_TCK);
}

long usage_memory_kb(const struct process *process, const char *field)
{
    char *text = read_file(process, "status");
    const char *at = strstr(text, field);
    assert_non_null(at);
    const long kb = strtol(at + strlen(field), NULL, 10);
    free(text);
    return kb;
}
