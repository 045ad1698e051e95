/* Masters behind TLS, which pawld speaks by itself: rediss://. The words about its options are in
 * test_rediss_usage.c. */
#include "storage/redis/tls.h"
#include "tests/lib/case.h"
#include "tests/lib/liar.h"
#include "tests/lib/port.h"
#include "tests/lib/process.h"
#include "tests/lib/wait.h"
#include "tests/system/calls.h"
#include "tests/system/certificates.h"
#include "tests/system/fleet.h"
#include "tests/system/line.h"
#include "tests/system/masters.h"
#include "tests/system/usage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MASTERS = 3,
    PATH_BYTES = 256,
    LOCKS = 400, /* a page of them is longer than a record of TLS */
    LINE_TIMEOUT_MS = 5000,
    REST_MS = 1000,
    PIECE = 200,       /* bytes at a time, ... */
    FLIGHT_MAX = 4000, /* ... for what a server may say in a handshake */
};

static struct liar *slow[MASTERS];
static char ca_path[PATH_BYTES], cert_path[PATH_BYTES], key_path[PATH_BYTES];

static void need_tls(void)
{
    if (!storage_tls_is_built())
        case_skip("this build has no TLS to masters: its hiredis has none");
}

/* Master @i listens with TLS, too, under the certificate of @name, and is reached there at @host
 * from now on. @clients: "yes" where clients have to show one. */
static void secure(unsigned i, const char *name, const char *host, const char *clients)
{
    const char *dir = fleet->dir;
    const uint16_t port = port_free();
    char cert[PATH_BYTES], key[PATH_BYTES], url[PATH_BYTES];
    snprintf(cert, sizeof(cert), "%s/%s.pem", dir, name);
    snprintf(key, sizeof(key), "%s/%s.key", dir, name);
    freeReplyObject(redis_fleet_command(fleet, i, "CONFIG SET bind %s", "127.0.0.1 -::1"));
    freeReplyObject(redis_fleet_command(
        fleet, i,
        "CONFIG SET tls-cert-file %s tls-key-file %s tls-ca-cert-file %s tls-auth-clients %s "
        "tls-port %u",
        cert, key, ca_path, clients, (unsigned)port));
    snprintf(url, sizeof(url), "rediss://%s:%u", host, (unsigned)port);
    redis_fleet_readdress(fleet, i, url);
}

/* A certificate that the authority "ours" signed is believed, and no other. */
static void certify_all(void)
{
    snprintf(ca_path, sizeof(ca_path), "%s/ours.pem", fleet->dir);
    snprintf(cert_path, sizeof(cert_path), "%s/pawld.pem", fleet->dir);
    snprintf(key_path, sizeof(key_path), "%s/pawld.key", fleet->dir);
    certify("ours", "loopback");
    certify("ours", "pawld");
}

static void secure_all(const char *host, const char *clients)
{
    need_tls();
    certify_all();
    if (strcmp(host, "127.0.0.1") != 0)
        certify("ours", host);
    for (unsigned i = 0; i < MASTERS; i++)
        secure(i, strcmp(host, "127.0.0.1") == 0 ? "loopback" : host, host, clients);
}

static void init_over_tls(void)
{
    const char *const options[] = {
        "--new",         "--max-ttl-ms", "60000",        "--master-ca", ca_path,
        "--master-cert", cert_path,      "--master-key", key_path,      NULL};
    assert_int_equal(pawl_init(fleet, options), 0);
}

static struct pawl_service start_over_tls(void)
{
    const char *const options[] = {FLEET_PROBE, "--master-ca", ca_path, NULL};
    return pawld_start(fleet, options);
}

static uint16_t serve_over_tls(void)
{
    return start_over_tls().port;
}

/* A fleet of masters that are reached at @host with TLS, and a pawld that all of them serve. */
static uint16_t serve_from(const char *host)
{
    secure_all(host, "no");
    init_over_tls();
    const uint16_t port = serve_over_tls();
    masters_wait_all_active(port, MASTERS);
    return port;
}

static void expect_locks(uint16_t port)
{
    struct grant grant = call_grant(port, "orders", NULL);
    call_keep(port, "orders", &grant, NULL);
    EXPECT_PROBLEM(call_acquire(port, "orders", NULL), 409, "held", 3);
    call_give_back(port, "orders", &grant);
    assert_true(call_grant(port, "orders", NULL).token > grant.token);
}

static void rediss_masters_grant_and_release(void **state)
{
    const uint16_t port = serve_from("127.0.0.1");
    expect_locks(port);
    assert_non_null(strstr(call(port, "GET", "/v1/fleet", NULL, NULL)->body, "rediss://127.0.0.1"));
}

static void rediss_master_may_have_a_name(void **state)
{
    const uint16_t port = serve_from("localhost");
    expect_locks(port);
}

struct listeners {
    unsigned master;
    long long count;
};

static bool are_subscribed(void *arg)
{
    const struct listeners *wanted = arg;
    redisReply *reply = redis_fleet_command(fleet, wanted->master, "PUBSUB NUMSUB pawl:freed");
    const bool right = reply->elements == 2 && reply->element[1]->integer == wanted->count;
    freeReplyObject(reply);
    return right;
}

/* Each pawld has a connection to each master on which it hears of releases. */
static void expect_listeners(unsigned pawlds)
{
    for (unsigned i = 0; i < MASTERS; i++) {
        struct listeners wanted = {i, pawlds};
        if (!wait_until(are_subscribed, &wanted, MASTERS_WAIT_LONG_MS))
            fail_msg("not every pawld listens to master %u", i + 1);
    }
}

static void rediss_release_through_another_pawld_is_heard(void **state)
{
    secure_all("127.0.0.1", "no");
    init_over_tls();
    const uint16_t one = serve_over_tls(), other = serve_over_tls();
    masters_wait_all_active(one, MASTERS);
    masters_wait_all_active(other, MASTERS);
    expect_listeners(2);
    struct grant grant = call_grant(one, "orders", "{\"ttl_ms\": 60000}");
    struct http *waiter = call_begin(other, "POST", "/v1/locks/orders", "{\"wait_ms\": 20000}");
    assert_true(line_becomes(other, "orders", 1, LINE_TIMEOUT_MS));
    call_give_back(one, "orders", &grant);
    assert_int_equal(call_end(waiter)->status, 201);
}

/* The truth, and what may be of a handshake some bytes at a time. */
static void tell_in_pieces(void *context, const struct liar_heard *heard, struct liar_lie *lie)
{
    lie->piece = lie->len <= FLIGHT_MAX ? PIECE : 0;
}

/* The certificate of a master comes in many reads. Data to be written wait for them. */
static void rediss_handshake_may_come_in_pieces(void **state)
{
    secure_all("127.0.0.1", "no");
    init_over_tls();
    for (unsigned i = 0; i < MASTERS; i++) {
        char url[PATH_BYTES];
        const char *port = strrchr(fleet->master[i].url, ':') + 1;
        slow[i] = liar_start((uint16_t)strtoul(port, NULL, 10), tell_in_pieces, NULL);
        snprintf(url, sizeof(url), "rediss://127.0.0.1:%u", (unsigned)liar_port(slow[i]));
        redis_fleet_readdress(fleet, i, url);
    }
    const uint16_t port = serve_over_tls();
    for (unsigned i = 0; i < MASTERS; i++)
        masters_wait_within(port, i, "active", NULL, MASTERS_WAIT_LONG_MS);
    expect_listeners(1);
    for (unsigned i = 0; i < MASTERS; i++)
        liar_tells(slow[i], NULL, NULL); /* calls do not wait so long for a master */
    expect_locks(port);
}

/* A poll for what no call waits for would be answered at once, again and again. */
static void rediss_connections_at_rest_take_no_time(void **state)
{
    secure_all("127.0.0.1", "no");
    init_over_tls();
    const struct pawl_service service = start_over_tls();
    masters_wait_all_active(service.port, MASTERS);
    expect_locks(service.port);
    const long before_ms = usage_cpu_ms(service.process);
    wait_ms(REST_MS);
    assert_in_range(usage_cpu_ms(service.process) - before_ms, 0, REST_MS / 4);
}

static int stop_liars(void **state)
{
    for (unsigned i = 0; i < MASTERS; i++) {
        liar_stop(slow[i]);
        slow[i] = NULL;
    }
    return fleet_teardown(state);
}

/* More than a record holds, in both directions. */
static void rediss_carries_long_pages(void **state)
{
    const uint16_t port = serve_from("127.0.0.1");
    char name[FENCE_RESOURCE_MAX + 1];
    for (unsigned i = 0; i < LOCKS; i++) {
        snprintf(name, sizeof(name), "long/%0200u", i);
        call_grant(port, name, "{\"ttl_ms\": 60000}");
    }
    const struct http_response *page =
        call(port, "GET", "/v1/locks?prefix=long/&limit=1000", NULL, NULL);
    EXPECT_JSON(page, 200, 2);
    assert_int_equal(json_array_size(json_object_get(page->json, "locks")), LOCKS);
}

static void rediss_connection_that_ends_is_opened_anew(void **state)
{
    const uint16_t port = serve_from("127.0.0.1");
    for (unsigned i = 0; i < MASTERS; i++)
        fleet_command(i, "CLIENT KILL TYPE normal");
    expect_locks(port);
    masters_wait_all_active(port, MASTERS);
}

static void rediss_master_that_asks_for_a_certificate_gets_it(void **state)
{
    secure_all("127.0.0.1", "yes");
    init_over_tls();
    masters_wait_out(serve_over_tls(), 0, "unreachable", LINE_TIMEOUT_MS);
    const char *const options[] = {FLEET_PROBE, "--master-ca",  ca_path,  "--master-cert",
                                   cert_path,   "--master-key", key_path, NULL};
    const uint16_t port = pawld_start(fleet, options).port;
    masters_wait_all_active(port, MASTERS);
    expect_locks(port);
}

static bool is_down(void *arg)
{
    const uint16_t *port = arg;
    return masters_is(*port, 0, "down", "unreachable") || masters_is(*port, 0, "down", "silent");
}

/* Master 0 changed after the fleet was made. It stays out, for @why; the others go on. */
static void expect_out(const char *why)
{
    uint16_t port = serve_over_tls();
    masters_wait(port, 1, "active", NULL);
    masters_wait(port, 2, "active", NULL);
    expect_locks(port);
    assert_true(wait_until(is_down, &port, MASTERS_WAIT_LONG_MS));
    const struct http_response *fleet_shown = call(port, "GET", "/v1/fleet", NULL, NULL);
    const json_t *master = json_array_get(json_object_get(fleet_shown->json, "masters"), 0);
    const char *said = json_string_value(json_object_get(master, "last_failure"));
    if (!said || !strstr(said, why))
        fail_msg("master 1 is not out for '%s', but: %s", why, said ? said : "nothing");
}

static void rediss_master_of_a_stranger_stays_out(void **state)
{
    secure_all("127.0.0.1", "no");
    init_over_tls();
    certify("theirs", "stranger");
    secure(0, "stranger", "127.0.0.1", "no");
    expect_out("its certificate is not trusted");
}

static void rediss_master_of_another_name_stays_out(void **state)
{
    secure_all("127.0.0.1", "no");
    init_over_tls();
    secure(0, "pawld", "127.0.0.1", "no");
    expect_out("its certificate is not trusted: IP address mismatch");
}

static void rediss_master_without_tls_stays_out(void **state)
{
    secure_all("127.0.0.1", "no");
    init_over_tls();
    char url[PATH_BYTES];
    snprintf(url, sizeof(url), "rediss://127.0.0.1:%u", (unsigned)fleet->master[0].port);
    redis_fleet_readdress(fleet, 0, url);
    expect_out(""); /* it waits for the end of a line, or answers with an error */
}

/* An authority of one's own takes the place of the system's, which does not know it. */
static void rediss_master_needs_an_authority(void **state)
{
    secure_all("127.0.0.1", "no");
    init_over_tls();
    const uint16_t port = fleet_serve_early().port;
    masters_wait(port, 0, "down", "unreachable");
}

#define REDISS_CASE(name) FLEET_CASE(name, MASTERS, REDIS_VOLATILE)

static const struct CMUnitTest cases[] = {
    REDISS_CASE(rediss_masters_grant_and_release),
    REDISS_CASE(rediss_master_may_have_a_name),
    REDISS_CASE(rediss_release_through_another_pawld_is_heard),
    cmocka_unit_test_prestate_setup_teardown(rediss_handshake_may_come_in_pieces, fleet_setup,
                                             stop_liars,
                                             &((struct fleet_wanted){MASTERS, REDIS_VOLATILE})),
    REDISS_CASE(rediss_connections_at_rest_take_no_time),
    REDISS_CASE(rediss_carries_long_pages),
    REDISS_CASE(rediss_connection_that_ends_is_opened_anew),
    REDISS_CASE(rediss_master_that_asks_for_a_certificate_gets_it),
    REDISS_CASE(rediss_master_of_a_stranger_stays_out),
    REDISS_CASE(rediss_master_of_another_name_stays_out),
    REDISS_CASE(rediss_master_without_tls_stays_out),
    REDISS_CASE(rediss_master_needs_an_authority),
};

CASE_MAIN(cases, NULL, NULL)
