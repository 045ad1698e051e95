#include "tests/system/keys/service.h"

#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/lib/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SCRIPT_BYTES = 2048,
    END_MS = 20000,
};

struct keys keys;

int keys_setup_alone(void **state)
{
    (void)workdir_setup(state);
    workdir_join(workdir.path, "keys", keys.file);
    return 0;
}

void keys_serve(void)
{
    keys.pawld = pawld_start_at(workdir.data, (const char *const[]){"--keys", keys.file, NULL});
    pawl_wait_ready(keys.pawld);
}

int keys_setup(void **state)
{
    keys_setup_alone(state);
    keyed_new(keys.file, "--role admin --prefix '*' --id admin", keys.admin);
    keyed_new(keys.file, "--role lock --prefix orders/ --id owner", keys.owner);
    keyed_new(keys.file, "--role lock --prefix '*' --id other", keys.other);
    keyed_new(keys.file, "--role read --prefix '*' --id slow --rate 1 --burst 2", keys.slow);
    keyed_new(keys.file, "--role lock --prefix '*' --id few-locks --held 2", keys.few);
    keys_serve();
    return 0;
}

void keys_call(const char *key, const char *method, const char *path, const char *headers,
               const char *body, struct http_response *ret_response)
{
    keyed_call(keys.pawld.port, key, method, path, headers, body, ret_response);
}

int keys_status(const char *key, const char *method, const char *path, const char *headers,
                const char *body)
{
    return keyed_status(keys.pawld.port, key, method, path, headers, body);
}

int keys_run(const char *command, const char *key, char **ret_said)
{
    char script[SCRIPT_BYTES];
    char *program = pawl_program("pawl");
    snprintf(script, sizeof(script),
             "export PAWL='%s' PAWL_SERVER=http://127.0.0.1:%u DIR='%s'; %s%s\n%s", program,
             (unsigned)keys.pawld.port, workdir.path, key[0] != '\0' ? "export PAWL_KEY=" : "", key,
             command);
    (void)remove(workdir.said);
    const int status =
        process_run((const char *const[]){"bash", "-c", script, NULL}, workdir.said, END_MS);
    *ret_said = text_read(workdir.said, 0);
    free(program);
    return status;
}

void keys_expect_said(const char *command, const char *key, int status, const char *says)
{
    char *said = NULL;
    const int ended = keys_run(command, key, &said);
    if (ended != status || strstr(said, says) == NULL)
        fail_msg("%s ended with %d and said: %s", command, ended, said);
    free(said);
}
