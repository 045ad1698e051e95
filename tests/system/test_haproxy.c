/* Two pawld behind HAProxy, with the sample of scripts/package.d/haproxy.cfg. */
#include "fence/protocol/limits.h"
#include "tests/lib/case.h"
#include "tests/lib/port.h"
#include "tests/lib/process.h"
#include "tests/lib/text.h"
#include "tests/lib/wait.h"
#include "tests/system/calls.h"
#include "tests/system/certificates.h"
#include "tests/system/fleet.h"
#include "tests/system/line.h"
#include "tests/system/masters.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    MASTERS = 3,
    PAWLDS = 2,
    TTL_MAX_MS = 60000,
    NAMES = 24, /* so many that each pawld has some of them */
    UP_TIMEOUT_MS = 15000,
    CALL_TIMEOUT_MS = 30000,
    LINE_TIMEOUT_MS = 5000,
    TEXT_BYTES = 1024,
    WAITERS = 20,
    APART_MS = 10, /* from one of them to the next, but in the middle: */
    HALVES_APART_MS = 1000,
    MARGIN_MS = 5000, /* from the longest wait to the proxy's own bound, at least */
    SCALED_SERVER_MS = 3000,
};

static struct pawl_service pawld[PAWLDS];
static struct process *haproxy;
static uint16_t proxy_port;
static unsigned calls;

/* The sample with the ports and files of this case, and with @edits (more options of sed). A test
 * may be without root, and without many open files. */
static void write_sample(const char *edits)
{
    const char *dir = fleet->dir;
    certify("ours", "locks.example");
    certify("ours", "client");
    shell("cat %s/locks.example.pem %s/locks.example.key >%s/proxy.pem", dir, dir, dir);
    proxy_port = port_free();
    shell("sed -E -e 's#bind :7443#bind 127.0.0.1:%u#' -e 's#/etc/haproxy/pawl.pem#%s/proxy.pem#' "
          "-e 's#/etc/haproxy/pawl-clients.pem#%s/ours.pem#' -e 's/maxconn 12000/maxconn 500/' -e "
          "'s#10.0.0.1:7380#127.0.0.1:%u#' "
          "-e 's#10.0.0.2:7380#127.0.0.1:%u#' %s %s '%s' >%s/haproxy.cfg",
          (unsigned)proxy_port, dir, dir, (unsigned)pawld[0].port, (unsigned)pawld[1].port,
          geteuid() == 0 ? "" : "-e '/^ *(user|group) /d'", edits, PAWL_HAPROXY_SAMPLE, dir);
}

struct https {
    struct process *curl;
    char body_path[TEXT_BYTES], status_path[TEXT_BYTES];
    uint64_t begun_ms;
};

struct answer {
    int status;
    unsigned took_ms;
    char *text;
    json_t *json;
};

/* A call to https://@host, by its own curl. @more: options. */
static struct https https_begin_at(const char *host, const char *method, const char *path,
                                   const char *body, const char *more)
{
    struct https https = {.begun_ms = wait_now_ms()};
    char command[4 * TEXT_BYTES];
    const unsigned call_number = calls++;
    snprintf(https.body_path, sizeof(https.body_path), "%s/body.%u", fleet->dir, call_number);
    snprintf(https.status_path, sizeof(https.status_path), "%s/status.%u", fleet->dir, call_number);
    snprintf(command, sizeof(command),
             "exec curl -s --cacert %s/ours.pem --resolve %s:%u:127.0.0.1 -X %s -o %s "
             "-w '%%{http_code}' %s %s%s%s https://%s:%u%s",
             fleet->dir, host, (unsigned)proxy_port, method, https.body_path, more,
             body ? "--json '" : "", body ? body : "", body ? "'" : "", host, (unsigned)proxy_port,
             path);
    https.curl = process_start((const char *const[]){"sh", "-c", command, NULL}, https.status_path);
    return https;
}

static struct https https_begin(const char *method, const char *path, const char *body)
{
    return https_begin_at("locks.example", method, path, body, "");
}

/* Status 0: there was no answer. */
static struct answer https_end(struct https *https)
{
    (void)process_wait(https->curl, CALL_TIMEOUT_MS);
    struct answer answer = {.took_ms = (unsigned)(wait_now_ms() - https->begun_ms)};
    char *status = text_read(https->status_path, 0);
    answer.status = (int)strtol(status, NULL, 10);
    free(status);
    answer.text = text_read(https->body_path, 0);
    answer.json = json_loads(answer.text, 0, NULL);
    return answer;
}

static void answer_fini(struct answer *answer)
{
    json_decref(answer->json);
    free(answer->text);
}

static bool listens(void *arg)
{
    char command[TEXT_BYTES], log[TEXT_BYTES];
    snprintf(command, sizeof(command), "exec 3<>/dev/tcp/127.0.0.1/%u", (unsigned)proxy_port);
    snprintf(log, sizeof(log), "%s/listens.log", fleet->dir);
    const char *const argv[] = {"bash", "-c", command, NULL};
    return process_run(argv, log, CALL_TIMEOUT_MS) == 0 || !process_alive(haproxy);
}

static void start_proxy(const char *edits)
{
    char path[TEXT_BYTES], log[TEXT_BYTES];
    write_sample(edits);
    snprintf(path, sizeof(path), "%s/haproxy.cfg", fleet->dir);
    snprintf(log, sizeof(log), "%s/haproxy.log", fleet->dir);
    const char *const argv[] = {"/usr/sbin/haproxy", "-db", "-f", path, NULL};
    haproxy = process_start(argv, log);
    if (!wait_until(listens, NULL, UP_TIMEOUT_MS) || !process_alive(haproxy))
        fail_msg("HAProxy does not listen; see %s", log);
}

/* Two pawld of one fleet behind the proxy. */
static void start_all(const char *edits)
{
    fleet_init(TTL_MAX_MS);
    for (unsigned i = 0; i < PAWLDS; i++)
        pawld[i] =
            pawld_start(fleet, (const char *const[]){FLEET_PROBE, "--host", "locks.example", NULL});
    for (unsigned i = 0; i < PAWLDS; i++)
        masters_wait_all_active(pawld[i].port, MASTERS);
    start_proxy(edits);
}

/* Ends the call, whose answer has to have @status, and @type of a problem (NULL: any). */
static unsigned expect_end(struct https *https, int status, const char *type)
{
    struct answer answer = https_end(https);
    const char *named = json_string_value(json_object_get(answer.json, "type"));
    const unsigned took_ms = answer.took_ms;
    if (answer.status != status || (type && (!named || strcmp(named, type) != 0)))
        fail_msg("answered with %d after %u ms: %s", answer.status, took_ms, answer.text);
    answer_fini(&answer);
    return took_ms;
}

static void expect_call(const char *method, const char *path, const char *body, int status)
{
    struct https https = https_begin(method, path, body);
    (void)expect_end(&https, status, NULL);
}

/* A lock is granted for each of many names that begin with @prefix: both pawld are asked. */
static void expect_grants(const char *prefix)
{
    char path[TEXT_BYTES];
    for (unsigned i = 0; i < NAMES; i++) {
        snprintf(path, sizeof(path), "/v1/locks/%s-%u", prefix, i);
        expect_call("POST", path, "{}", 201);
    }
}

/* Which pawld the waiter for @resource stands at. */
static unsigned waits_at(const char *resource)
{
    const uint64_t end_ms = wait_now_ms() + LINE_TIMEOUT_MS;
    while (wait_now_ms() < end_ms) {
        for (unsigned i = 0; i < PAWLDS; i++)
            if (line_length(pawld[i].port, resource) == 1)
                return i;
        wait_ms(10);
    }
    fail_msg("nobody waits for %s", resource);
    return PAWLDS;
}

static void lock_is_taken_and_released_over_tls(void **state)
{
    start_all("");
    struct https https = https_begin("POST", "/v1/locks/orders/42", "{\"ttl_ms\": 60000}");
    struct answer grant = https_end(&https);
    assert_int_equal(grant.status, 201);
    const char *lock_id = json_string_value(json_object_get(grant.json, "lock_id"));
    assert_non_null(lock_id);
    expect_call("POST", "/v1/locks/orders/42", "{}", 409);
    char header[TEXT_BYTES];
    snprintf(header, sizeof(header), "-H 'Lock-Id: %s'", lock_id);
    https = https_begin_at("locks.example", "DELETE", "/v1/locks/orders/42", NULL, header);
    (void)expect_end(&https, 200, NULL);
    expect_call("POST", "/v1/locks/orders/42", "{}", 201);
    answer_fini(&grant);
}

static void name_that_pawld_was_not_told_is_refused(void **state)
{
    start_all("");
    /* The certificate is for another name, so curl is told to take any. */
    struct https https = https_begin_at("page.example", "POST", "/v1/locks/orders", "{}", "-k");
    (void)expect_end(&https, 403, "urn:pawl:cross-site");
}

static void only_clients_with_a_certificate_are_let_in(void **state)
{
    start_all("-e '/^ *bind /d' -e 's/# (bind .*ca-file)/\\1/'");
    expect_call("POST", "/v1/locks/orders", "{}", 0);
    certify("theirs", "stranger");
    static const char *const names[] = {"stranger", "client"};
    static const int statuses[] = {0, 201};
    for (unsigned i = 0; i < 2; i++) {
        char shown[TEXT_BYTES];
        snprintf(shown, sizeof(shown), "--cert %s/%s.pem --key %s/%s.key", fleet->dir, names[i],
                 fleet->dir, names[i]);
        struct https https =
            https_begin_at("locks.example", "POST", "/v1/locks/orders", "{}", shown);
        (void)expect_end(&https, statuses[i], NULL);
    }
}

/* Seconds of the timeout of the sample that @name names, as milliseconds. */
static long sample_ms(const char *name)
{
    char *sample = text_read(PAWL_HAPROXY_SAMPLE, 0);
    const char *at = strstr(sample, name);
    char *end = NULL;
    const long seconds = at ? strtol(at + strlen(name), &end, 10) : 0;
    if (seconds <= 0 || *end != 's')
        fail_msg("the sample has no '%s' in seconds", name);
    free(sample);
    return seconds * 1000;
}

static void sample_outlasts_the_longest_wait(void **state)
{
    assert_true(sample_ms("timeout server ") >= FENCE_WAIT_MAX_MS + MARGIN_MS);
    assert_true(sample_ms("hard-stop-after ") >= FENCE_WAIT_MAX_MS + MARGIN_MS);
}

/* A wait below "timeout server" ends as pawld says, also beyond "timeout client". One above is cut,
 * and leaves the queue of pawld with it. */
static void only_the_server_timeout_bounds_a_wait(void **state)
{
    start_all("-e 's/timeout server .*/timeout server 3s/' -e 's/timeout client .*/timeout client "
              "1s/'");
    call_grant(pawld[0].port, "orders", "{\"ttl_ms\": 60000}");
    struct https below = https_begin("POST", "/v1/locks/orders", "{\"wait_ms\": 2000}");
    assert_true(expect_end(&below, 409, "urn:pawl:wait-timeout") >= 2000);
    struct https above = https_begin("POST", "/v1/locks/orders", "{\"wait_ms\": 20000}");
    const unsigned at = waits_at("orders");
    const unsigned took_ms = expect_end(&above, 504, "about:blank");
    assert_in_range(took_ms, SCALED_SERVER_MS, 20000 - 1);
    assert_true(line_becomes(pawld[at].port, "orders", 0, LINE_TIMEOUT_MS));
}

struct waiter {
    struct http *http;
    struct grant grant; /* token 0: not yet */
    unsigned cuts;
};

static void ask_with_own_id(struct waiter *waiter)
{
    char body[TEXT_BYTES];
    snprintf(body, sizeof(body), "{\"wait_ms\": 60000, \"lock_id\": \"%s\"}",
             waiter->grant.lock_id);
    waiter->http = call_begin(proxy_port, "POST", "/v1/locks/orders", body);
}

/* Reports whether one of the @waiters that are left has an answer within @most_ms. */
static bool poll_waiters(const struct waiter *waiters, struct pollfd fds[static WAITERS],
                         int most_ms)
{
    for (unsigned i = 0; i < WAITERS; i++)
        fds[i] = (struct pollfd){.fd = waiters[i].grant.token == 0 ? http_fd(waiters[i].http) : -1,
                                 .events = POLLIN};
    return poll(fds, WAITERS, most_ms) > 0;
}

/* The next answer to one of the @waiters that are left. True: it is a grant; else the proxy had cut
 * the wait, say, and the waiter asks again at once. */
static bool take_answer(struct waiter *waiters, unsigned *ret_which)
{
    struct pollfd fds[WAITERS];
    assert_true(poll_waiters(waiters, fds, LINE_TIMEOUT_MS));
    unsigned which = 0;
    while (fds[which].revents == 0)
        which++;
    struct waiter *waiter = &waiters[which];
    const struct http_response *response = call_end(waiter->http);
    *ret_which = which;
    if (response->status == 201) {
        waiter->grant.token = http_integer(response, "token");
        return true;
    }
    assert_true(response->status == 504 || response->status == 503); /* too busy to be heard */
    waiter->cuts += response->status == 504;
    ask_with_own_id(waiter);
    return false;
}

/* Until @left of the @waiters stand in the line: none of them is between two waits. */
static void wait_for_all(struct waiter *waiters, unsigned left)
{
    struct pollfd fds[WAITERS];
    unsigned which = 0;
    while (line_length(pawld[0].port, "orders") + line_length(pawld[1].port, "orders") < left)
        if (poll_waiters(waiters, fds, 1))
            assert_false(take_answer(waiters, &which));
}

/* The holder releases when those that came first have just been cut, and the others not yet. */
static void waiters_that_are_cut_are_served_in_the_order_in_which_they_came(void **state)
{
    struct waiter waiters[WAITERS] = {{.cuts = 0}};
    unsigned which = 0;
    start_all("-e 's/timeout server .*/timeout server 2s/' -e 's/^( *bind [^ ]+) ssl .*/\\1/'");
    struct grant holder = call_grant(proxy_port, "orders", "{\"ttl_ms\": 60000}");
    for (unsigned i = 0; i < WAITERS; i++) {
        snprintf(waiters[i].grant.lock_id, sizeof(waiters[i].grant.lock_id),
                 "own-lock-id-of-waiter-%03u", i);
        ask_with_own_id(&waiters[i]);
        wait_ms(i + 1 == WAITERS / 2 ? HALVES_APART_MS : APART_MS);
    }
    while (waiters[WAITERS / 2 - 1].cuts == 0)
        assert_false(take_answer(waiters, &which));
    assert_int_equal(waiters[WAITERS / 2].cuts, 0);
    for (unsigned i = 0; i < WAITERS; i++) {
        wait_for_all(waiters, WAITERS - i);
        call_give_back(proxy_port, "orders", &holder);
        while (!take_answer(waiters, &which))
            ;
        assert_int_equal(which, i);
        holder = waiters[which].grant;
    }
}

static void waiter_that_goes_away_leaves_the_queue(void **state)
{
    start_all("");
    call_grant(pawld[0].port, "orders", "{\"ttl_ms\": 60000}");
    struct https waiter = https_begin("POST", "/v1/locks/orders", "{\"wait_ms\": 60000}");
    const unsigned at = waits_at("orders");
    process_kill(waiter.curl);
    assert_true(line_becomes(pawld[at].port, "orders", 0, LINE_TIMEOUT_MS));
}

/* At once: no check has seen it yet. */
static void next_request_after_a_crash_is_served_by_the_other(void **state)
{
    start_all("");
    expect_grants("before");
    process_kill(pawld[1].process);
    expect_grants("after");
}

static void call_that_was_sent_is_not_repeated(void **state)
{
    start_all("");
    call_grant(pawld[0].port, "orders", "{\"ttl_ms\": 60000}");
    struct https waiter = https_begin("POST", "/v1/locks/orders", "{\"wait_ms\": 15000}");
    const unsigned at = waits_at("orders");
    process_kill(pawld[at].process);
    (void)expect_end(&waiter, 502, "about:blank");
    assert_int_equal(line_length(pawld[1 - at].port, "orders"), 0);
}

/* The second pawld has masters that are not marked yet, and another fleet: here it matters only who
 * is asked. */
static void pawld_that_is_not_ready_is_left_out(void **state)
{
    char folder[TEXT_BYTES];
    snprintf(folder, sizeof(folder), "%s/file", fleet->dir);
    pawld[0] = pawld_start_at(folder, (const char *const[]){"--host", "locks.example", NULL});
    pawl_wait_ready(pawld[0]);
    pawld[1] =
        pawld_start(fleet, (const char *const[]){FLEET_PROBE, "--host", "locks.example", NULL});
    start_proxy("");
    process_wait_line(haproxy, "Server pawld/pawld-2 is DOWN.*503", UP_TIMEOUT_MS, NULL, 0);
    expect_grants("alone");
    fleet_init(TTL_MAX_MS);
    process_wait_line(haproxy, "Server pawld/pawld-2 is UP", UP_TIMEOUT_MS, NULL, 0);
    process_kill(pawld[0].process);
    expect_grants("back");
}

static void proxy_without_any_pawld_says_so(void **state)
{
    start_all("");
    for (unsigned i = 0; i < PAWLDS; i++)
        process_kill(pawld[i].process);
    process_wait_line(haproxy, "backend pawld has no server available", UP_TIMEOUT_MS, NULL, 0);
    struct https https = https_begin("POST", "/v1/locks/orders", "{}");
    (void)expect_end(&https, 503, "about:blank");
}

#define HAPROXY_CASE(name) FLEET_CASE(name, MASTERS, REDIS_VOLATILE)

static const struct CMUnitTest cases[] = {
    HAPROXY_CASE(lock_is_taken_and_released_over_tls),
    HAPROXY_CASE(name_that_pawld_was_not_told_is_refused),
    HAPROXY_CASE(only_clients_with_a_certificate_are_let_in),
    cmocka_unit_test(sample_outlasts_the_longest_wait),
    HAPROXY_CASE(only_the_server_timeout_bounds_a_wait),
    HAPROXY_CASE(waiters_that_are_cut_are_served_in_the_order_in_which_they_came),
    HAPROXY_CASE(waiter_that_goes_away_leaves_the_queue),
    HAPROXY_CASE(next_request_after_a_crash_is_served_by_the_other),
    HAPROXY_CASE(call_that_was_sent_is_not_repeated),
    HAPROXY_CASE(pawld_that_is_not_ready_is_left_out),
    HAPROXY_CASE(proxy_without_any_pawld_says_so),
};

CASE_MAIN(cases, NULL, NULL)
