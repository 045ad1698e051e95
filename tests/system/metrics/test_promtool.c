/* Prometheus' own judgement of /metrics: `promtool check metrics`. */
#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/lib/text.h"
#include "tests/system/calls.h"
#include "tests/system/fleet.h"
#include "tests/system/metrics/scrape.h"
#include "tests/system/workdir.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    MASTERS = 3,
    TTL_MAX_MS = 60000,
    PROMTOOL_MS = 30000,
};

static int run_shell(const char *command)
{
    const char *const args[] = {"/bin/sh", "-c", command, NULL};
    return process_run(args, workdir.said, PROMTOOL_MS);
}

static void need_promtool(void)
{
    if (run_shell("command -v promtool >/dev/null") != 0)
        case_skip("promtool is not installed: scripts/setup installs it");
}

/* It reads the text from its standard input, and is quiet where it finds nothing wrong. */
static void expect_promtool_content(const char *text)
{
    char path[WORKDIR_PATH_BYTES], command[2 * WORKDIR_PATH_BYTES];
    workdir_join(workdir.path, "metrics.txt", path);
    workdir_write(path, text);
    (void)snprintf(command, sizeof(command), "promtool check metrics <'%s'", path);
    const int status = run_shell(command);
    char *said = text_read(workdir.said, 0);
    EXPECT_TEXT(said, "");
    assert_int_equal(status, 0);
    free(said);
}

static void pawld_keeps_to_the_conventions(void **state)
{
    need_promtool();
    fleet_start(MASTERS, REDIS_VOLATILE);
    const uint16_t port = fleet_init_and_serve(TTL_MAX_MS).port;
    struct grant grant = call_grant(port, "a", NULL);
    (void)call_extend(port, "a", &grant, NULL);
    call_give_back(port, "a", &grant);
    (void)call(port, "GET", "/nowhere", NULL, NULL);
    redis_fleet_pause(fleet, 0);
    (void)call_grant(port, "b", NULL); /* masters have reasons, too */
    char *text = scrape(port);
    expect_promtool_content(text);
    free(text);
    redis_fleet_resume(fleet, 0);
}

static void ledger_keeps_to_the_conventions(void **state)
{
    char db[WORKDIR_PATH_BYTES];
    need_promtool();
    workdir_join(workdir.path, "ledger.db", db);
    const struct pawl_service service = pawl_ledger_start(db, NULL);
    (void)call(service.port, "POST", "/v1/accounts/a/claim", "Fencing-Token: 5\r\n", NULL);
    (void)call(service.port, "GET", "/nowhere", NULL, NULL);
    char *text = scrape(service.port);
    expect_promtool_content(text);
    free(text);
    assert_int_equal(process_stop(service.process), 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, workdir_setup, workdir_teardown)

static const struct CMUnitTest cases[] = {
    CASE(pawld_keeps_to_the_conventions),
    CASE(ledger_keeps_to_the_conventions),
};

CASE_MAIN(cases, NULL, NULL)
