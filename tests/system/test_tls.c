/* Masters behind TLS, by a stunnel on each side, as server/RUN.md says. */
#include "tests/lib/case.h"
#include "tests/lib/port.h"
#include "tests/lib/process.h"
#include "tests/system/calls.h"
#include "tests/system/certificates.h"
#include "tests/system/fleet.h"
#include "tests/system/masters.h"

#include <stdio.h>

enum {
    MASTERS = 3,
    TTL_MAX_MS = 60000,
    LINE_TIMEOUT_MS = 10000,
    PATH_BYTES = 256,
};

struct tunnel {
    const char *name; /* its own certificate */
    uint16_t from, to;
    const char *more; /* more of its settings */
};

/* Believes whom the authority "ours" signed, and no other. */
static void open_tunnel(const struct tunnel *tunnel)
{
    char path[PATH_BYTES], log[PATH_BYTES];
    snprintf(path, sizeof(path), "%s/%u.conf", fleet->dir, (unsigned)tunnel->from);
    snprintf(log, sizeof(log), "%s/%u.log", fleet->dir, (unsigned)tunnel->from);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fprintf(file,
            "foreground = yes\npid =\n[master]\naccept = 127.0.0.1:%u\n"
            "connect = 127.0.0.1:%u\ncert = %s/%s.pem\nkey = %s/%s.key\nCAfile = %s/ours.pem\n"
            "verifyChain = yes\nTIMEOUTclose = 0\n%s",
            (unsigned)tunnel->from, (unsigned)tunnel->to, fleet->dir, tunnel->name, fleet->dir,
            tunnel->name, fleet->dir, tunnel->more);
    assert_int_equal(fclose(file), 0);
    const char *const argv[] = {"stunnel", path, NULL};
    process_wait_line(process_start(argv, log), "Configuration successful", LINE_TIMEOUT_MS, NULL,
                      0);
}

/* Master @i is reached over TLS from now on. At its side the certificate is that of @name. */
static void tunnel_to(unsigned i, const char *name)
{
    const uint16_t there = port_free(), here = port_free();
    char url[PATH_BYTES];
    open_tunnel(&(struct tunnel){name, there, fleet->master[i].port, ""});
    open_tunnel(&(struct tunnel){"pawld", here, there, "client = yes\ncheckHost = redis\n"});
    snprintf(url, sizeof(url), "redis://127.0.0.1:%u", (unsigned)here);
    redis_fleet_readdress(fleet, i, url);
}

static void certify_both_sides(void)
{
    certify("ours", "pawld");
    certify("ours", "redis");
}

static void masters_are_reached_through_tunnels(void **state)
{
    fleet_init(TTL_MAX_MS);
    certify_both_sides();
    for (unsigned i = 0; i < MASTERS; i++)
        tunnel_to(i, "redis");
    const uint16_t port = fleet_serve().port;
    masters_wait_all_active(port, MASTERS);
    struct grant grant = call_grant(port, "orders", NULL);
    call_keep(port, "orders", &grant, NULL);
    EXPECT_PROBLEM(call_acquire(port, "orders", NULL), 409, "held", 3);
    call_give_back(port, "orders", &grant);
    assert_true(call_grant(port, "orders", NULL).token > grant.token);
}

/* Master 0 shows the certificate of @name, and is not believed. */
static void expect_refused(const char *name)
{
    tunnel_to(0, name);
    tunnel_to(1, "redis");
    tunnel_to(2, "redis");
    const uint16_t port = fleet_serve().port;
    masters_wait(port, 1, "active", NULL);
    masters_wait(port, 2, "active", NULL);
    call_grant(port, "orders", NULL);
    masters_wait(port, 0, "down", "unreachable");
}

static void master_with_the_certificate_of_a_stranger_stays_out(void **state)
{
    fleet_init(TTL_MAX_MS);
    certify_both_sides();
    certify("theirs", "stranger");
    expect_refused("stranger");
}

static void master_with_the_certificate_of_another_name_stays_out(void **state)
{
    fleet_init(TTL_MAX_MS);
    certify_both_sides();
    expect_refused("pawld");
}

static const struct CMUnitTest cases[] = {
    FLEET_CASE(masters_are_reached_through_tunnels, MASTERS, REDIS_VOLATILE),
    FLEET_CASE(master_with_the_certificate_of_a_stranger_stays_out, MASTERS, REDIS_VOLATILE),
    FLEET_CASE(master_with_the_certificate_of_another_name_stays_out, MASTERS, REDIS_VOLATILE),
};

CASE_MAIN(cases, NULL, NULL)
