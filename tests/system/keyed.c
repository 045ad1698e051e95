#include "tests/system/keyed.h"

#include "tests/lib/case.h"
#include "tests/lib/pawl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void keyed_new(const char *file, const char *options, char ret_key[static KEYED_KEY_MAX])
{
    char *program = pawl_program("pawl");
    char *command = NULL;
    assert_true(asprintf(&command, "'%s' key new --file '%s' %s", program, file, options) > 0);
    FILE *output = popen(command, "r");
    assert_non_null(output);
    assert_non_null(fgets(ret_key, KEYED_KEY_MAX, output));
    assert_int_equal(pclose(output), 0);
    ret_key[strcspn(ret_key, "\n")] = '\0';
    free(command);
    free(program);
}

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
