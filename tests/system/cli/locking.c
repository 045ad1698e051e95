#include "tests/system/cli/locking.h"

#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/lib/text.h"
#include "tests/lib/wait.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct locking locking;

int locking_begin(void **state)
{
    char server[LOCKING_PATH_BYTES];
    (void)workdir_setup(state);
    locking.pawl = pawl_program("pawl");
    locking.service = pawld_start_at(workdir.data, NULL);
    pawl_wait_ready(locking.service);
    snprintf(server, sizeof(server), "http://127.0.0.1:%u", locking.service.port);
    setenv("PAWL_SERVER", server, 1);
    setenv("PAWL", locking.pawl, 1);
    setenv("DIR", workdir.path, 1);
    return 0;
}

int locking_end(void **state)
{
    free(locking.pawl);
    return workdir_teardown(state);
}

void locking_restart_pawld(void)
{
    char listen[64];
    char *pawld = pawl_program("pawld");
    snprintf(listen, sizeof(listen), "127.0.0.1:%u", locking.service.port);
    process_kill(locking.service.process);
    locking.service.process = process_start(
        (const char *const[]){pawld, "--data", workdir.data, "--listen", listen, NULL},
        workdir.said);
    free(pawld);
}

static void in_folder(const char *script, char ret_text[static LOCKING_SCRIPT_BYTES])
{
    const int len = snprintf(ret_text, LOCKING_SCRIPT_BYTES, "cd \"$DIR\"; %s", script);
    assert_in_range(len, 1, LOCKING_SCRIPT_BYTES - 1);
}

int locking_shell(const char *script)
{
    char text[LOCKING_SCRIPT_BYTES];
    in_folder(script, text);
    return process_run((const char *const[]){"sh", "-c", text, NULL}, workdir.said,
                       LOCKING_PATIENCE_MS);
}

struct process *locking_start(const char *ttl, const char *name, const char *script)
{
    char text[LOCKING_SCRIPT_BYTES];
    in_folder(script, text);
    const char *const argv[] = {locking.pawl, "lock", "--ttl", ttl,  "--kill-after", "200ms",
                                name,         "--",   "sh",    "-c", text,           NULL};
    return process_start(argv, workdir.said);
}

char *locking_text(const char *name)
{
    char path[LOCKING_PATH_BYTES];
    snprintf(path, sizeof(path), "%s/%s", workdir.path, name);
    return text_read(path, 0);
}

void locking_expect_text(const char *name, const char *expected)
{
    char *text = locking_text(name);
    EXPECT_TEXT(text, expected);
    free(text);
}

void locking_expect_words(const char *name, const char *words)
{
    char *text = locking_text(name);
    if (strstr(text, words) == NULL)
        fail_msg("'%s' has %s", name, text);
    free(text);
}

static bool has_line(void *name)
{
    char *text = locking_text(name);
    const bool has = strchr(text, '\n') != NULL;
    free(text);
    return has;
}

long locking_number(const char *name)
{
    if (!wait_until(has_line, (void *)(uintptr_t)name, LOCKING_PATIENCE_MS))
        fail_msg("nobody wrote to '%s'", name);
    char *text = locking_text(name);
    const long number = strtol(text, NULL, 10);
    free(text);
    return number;
}

static bool has_ended(void *pid)
{
    return kill(*(const pid_t *)pid, 0) < 0 && errno == ESRCH;
}

void locking_expect_end_of(const char *name)
{
    pid_t pid = (pid_t)locking_number(name);
    assert_true(pid > 1);
    if (!wait_until(has_ended, &pid, LOCKING_PATIENCE_MS))
        fail_msg("the process of '%s' goes on", name);
}

void locking_expect_ended_in_time(void)
{
    const long left_ms = locking_number("left");
    const long began = locking_number("stamps");
    char *text = locking_text("stamps");
    text[strlen(text) - 1] = '\0';
    const char *newline = strrchr(text, '\n');
    assert_non_null(newline);
    const long last = strtol(newline + 1, NULL, 10);
    free(text);
    assert_in_range(left_ms, 1, LOCKING_PATIENCE_MS);
    if (last > began + left_ms / 10)
        fail_msg("it began at %ld with %ld ms left, and ran at %ld", began, left_ms, last);
}
