/* What scripts/package.d/Dockerfile says to run, run here: no Docker is needed for it.
 * scripts/lint.d/image has the rest. */
#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/lib/text.h"
#include "tests/system/calls.h"
#include "tests/system/fleet.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MASTERS = 3,
    TTL_MAX_MS = 60000,
    CHECK_TIMEOUT_MS = 10000,
    TEXT_BYTES = 1024,
    WORDS = 3,
};

static const char published[] = "/7380";

/* The command of HEALTHCHECK: an array of JSON. */
static json_t *health_command(void)
{
    char *dockerfile = text_read(PAWL_DOCKERFILE, 0);
    const char *at = strstr(dockerfile, "HEALTHCHECK ");
    at = at ? strstr(at, "CMD [") : NULL;
    assert_non_null(at);
    json_t *command = json_loads(at + strlen("CMD "), JSON_DISABLE_EOF_CHECK, NULL);
    assert_int_equal(json_array_size(command), WORDS);
    free(dockerfile);
    return command;
}

/* Runs it for a pawld on @port, and returns its exit status. */
static int check_health(uint16_t port)
{
    char script[TEXT_BYTES], log[TEXT_BYTES];
    json_t *command = health_command();
    const char *text = json_string_value(json_array_get(command, 2));
    const char *at = strstr(text, published);
    assert_non_null(at);
    snprintf(script, sizeof(script), "%.*s/%u%s", (int)(at - text), text, (unsigned)port,
             at + strlen(published));
    snprintf(log, sizeof(log), "%s/health.log", fleet->dir);
    const char *const argv[] = {json_string_value(json_array_get(command, 0)),
                                json_string_value(json_array_get(command, 1)), script, NULL};
    const int status = process_run(argv, log, CHECK_TIMEOUT_MS);
    json_decref(command);
    return status;
}

static void health_is_whether_a_lock_could_be_granted(void **state)
{
    (void)state;
    const struct pawl_service service =
        pawld_start(fleet, (const char *const[]){FLEET_PROBE, NULL});
    assert_int_not_equal(check_health(service.port), 0); /* its masters are not marked yet */
    fleet_init(TTL_MAX_MS);
    pawl_wait_ready(service);
    assert_int_equal(check_health(service.port), 0);
    process_signal(service.process, SIGSTOP);
    assert_int_not_equal(check_health(service.port), 0);
    process_kill(service.process);
    assert_int_not_equal(check_health(service.port), 0);
}

static const struct CMUnitTest cases[] = {
    FLEET_CASE(health_is_whether_a_lock_could_be_granted, MASTERS, REDIS_VOLATILE),
};

CASE_MAIN(cases, NULL, NULL)
