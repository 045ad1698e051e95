/* Times as people write them: "500ms", "30s", "5m". */
#ifndef SERVER_CLI_DURATION_H
#define SERVER_CLI_DURATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CLI_DURATION_BYTES = 32, /* for a text, terminated */
};

/* Reads "500ms", "30s", "5m", "2h" or "0". False: it is none, and *@ret_ms is untouched. */
bool cli_duration(const char *text, int64_t *ret_ms);

/* Writes @ms with the largest unit that leaves nothing over. */
void cli_duration_text(int64_t ms, char *ret_text, size_t size);

#endif
