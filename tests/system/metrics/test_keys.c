/* /metrics where keys are asked for: who may read it, and what it counts of keys. */
#include "tests/lib/case.h"
#include "tests/lib/pawl.h"
#include "tests/system/keyed.h"
#include "tests/system/metrics/scrape.h"
#include "tests/system/workdir.h"

#include <string.h>

static char reader[KEYED_KEY_MAX], locker[KEYED_KEY_MAX];
static uint16_t port;

static int start(void **state)
{
    char keys[WORKDIR_PATH_BYTES];
    (void)workdir_setup(state);
    workdir_join(workdir.path, "keys", keys);
    keyed_new(keys, "--role read --prefix '*' --id reader", reader);
    keyed_new(keys, "--role lock --prefix orders/ --id locker", locker);
    const struct pawl_service pawld =
        pawld_start_at(workdir.data, (const char *const[]){"--keys", keys, NULL});
    pawl_wait_ready(pawld);
    port = pawld.port;
    return 0;
}

static double value_of(const char *sample)
{
    struct http_response response;
    keyed_call(port, reader, "GET", "/metrics", NULL, NULL, &response);
    assert_int_equal(response.status, 200);
    assert_null(strstr(response.body, "locker")); /* no key is named */
    assert_null(strstr(response.body, "orders"));
    const double value = scrape_value(response.body, sample);
    http_response_fini(&response);
    return value;
}

static void metrics_need_a_key_that_may_read(void **state)
{
    assert_int_equal(keyed_status(port, "", "GET", "/metrics", NULL, NULL), 401);
    assert_int_equal(keyed_status(port, reader, "GET", "/metrics", NULL, NULL), 200);
}

static void refused_keys_count_by_why(void **state)
{
    char wrong[KEYED_KEY_MAX];
    memcpy(wrong, locker, sizeof(wrong));
    char *last = &wrong[strlen(wrong) - 1];
    *last = *last == 'A' ? 'Q' : 'A';
    const char *path = "/v1/locks/orders/1";
    assert_int_equal(keyed_status(port, locker, "POST", path, NULL, NULL), 201);
    assert_int_equal(keyed_status(port, "", "POST", path, NULL, NULL), 401);
    assert_int_equal(keyed_status(port, wrong, "POST", path, NULL, NULL), 401);
    assert_int_equal(keyed_status(port, "", "GET", "/nowhere", NULL, NULL), 401);
    assert_int_equal(keyed_status(port, reader, "POST", path, NULL, NULL), 403);
    assert_int_equal(keyed_status(port, locker, "POST", "/v1/locks/others/1", NULL, NULL), 403);
    assert_true(value_of("pawl_keys_refused_total{result=\"key-required\"}") == 3);
    assert_true(value_of("pawl_keys_refused_total{result=\"not-allowed\"}") == 2);
    assert_true(value_of("pawl_calls_total{call=\"acquire\",result=\"granted\"}") == 1);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, start, workdir_teardown)

static const struct CMUnitTest cases[] = {
    CASE(metrics_need_a_key_that_may_read),
    CASE(refused_keys_count_by_why),
};

CASE_MAIN(cases, NULL, NULL)
