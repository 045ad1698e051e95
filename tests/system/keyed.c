#include "tests/system/keyed.h"

#include "tests/lib/case.h"
#include "tests/lib/pawl.h"
#include "tests/lib/process.h"
#include "tests/lib/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    END_MS = 20000,
};

void keyed_new(const char *file, const char *options, char ret_key[static KEYED_KEY_MAX])
{
    char *program = pawl_program("pawl"), *command = NULL, *log = NULL;
    assert_true(asprintf(&command, "'%s' key new --file '%s' %s", program, file, options) > 0);
    assert_true(asprintf(&log, "%s.log", file) > 0);
    (void)remove(log);
    const char *const argv[] = {"bash", "-c", command, NULL};
    assert_int_equal(process_run(argv, log, END_MS), 0);
    char *said = text_read(log, 0);
    snprintf(ret_key, KEYED_KEY_MAX, "%.*s", (int)strcspn(said, "\n"), said);
    free(said);
    free(log);
    free(command);
    free(program);
}

/* NOLINTNEXTLINE(readability-function-size): what a call has */
void keyed_call(uint16_t port, const char *key, const char *method, const char *path,
                const char *headers, const char *body, struct http_response *ret_response)
{
    char lines[KEYED_HEADERS_MAX] = "";
    if (key[0] != '\0')
        snprintf(lines, sizeof(lines), "Authorization: Bearer %s\r\n", key);
    if (headers != NULL)
        strncat(lines, headers, sizeof(lines) - strlen(lines) - 1);
    http_once(port, method, path, lines, body, ret_response);
}

int keyed_status(uint16_t port, const char *key, const char *method, const char *path,
                 const char *headers, const char *body)
{
    struct http_response response;
    keyed_call(port, key, method, path, headers, body, &response);
    const int status = response.status;
    http_response_fini(&response);
    return status;
}
