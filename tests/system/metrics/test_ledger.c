/* The counts of the ledger's /metrics are what its clients counted. */
#include "tests/lib/case.h"
#include "tests/lib/pawl.h"
#include "tests/lib/process.h"
#include "tests/system/calls.h"
#include "tests/system/metrics/scrape.h"
#include "tests/system/metrics/tally.h"
#include "tests/system/workdir.h"

#include <stdlib.h>

static struct pawl_service service;

static int setup(void **state)
{
    char db[WORKDIR_PATH_BYTES];
    (void)workdir_setup(state);
    workdir_join(workdir.path, "ledger.db", db);
    service = pawl_ledger_start(db, NULL);
    tally_begin();
    return 0;
}

static int teardown(void **state)
{
    const int status = process_stop(service.process);
    return workdir_teardown(state) + status;
}

static void ask(const char *name, const char *method, const char *path, const char *headers,
                const char *body)
{
    struct http_response response;
    http_once(service.port, method, path, headers, body, &response);
    tally_answer(name, &response);
    http_response_fini(&response);
}

static void every_answer_of_the_ledger_is_counted_once(void **state)
{
    char *before = scrape(service.port);
    tally_add("call=\"metrics\",result=\"ok\"", 1);
    ask("claim_account", "POST", "/v1/accounts/a/claim", "Fencing-Token: 5\r\n", NULL); /* 404 */
    ask("write_account", "PUT", "/v1/accounts/a", "Fencing-Token: 5\r\n", "{\"balance\": 1}");
    ask("write_account", "PUT", "/v1/accounts/a", "Fencing-Token: 5\r\n", "{\"balance\": 2}");
    ask("write_account", "PUT", "/v1/accounts/a", "Fencing-Token: 4\r\n", "{\"balance\": 3}");
    ask("write_account", "PUT", "/v1/accounts/a", "Fencing-Token: 5\r\nIf-Match: \"9\"\r\n",
        "{\"balance\": 4}");
    ask("write_account", "PUT", "/v1/accounts/a", NULL, "{\"balance\": 5}");
    ask("claim_account", "POST", "/v1/accounts/a/claim", NULL, NULL);
    ask("claim_account", "POST", "/v1/accounts/a/claim", "Fencing-Token: 6\r\n", NULL);
    ask("claim_account", "POST", "/v1/accounts/a/claim", "Fencing-Token: 5\r\n", NULL);
    ask("read_account", "GET", "/v1/accounts/a", NULL, NULL);
    ask("read_account", "GET", "/v1/accounts/b", NULL, NULL);
    ask("rejections", "GET", "/v1/rejections", NULL, NULL);
    ask(NULL, "GET", "/nowhere", NULL, NULL);
    ask(NULL, "DELETE", "/v1/accounts/a", NULL, NULL);
    char *after = scrape(service.port);
    tally_expect(before, after);
    assert_true(scrape_value(after, "pawl_ledger_writes_total") == 2);
    assert_true(scrape_value(after, "pawl_ledger_claims_total") == 2);
    assert_true(scrape_value(after, "pawl_guard_refusals_total") == 2);
    assert_true(scrape_value(after, "pawl_ledger_version_mismatches_total") == 1);
    assert_true(scrape_value(after, "pawl_ledger_tokens_missing_total") == 2);
    free(before);
    free(after);
}

static void figures_of_the_process_are_there(void **state)
{
    char *text = scrape(service.port);
    assert_true(scrape_value(text, "process_resident_memory_bytes") > 1024 * 1024);
    assert_true(scrape_value(text, "process_open_fds") > 3);
    assert_true(scrape_value(text, "process_max_fds") > scrape_value(text, "process_open_fds"));
    assert_true(scrape_value(text, "process_start_time_seconds") > 1.7e9);
    assert_true(scrape_value(text, "pawl_connections") == 1);
    free(text);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest cases[] = {
    CASE(every_answer_of_the_ledger_is_counted_once),
    CASE(figures_of_the_process_are_there),
};

CASE_MAIN(cases, NULL, NULL)
