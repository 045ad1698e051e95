/* The counts of /metrics are those of clients: after a load whose every answer was recorded, over
 * several workers, with connections that are kept and others that are not. */
#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/lib/tempdir.h"
#include "tests/system/calls.h"
#include "tests/system/fleet.h"
#include "tests/system/metrics/scrape.h"
#include "tests/system/metrics/tally.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MASTERS = 3,
    CLIENTS = 6, /* half of them keep their connection */
    ROUNDS = 12,
    SHORT_ROUNDS = 3,
    EXTENSIONS = 2, /* the cap of the fleet */
    PATH_MAX_LEN = 128,
    HEADERS_MAX = 256,
    BODY_MAX = 256,
    BIG = 70000, /* bytes of a body that is too large */
};

static struct pawl_service service;
static const char *const three_workers[] = {"--workers", "3", NULL};
static const char *const new_fleet[] = {"--new", "--max-extensions", "2", NULL};

static int setup(void **state)
{
    fleet_start(MASTERS, REDIS_VOLATILE);
    assert_int_equal(pawl_init(fleet, new_fleet), 0);
    return 0;
}

static void serve_with(const char *const options[])
{
    service = pawld_start(fleet, options);
    pawl_wait_ready(service);
}

struct client {
    uint16_t port;
    unsigned number;
    bool keeps;                          /* its connection */
    struct http *http;                   /* NULL: none is open */
    int64_t opened;                      /* connections */
    char lock_id[FENCE_LOCK_ID_LEN + 1]; /* lock id of its last grant */
    int64_t token;
};

static void note_grant(struct client *client, const struct http_response *response)
{
    const json_t *token = json_object_get(response->json, "token");
    const json_t *lock_id = json_object_get(response->json, "lock_id");
    if (response->status != 201 || !json_is_string(lock_id))
        return;
    (void)snprintf(client->lock_id, sizeof(client->lock_id), "%s", json_string_value(lock_id));
    client->token = json_integer_value(token);
}

/* One request, whose answer is recorded as one to @call. */
static int ask(struct client *client, const char *call_name, const char *method, const char *path,
               const char *headers, const char *body)
{
    struct http_response response;
    if (client->http == NULL) {
        client->http = http_connect(client->port);
        client->opened++;
    }
    http_request(client->http, method, path, headers, body, &response);
    tally_answer(call_name, &response);
    note_grant(client, &response);
    const int status = response.status;
    char connection[32];
    const bool ends = http_header(&response, "Connection", connection, sizeof(connection)) &&
                      strcmp(connection, "close") == 0;
    http_response_fini(&response);
    if (!client->keeps || ends) {
        http_close(client->http);
        client->http = NULL;
    }
    return status;
}

/* A request about the lock of this client; each has one of its own. */
static int ask_lock(struct client *client, const char *call_name, const char *method,
                    const char *body)
{
    char path[PATH_MAX_LEN];
    char headers[HEADERS_MAX];
    const bool holds = strcmp(method, "PATCH") == 0 || strcmp(method, "DELETE") == 0;
    (void)snprintf(path, sizeof(path), "/v1/locks/client/%u", client->number);
    (void)snprintf(headers, sizeof(headers), "Lock-Id: %s\r\nFencing-Token: %lld\r\n",
                   client->lock_id, (long long)client->token);
    return ask(client, call_name, method, path, holds ? headers : NULL, body);
}

/* A lock from its grant to its end, with all that can be answered on the way. */
static void hold_and_release(struct client *client)
{
    (void)ask_lock(client, "acquire", "POST", NULL);
    (void)ask_lock(client, "acquire", "POST", NULL);                /* held */
    (void)ask_lock(client, "acquire", "POST", "{\"wait_ms\": 20}"); /* wait-timeout */
    (void)ask_lock(client, "inspect", "GET", NULL);
    for (int i = 0; i <= EXTENSIONS; i++) /* the last is one too many */
        (void)ask_lock(client, "extend", "PATCH", NULL);
    (void)ask_lock(client, "release", "DELETE", NULL);
    (void)ask_lock(client, "release", "DELETE", NULL); /* no longer held */
}

/* The holder of an old grant learns that it has lost the lock. */
static void lose(struct client *client)
{
    struct client old;
    (void)ask_lock(client, "acquire", "POST", NULL);
    old = *client;
    (void)ask_lock(client, "release", "DELETE", NULL);
    (void)ask_lock(client, "acquire", "POST", NULL);
    memcpy(client->lock_id, old.lock_id, sizeof(old.lock_id));
    client->token = old.token;
    (void)ask_lock(client, "extend", "PATCH", NULL);
}

static void retry_and_take_several(struct client *client, unsigned round)
{
    char body[BODY_MAX];
    (void)snprintf(body, sizeof(body), "{\"lock_id\": \"%022u\", \"ttl_ms\": 500}",
                   client->number * 1000 + round + 1);
    char path[PATH_MAX_LEN];
    (void)snprintf(path, sizeof(path), "/v1/locks/retry/%u/%u", client->number, round);
    (void)ask(client, "acquire", "POST", path, NULL, body);
    (void)ask(client, "acquire", "POST", path, NULL, body); /* found, usually */
    (void)snprintf(body, sizeof(body), "{\"resources\": [\"s/%u/%u/a\", \"s/%u/%u/b\"]}",
                   client->number, round, client->number, round);
    (void)ask(client, "acquire_several", "POST", "/v1/locks", NULL, body);
    (void)ask(client, "acquire_several", "POST", "/v1/locks", NULL, body); /* held */
}

static void read_and_count(struct client *client)
{
    (void)ask(client, "count", "POST", "/v1/counters/orders", NULL, NULL);
    (void)ask(client, "read_counter", "GET", "/v1/counters/orders", NULL, NULL);
    (void)ask(client, "read_counter", "GET", "/v1/counters/none", NULL, NULL);
    (void)ask(client, "list", "GET", "/v1/locks?limit=5", NULL, NULL);
    (void)ask(client, "list_counters", "GET", "/v1/counters", NULL, NULL);
    (void)ask(client, "fleet", "GET", "/v1/fleet", NULL, NULL);
    (void)ask(client, "live", "GET", "/livez", NULL, NULL);
    (void)ask(client, "ready", "GET", "/readyz", NULL, NULL);
}

/* Each way to be refused that a client can bring about at once. */
static void be_refused(struct client *client)
{
    static char big[BIG + 1];
    static char long_head[8192];
    if (client->number == 0) { /* written once, before the others begin */
        memset(big, ' ', BIG);
        (void)snprintf(long_head, sizeof(long_head), "X: %07000d\r\n", 0);
    }
    (void)ask(client, NULL, "GET", "/nowhere", NULL, NULL);
    (void)ask(client, NULL, "PUT", "/v1/locks/a", NULL, "{}");
    (void)ask(client, "acquire", "POST", "/v1/locks/a", "Origin: http://example.com\r\n", NULL);
    (void)ask(client, NULL, "GET", "/v1/locks/%zz", NULL, NULL);
    (void)ask(client, "acquire", "POST", "/v1/locks/a", NULL, "{\"ttl_ms\": 1}");
    (void)ask(client, "acquire", "POST", "/v1/locks/a", NULL, "{\"ttl_ms\": 300000000}");
    (void)ask(client, "acquire", "POST", "/v1/locks/a", "Content-Type: text/plain\r\n", "{}");
    (void)ask(client, "live", "GET", "/livez?a=1", NULL, NULL);
    (void)ask(client, "acquire", "POST", "/v1/locks/a", NULL, big);
    (void)ask(client, NULL, "GET", "/livez", long_head, NULL);
}

static void *run_client(void *arg)
{
    struct client *client = arg;
    const unsigned rounds = getenv("PAWL_TEST_SHORT") ? SHORT_ROUNDS : ROUNDS;
    for (unsigned round = 0; round < rounds; round++) {
        hold_and_release(client);
        lose(client);
        (void)ask_lock(client, "release", "DELETE", NULL); /* under the old id: not held */
        client->number += CLIENTS;                         /* another lock in each round */
        retry_and_take_several(client, round);
        read_and_count(client);
    }
    http_close(client->http);
    return NULL;
}

static int64_t total_of(const char *text, const char *const samples[], unsigned count)
{
    double sum = 0;
    for (unsigned i = 0; i < count; i++)
        sum += scrape_value(text, samples[i]);
    return (int64_t)sum;
}

static int64_t gained(const char *before, const char *after, const char *sample)
{
    return (int64_t)(scrape_value(after, sample) - scrape_value(before, sample));
}

static int64_t granted(void)
{
    return tally_of("call=\"acquire\",result=\"granted\"") +
           tally_of("call=\"acquire\",result=\"found\"") +
           tally_of("call=\"acquire_several\",result=\"granted\"") +
           tally_of("call=\"acquire_several\",result=\"found\"");
}

static void expect_other_counters(const char *before, const char *after)
{
    static const char *const grants[] = {"pawl_grants_total{path=\"fast\"}",
                                         "pawl_grants_total{path=\"confirmed\"}",
                                         "pawl_grants_total{path=\"found\"}"};
    assert_int_equal(total_of(after, grants, 3) - total_of(before, grants, 3), granted());
    assert_int_equal(gained(before, after, "pawl_extensions_total"),
                     tally_of("call=\"extend\",result=\"extended\""));
    assert_int_equal(gained(before, after, "pawl_regrants_total"),
                     tally_of("call=\"extend\",result=\"granted\""));
    assert_int_equal(gained(before, after, "pawl_extensions_exhausted_total"),
                     tally_of("call=\"extend\",result=\"extensions-exhausted\""));
    assert_int_equal(gained(before, after, "pawl_locks_lost_total"),
                     tally_of("call=\"extend\",result=\"lock-lost\""));
    assert_int_equal(gained(before, after, "pawl_call_duration_seconds_count{call=\"release\"}"),
                     tally_of("call=\"release\",result=\"released\"") +
                         tally_of("call=\"release\",result=\"not-held\"") +
                         tally_of("call=\"release\",result=\"no-quorum\""));
}

/* The aim of the load came about. */
static void expect_all_kinds(void)
{
    static const char *const kinds[] = {
        "call=\"acquire\",result=\"granted\"",
        "call=\"acquire\",result=\"found\"",
        "call=\"acquire\",result=\"held\"",
        "call=\"acquire\",result=\"wait-timeout\"",
        "call=\"acquire_several\",result=\"granted\"",
        "call=\"acquire_several\",result=\"held\"",
        "call=\"extend\",result=\"extended\"",
        "call=\"extend\",result=\"extensions-exhausted\"",
        "call=\"extend\",result=\"lock-lost\"",
        "call=\"release\",result=\"released\"",
        "call=\"release\",result=\"not-held\"",
        "call=\"count\",result=\"ok\"",
        "call=\"read_counter\",result=\"no-such-counter\"",
        "call=\"acquire\",result=\"invalid\"",
        "call=\"acquire\",result=\"unsupported-media-type\"",
        "call=\"acquire\",result=\"too-large\"",
        "status=\"400\",result=\"invalid\"",
        "call=\"acquire\",result=\"cross-site\"",
        "status=\"404\",result=\"not-found\"",
        "status=\"405\",result=\"method-not-allowed\"",
        "status=\"431\",result=\"headers-too-large\"",
    };
    for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (tally_of(kinds[i]) == 0)
            fail_msg("the load had no answer %s", kinds[i]);
}

static void every_answer_is_counted_once_over_all_workers(void **state)
{
    static struct client clients[CLIENTS];
    pthread_t threads[CLIENTS];
    int64_t opened = 0;
    serve_with(three_workers);
    tally_begin();
    char *before = scrape(service.port);
    tally_add("call=\"metrics\",result=\"ok\"", 1); /* it counts when it is answered */
    for (unsigned i = 0; i < CLIENTS; i++) {
        clients[i] = (struct client){.port = service.port, .number = i, .keeps = i % 2 == 0};
        be_refused(&clients[i]);
    }
    for (unsigned i = 0; i < CLIENTS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_client, &clients[i]), 0);
    for (unsigned i = 0; i < CLIENTS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        opened += clients[i].opened;
    }
    char *after = scrape(service.port);
    expect_all_kinds();
    tally_expect(before, after);
    expect_other_counters(before, after);
    /* That of the first scrape was accepted before it, that of the second before its answer. But
     * each worker tells at the end of a turn. */
    scrape_wait(service.port, "pawl_connections_accepted_total",
                scrape_value(before, "pawl_connections_accepted_total") + (double)opened, 5000);
    free(before);
    free(after);
}

static void request_that_does_not_end_is_counted(void **state)
{
    static const char *const hasty[] = {"--head-timeout-ms", "300", "--body-timeout-ms", "300",
                                        NULL};
    static const char head[] = "GET /livez HTTP/1.1\r\nHost";
    static const char body[] = "POST /v1/locks/a HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{";
    serve_with(hasty);
    tally_begin();
    char *before = scrape(service.port);
    tally_add("call=\"metrics\",result=\"ok\"", 1);
    const char *const unfinished[] = {head, body};
    for (int i = 0; i < 2; i++) {
        struct http_response response;
        struct http *http = http_connect(service.port);
        assert_true(http_send(http, unfinished[i], strlen(unfinished[i])));
        http_receive(http, false, &response);
        assert_int_equal(response.status, 408);
        tally_answer(NULL, &response);
        http_response_fini(&response);
        http_close(http);
    }
    char *after = scrape(service.port);
    tally_expect(before, after);
    free(before);
    free(after);
}

/* One worker, one client and one master, which is in no hurry: so it is known which acquires wait.
 */
static void times_are_taken_of_acquires_waits_and_holds(void **state)
{
    struct client client = {.keeps = true};
    char *folder = tempdir_new();
    service = pawld_start_at(folder, NULL);
    pawl_wait_ready(service);
    client.port = service.port;
    tally_begin();
    char *before = scrape(service.port);
    for (int i = 0; i < 5; i++) {
        (void)ask_lock(&client, "acquire", "POST", NULL);
        (void)ask_lock(&client, "acquire", "POST", NULL);
        (void)ask_lock(&client, "acquire", "POST", "{\"wait_ms\": 20}");
        (void)ask_lock(&client, "release", "DELETE", NULL);
    }
    http_close(client.http);
    char *after = scrape(service.port);
    assert_int_equal(gained(before, after, "pawl_acquire_duration_seconds_count"),
                     tally_of("call=\"acquire\",result=\"granted\""));
    assert_int_equal(gained(before, after, "pawl_wait_duration_seconds_count"),
                     tally_of("call=\"acquire\",result=\"wait-timeout\""));
    assert_true(scrape_value(after, "pawl_wait_duration_seconds_sum") >= 5 * 0.020);
    assert_int_equal(gained(before, after, "pawl_hold_duration_seconds_count"),
                     tally_of("call=\"release\",result=\"released\""));
    assert_true(scrape_value(after, "pawl_hold_duration_seconds_sum") >= 5 * 0.020);
    assert_true(gained(before, after, "pawl_script_call_requests_sum") >= 15);
    free(before);
    free(after);
    assert_int_equal(process_stop(service.process), 0);
    tempdir_remove(folder);
}

static void waiter_and_connections_show_while_they_are_there(void **state)
{
    serve_with(NULL);
    struct grant grant = call_grant(service.port, "held", NULL);
    struct http *waiter =
        call_begin(service.port, "POST", "/v1/locks/held", "{\"wait_ms\": 60000}");
    scrape_wait(service.port, "pawl_waiters", 1, 5000);
    scrape_wait(service.port, "pawl_calls_in_progress", 1, 5000);
    scrape_wait(service.port, "pawl_requests_parked", 1, 5000);
    scrape_wait(service.port, "pawl_connections", 1, 5000);
    call_give_back(service.port, "held", &grant);
    assert_int_equal(call_end(waiter)->status, 201);
    assert_true(scrape_now(service.port, "pawl_wait_duration_seconds_count") >= 1);
}

static void metrics_take_no_query_and_no_body(void **state)
{
    serve_with(NULL);
    assert_int_equal(call(service.port, "GET", "/metrics?a=1", NULL, NULL)->status, 400);
    assert_int_equal(call(service.port, "GET", "/metrics", NULL, "{\"a\":1}")->status, 400);
    assert_int_equal(call(service.port, "POST", "/metrics", NULL, NULL)->status, 405);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, fleet_teardown)

static const struct CMUnitTest cases[] = {
    CASE(every_answer_is_counted_once_over_all_workers),
    CASE(request_that_does_not_end_is_counted),
    CASE(times_are_taken_of_acquires_waits_and_holds),
    CASE(waiter_and_connections_show_while_they_are_there),
    CASE(metrics_take_no_query_and_no_body),
};

CASE_MAIN(cases, NULL, NULL)
