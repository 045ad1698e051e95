#include "tests/system/workdir.h"

#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/lib/tempdir.h"
#include "tests/lib/text.h"
#include "tests/system/fleet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ARGS_MAX = 24,
    LISTEN_MS = 20000,
};

struct workdir workdir;

int workdir_setup(void **state)
{
    workdir.path = tempdir_new();
    workdir_join(workdir.path, "data", workdir.data);
    workdir_join(workdir.path, "data.log", workdir.data_log);
    workdir_join(workdir.path, "log", workdir.log);
    workdir_join(workdir.path, "said", workdir.said);
    return 0;
}

int workdir_teardown(void **state)
{
    (void)fleet_teardown(state);
    tempdir_remove(workdir.path);
    return 0;
}

struct pawl_service workdir_start(const char *const options[])
{
    char port[8];
    char *program = pawl_program("pawld");
    const char *args[ARGS_MAX + 1] = {program, "--listen", "127.0.0.1:0"};
    for (unsigned i = 0; options[i] != NULL; i++) {
        assert_in_range(i + 3, 0, ARGS_MAX - 1);
        args[i + 3] = options[i];
    }
    struct process *process = process_start(args, workdir.log);
    process_wait_line(process, "listening on 127\\.0\\.0\\.1:([0-9]+)", LISTEN_MS, port,
                      sizeof(port));
    free(program);
    return (struct pawl_service){process, (uint16_t)strtoul(port, NULL, 10)};
}

void workdir_join(const char *in, const char *name, char ret_path[static WORKDIR_PATH_BYTES])
{
    const int len = snprintf(ret_path, WORKDIR_PATH_BYTES, "%s/%s", in, name);
    assert_in_range(len, 1, WORKDIR_PATH_BYTES - 1);
}

void workdir_expect_said(int ended, int status, const char *words)
{
    char *text = text_read(workdir.said, 0);
    if (ended != status || !strstr(text, words))
        fail_msg("it ended with %d, not with %d and \"%s\"; it said: %s", ended, status, words,
                 text);
    free(text);
}

void workdir_write(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

unsigned workdir_count(const char *path, const char *part)
{
    unsigned count = 0;
    char *text = text_read(path, 0);
    for (const char *at = strstr(text, part); at != NULL; at = strstr(at + 1, part))
        count++;
    free(text);
    return count;
}
