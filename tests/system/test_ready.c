/* /readyz of a service that no call asks for locks: it follows what happens to its masters. */
#include "tests/lib/case.h"
#include "tests/lib/wait.h"
#include "tests/system/calls.h"
#include "tests/system/fleet.h"
#include "tests/system/masters.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

enum {
    MASTERS = 3,
    FAILING = 2,                     /* a majority, from the first on */
    NOTICED_MS = 2000,               /* from what happened to what /readyz says */
    TTL_MAX_MS = 200,                /* pawld init --token-floor waits that long */
    STEADY_MS = 12 * FLEET_PROBE_MS, /* several probes, and handshakes */
    DISK_BYTES = 4 << 20             /* for a master: more than it needs */
};

static uint16_t port;

static bool is_ready_status(void *arg)
{
    const int *status = arg;
    return call(port, "GET", "/readyz", NULL, NULL)->status == *status;
}

static void expect_noticed(int status)
{
    if (!wait_until(is_ready_status, &status, NOTICED_MS))
        fail_msg("/readyz is not %d within %d ms: %s", status, NOTICED_MS,
                 call(port, "GET", "/v1/fleet", NULL, NULL)->body);
}

/* The shown readiness is that of /readyz, and does not come and go. */
static void expect_steadily_unready(void)
{
    const uint64_t began_ms = wait_now_ms();
    while (wait_now_ms() - began_ms < STEADY_MS) {
        EXPECT_PROBLEM(call(port, "GET", "/readyz", NULL, NULL), 503, "not-ready", 0);
        assert_false(http_boolean(call(port, "GET", "/v1/fleet", NULL, NULL), "ready"));
        wait_ms(20);
    }
}

static void on_failing(const char *command)
{
    for (unsigned i = 0; i < FAILING; i++)
        fleet_command(i, command);
}

static void serve(void)
{
    port = fleet_init_and_serve(TTL_MAX_MS).port;
    wait_ms(200); /* nothing is under way any more */
}

struct fault {
    const char *harm, *mend;
};

static void idle_service_is_not_ready_until_a_majority_is_mended(void **state)
{
    const struct fault *fault = *state;
    serve();
    on_failing(fault->harm);
    expect_noticed(503);
    expect_steadily_unready();
    on_failing(fault->mend);
    expect_noticed(200);
    masters_wait_all_active(port, MASTERS);
    call_grant(port, "afterwards", NULL);
}

static void unready_service_names_maxmemory_where_that_is_it(void **state)
{
    serve();
    on_failing("CONFIG SET maxmemory 1");
    expect_noticed(503);
    const struct http_response *response = call(port, "GET", "/readyz", NULL, NULL);
    assert_non_null(strstr(http_string(response, "detail"), "maxmemory"));
    assert_int_equal(masters_active(port), MASTERS); /* they release, and look at, what is held */
}

static void one_master_without_memory_takes_nothing_from_readiness(void **state)
{
    serve();
    fleet_command(0, "CONFIG SET maxmemory 1");
    wait_ms(STEADY_MS);
    assert_int_equal(call(port, "GET", "/readyz", NULL, NULL)->status, 200);
    call_grant(port, "afterwards", NULL);
}

/* A replica has forgotten what its master had not sent yet, also once it is promoted. So a majority
 * of them has lost its memory, and only an operator can have it go on. */
static void idle_service_is_not_ready_while_a_majority_are_replicas(void **state)
{
    serve();
    on_failing("REPLICAOF 127.0.0.1 1");
    expect_noticed(503);
    expect_steadily_unready();
    masters_wait(port, 0, "refused", "replica");
    on_failing("REPLICAOF NO ONE");
    assert_int_equal(pawl_init(fleet, (const char *const[]){"--token-floor", "0", NULL}), 0);
    expect_noticed(200);
}

/* A small disk of its own for each of those that are to fail, seen by this process and its children
 * alone. */
static void give_disks(void)
{
    if (unshare(CLONE_NEWNS) != 0)
        case_skip("it needs a mount namespace, and so root");
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        case_skip("the system does not let this process keep its mounts to itself");
    char size[32];
    snprintf(size, sizeof(size), "size=%d", DISK_BYTES);
    for (unsigned i = 0; i < FAILING; i++) {
        redis_fleet_kill(fleet, i);
        if (mount("tmpfs", fleet->master[i].dir, "tmpfs", 0, size) != 0)
            case_skip("the system does not let this process mount a tmpfs");
        redis_fleet_restart(fleet, i, true);
    }
}

static int take_disks(void **state)
{
    for (unsigned i = 0; i < FAILING; i++) {
        redis_fleet_kill(fleet, i);
        (void)umount2(fleet->master[i].dir, MNT_DETACH);
    }
    return fleet_teardown(state);
}

static void path_of_filler(unsigned i, char *ret_path, size_t size)
{
    snprintf(ret_path, size, "%s/filler", fleet->master[i].dir);
}

/* Up to its last byte. */
static void fill_disk(unsigned i)
{
    static const char zeros[4096];
    char path[512];
    path_of_filler(i, path, sizeof(path));
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    for (size_t n = sizeof(zeros); n > 0;)
        if (write(fd, zeros, n) < 0)
            n /= 2;
    close(fd);
}

static void free_disk(unsigned i)
{
    char path[512];
    path_of_filler(i, path, sizeof(path));
    assert_int_equal(unlink(path), 0);
}

/* Under appendfsync everysec it goes on, and refuses writes (MISCONF). */
static void idle_service_is_not_ready_while_disks_are_full_on_a_majority(void **state)
{
    give_disks();
    serve();
    for (unsigned i = 0; i < FAILING; i++)
        fill_disk(i);
    expect_noticed(503);
    expect_steadily_unready();
    masters_wait(port, 0, "down", "unwilling");
    for (unsigned i = 0; i < FAILING; i++)
        free_disk(i);
    expect_noticed(200);
    call_grant(port, "afterwards", NULL);
}

/* Under appendfsync always it ends itself at the next write. */
static void idle_service_is_not_ready_after_full_disks_ended_a_majority(void **state)
{
    give_disks();
    serve();
    for (unsigned i = 0; i < FAILING; i++)
        fill_disk(i);
    expect_noticed(503);
    expect_steadily_unready();
    masters_wait(port, 0, "down", "unreachable");
    for (unsigned i = 0; i < FAILING; i++) {
        free_disk(i);
        redis_fleet_kill(fleet, i);
        redis_fleet_restart(fleet, i, true);
    }
    expect_noticed(200);
    call_grant(port, "afterwards", NULL);
}

#define READY_CASE(name) FLEET_CASE(name, MASTERS, REDIS_ALWAYS)
#define UNREADY(name, ...)                                                                         \
    FLEET_ROW(#name, idle_service_is_not_ready_until_a_majority_is_mended, MASTERS, REDIS_ALWAYS,  \
              &((struct fault){__VA_ARGS__}))
#define DISK_CASE(name, persistence)                                                               \
    cmocka_unit_test_prestate_setup_teardown(name, fleet_setup, take_disks,                        \
                                             &((struct fleet_wanted){MASTERS, persistence}))

static const struct CMUnitTest cases[] = {
    UNREADY(idle_service_is_not_ready_while_a_majority_may_not_run_scripts,
            "ACL SETUSER default -@scripting", "ACL SETUSER default +@scripting"),
    UNREADY(idle_service_is_not_ready_while_a_majority_may_not_run_this_script,
            "ACL SETUSER default -evalsha", "ACL SETUSER default +evalsha"),
    UNREADY(idle_service_is_not_ready_while_a_majority_may_not_count,
            "ACL SETUSER default -hincrby", "ACL SETUSER default +hincrby"),
    UNREADY(idle_service_is_not_ready_while_a_majority_may_not_lock, "ACL SETUSER default -set",
            "ACL SETUSER default +set"),
    UNREADY(idle_service_is_not_ready_while_a_majority_wants_replicas,
            "CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0"),
    UNREADY(idle_service_is_not_ready_while_memory_is_out_on_a_majority, "CONFIG SET maxmemory 1",
            "CONFIG SET maxmemory 0"),
    READY_CASE(unready_service_names_maxmemory_where_that_is_it),
    READY_CASE(one_master_without_memory_takes_nothing_from_readiness),
    READY_CASE(idle_service_is_not_ready_while_a_majority_are_replicas),
    DISK_CASE(idle_service_is_not_ready_while_disks_are_full_on_a_majority, REDIS_EVERYSEC),
    DISK_CASE(idle_service_is_not_ready_after_full_disks_ended_a_majority, REDIS_ALWAYS),
};

CASE_MAIN(cases, NULL, NULL)
