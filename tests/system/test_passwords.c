/* Masters whose password is changed while pawld serves: the file is read again at SIGHUP, and no
 * lock is lost. */
#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/lib/wait.h"
#include "tests/system/calls.h"
#include "tests/system/fleet.h"
#include "tests/system/masters.h"
#include "tests/system/workdir.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MASTERS = 3,
    TTL_MAX_MS = 60000,
    LINE_MS = 10000,
    LOADS = 4,       /* clients, each with its own name */
    LOAD_MS = 300,   /* for calls between two changes */
    TRIES = 100,     /* of a release */
    BACK_MS = 1000,  /* from the new file on until all masters vote */
    BUSY_MS = 10000, /* the same where nothing is measured */
    PATH_BYTES = 256,
};

static struct pawl_service pawld;
static redisContext *admin[MASTERS]; /* connections that stand through all changes */
static char password_file[PATH_BYTES];

/* NOLINTNEXTLINE(cert-dcl50-cpp): hiredis formats it */
static void command(unsigned i, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    redisReply *reply = redisvCommand(admin[i], format, args);
    va_end(args);
    assert_non_null(reply);
    if (reply->type == REDIS_REPLY_ERROR)
        fail_msg("master %u refuses %s: %s", i + 1, format, reply->str);
    freeReplyObject(reply);
}

static void command_all(const char *format, const char *argument)
{
    for (unsigned i = 0; i < MASTERS; i++)
        command(i, format, argument);
}

/* Ends all connections to master @i but that of this test. */
static void cut_connections(unsigned i)
{
    command(i, "CLIENT KILL TYPE pubsub");
    command(i, "CLIENT KILL TYPE normal SKIPME yes");
}

static void cut_all_connections(void)
{
    for (unsigned i = 0; i < MASTERS; i++)
        cut_connections(i);
}

/* As an operator should: the new file takes the place of the old one as a whole. */
static void write_password(const char *text)
{
    char beside[PATH_BYTES + 8];
    (void)snprintf(beside, sizeof(beside), "%s.new", password_file);
    workdir_write(beside, text);
    assert_int_equal(rename(beside, password_file), 0);
}

static void reload_and_expect(const char *line)
{
    process_signal(pawld.process, SIGHUP);
    process_wait_line(pawld.process, line, LINE_MS, NULL, 0);
}

#define RELOADED "reloaded: password of the masters"

static int setup(void **state)
{
    fleet_start(MASTERS, REDIS_VOLATILE);
    for (unsigned i = 0; i < MASTERS; i++) {
        admin[i] = redisConnect("127.0.0.1", fleet->master[i].port);
        assert_non_null(admin[i]);
        assert_int_equal(admin[i]->err, 0);
    }
    (void)snprintf(password_file, sizeof(password_file), "%s/password", fleet->dir);
    write_password("old\n");
    return 0;
}

static int teardown(void **state)
{
    for (unsigned i = 0; i < MASTERS; i++)
        redisFree(admin[i]);
    return fleet_teardown(state);
}

/* A fleet, and a service that has the password from the file. */
static void serve(void)
{
    char ttl[16];
    (void)snprintf(ttl, sizeof(ttl), "%d", TTL_MAX_MS);
    const char *const made[] = {
        "--new", "--max-ttl-ms", ttl, "--master-password-file", password_file, NULL};
    const char *const served[] = {"--master-password-file",
                                  password_file,
                                  "--master-deadline-ms",
                                  "1000",
                                  "--workers",
                                  "2",
                                  FLEET_PROBE,
                                  NULL};
    assert_int_equal(pawl_init(fleet, made), 0);
    pawld = pawld_start(fleet, served);
    fleet_wait_workers(pawld, 2);
}

static void wait_all_active_within(unsigned timeout_ms)
{
    for (unsigned i = 0; i < MASTERS; i++)
        masters_wait_within(pawld.port, i, "active", NULL, timeout_ms);
}

struct load {
    pthread_t thread;
    unsigned name;
    atomic_bool stop;
    bool cuts; /* connections to masters are cut meanwhile: a call may find no majority */
    unsigned calls;
    int failed; /* the status of the first answer that it must not get; 0: none */
};

static struct load loads[LOADS];

/* A lock that no other caller wants is never lost, also where connections are cut. */
static bool is_well(const struct load *load, const char *method, int status)
{
    return status == 200 || status == 201 || (load->cuts && status == 503) ||
           (load->cuts && status == 409 && strcmp(method, "POST") == 0);
}

static void ask(struct load *load, struct http *http, const char *method, const char *headers,
                struct http_response *ret_response)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/v1/locks/load-%u", load->name);
    http_request(http, method, path, headers, NULL, ret_response);
    load->calls++;
    if (load->failed == 0 && !is_well(load, method, ret_response->status))
        load->failed = ret_response->status;
}

/* One lock from its acquire over its extension to its release. */
static void go_round(struct load *load, struct http *http)
{
    struct http_response response;
    char headers[128];
    ask(load, http, "POST", NULL, &response);
    const bool granted = response.status == 201;
    if (granted)
        (void)snprintf(headers, sizeof(headers), "Lock-Id: %s\r\nFencing-Token: %lld\r\n",
                       http_string(&response, "lock_id"),
                       (long long)http_integer(&response, "token"));
    http_response_fini(&response);
    if (!granted)
        return;
    ask(load, http, "PATCH", headers, &response);
    http_response_fini(&response);
    strchr(headers, '\n')[1] = '\0'; /* the lock id alone */
    int status = 503;
    for (int i = 0; i < TRIES && status == 503; i++) {
        ask(load, http, "DELETE", headers, &response);
        status = response.status;
        http_response_fini(&response);
    }
}

static void *run_load(void *context)
{
    struct load *load = context;
    struct http *http = http_connect(pawld.port);
    while (!atomic_load(&load->stop) && load->failed == 0)
        go_round(load, http);
    http_close(http);
    return NULL;
}

static void begin_load(bool cuts)
{
    for (unsigned i = 0; i < LOADS; i++) {
        loads[i] = (struct load){.name = i, .cuts = cuts};
        assert_int_equal(pthread_create(&loads[i].thread, NULL, run_load, &loads[i]), 0);
    }
}

static void end_load_and_expect_success(void)
{
    for (unsigned i = 0; i < LOADS; i++)
        atomic_store(&loads[i].stop, true);
    for (unsigned i = 0; i < LOADS; i++) {
        assert_int_equal(pthread_join(loads[i].thread, NULL), 0);
        assert_int_equal(loads[i].failed, 0);
        assert_in_range(loads[i].calls, 3, UINT32_MAX);
    }
}

/* The kept lock is the same one all the time. */
static void expect_kept(struct grant *kept)
{
    const int64_t token = kept->token;
    call_keep(pawld.port, "kept", kept, NULL);
    assert_true(kept->token == token);
}

/* Returns a lock that is held. */
static struct grant serve_with_the_old_password(void)
{
    command_all("CONFIG SET requirepass %s", "old");
    serve();
    return call_grant(pawld.port, "kept", "{\"ttl_ms\": 60000}");
}

/* The file first: each master is asked with the password that it takes, before it has the new one
 * and after, though all connections end in between. */
static void password_of_all_masters_changes_under_load(void **state)
{
    struct grant kept = serve_with_the_old_password();
    begin_load(true);
    write_password("new\n");
    reload_and_expect(RELOADED);
    for (unsigned i = 0; i < MASTERS; i++) {
        cut_connections(i);
        wait_all_active_within(BUSY_MS);
        command(i, "CONFIG SET requirepass %s", "new");
        cut_connections(i);
        wait_all_active_within(BUSY_MS);
        expect_kept(&kept);
    }
    end_load_and_expect_success();
}

/* The masters first: connections that stand go on. */
static void connection_goes_on_when_its_master_changes_the_password(void **state)
{
    struct grant kept = serve_with_the_old_password();
    for (unsigned i = 0; i < MASTERS; i++) {
        command(i, "CONFIG SET requirepass %s", "new");
        expect_kept(&kept);
    }
    write_password("new\n");
    reload_and_expect(RELOADED);
    wait_all_active_within(BUSY_MS);
    for (unsigned i = 0; i < MASTERS; i++) {
        cut_connections(i);
        wait_all_active_within(BUSY_MS);
        expect_kept(&kept);
    }
}

static void master_that_refused_the_old_password_votes_within_a_second(void **state)
{
    struct grant kept = serve_with_the_old_password();
    command_all("CONFIG SET requirepass %s", "new");
    cut_all_connections();
    for (unsigned i = 0; i < MASTERS; i++)
        masters_wait_out(pawld.port, i, "error", BUSY_MS);
    write_password("new\n");
    const uint64_t from_ms = wait_now_ms();
    reload_and_expect(RELOADED);
    wait_all_active_within(BACK_MS);
    print_message("all vote %u ms after the signal\n", (unsigned)(wait_now_ms() - from_ms));
    expect_kept(&kept);
}

/* It may change under the user of an access control list, too, whose old password goes on. */
static void password_of_a_user_changes(void **state)
{
    char url[PATH_BYTES];
    command_all("ACL SETUSER pawl on >%s ~pawl:* &pawl:* +@all", "old");
    for (unsigned i = 0; i < MASTERS; i++) {
        (void)snprintf(url, sizeof(url), "redis://pawl:@127.0.0.1:%u",
                       (unsigned)fleet->master[i].port);
        redis_fleet_readdress(fleet, i, url);
    }
    serve();
    struct grant kept = call_grant(pawld.port, "kept", "{\"ttl_ms\": 60000}");
    begin_load(false);
    command_all("ACL SETUSER pawl >%s", "new");
    write_password("new\n");
    reload_and_expect(RELOADED);
    command_all("ACL SETUSER pawl <%s", "old");
    wait_ms(LOAD_MS);
    end_load_and_expect_success();
    cut_all_connections();
    wait_all_active_within(BUSY_MS);
    expect_kept(&kept);
}

static void broken_file_keeps_the_old_password(void **state)
{
    command_all("CONFIG SET requirepass %s", "old");
    serve();
    write_password("ne");
    reload_and_expect("the password of the masters was not reloaded: .*password: .*truncated");
    reload_and_expect("not reloaded: password of the masters");
    write_password("\n");
    reload_and_expect("the password of the masters was not reloaded: .*password: .*is empty");
    assert_int_equal(unlink(password_file), 0);
    reload_and_expect("the password of the masters was not reloaded: .*password: cannot read it");
    assert_int_equal(mkfifo(password_file, 0600), 0); /* it is not waited for */
    process_signal(pawld.process, SIGHUP);
    wait_ms(LOAD_MS); /* a signal that comes before the first one is read counts once */
    cut_all_connections();
    wait_all_active_within(BUSY_MS);
    write_password("old\n");
    reload_and_expect(RELOADED);
}

/* The file came too early: no vote is lost, and the log names each master. */
static void password_that_masters_refuse_costs_no_vote(void **state)
{
    struct grant kept = serve_with_the_old_password();
    begin_load(false);
    write_password("too early\n");
    process_signal(pawld.process, SIGHUP);
    for (unsigned i = 1; i <= MASTERS; i++) {
        char line[64];
        (void)snprintf(line, sizeof(line),
                       "master %u .* does not accept the new password yet.*WRONGPASS", i);
        process_wait_line(pawld.process, line, LINE_MS, NULL, 0);
    }
    wait_ms(LOAD_MS);
    command_all("CONFIG SET requirepass %s", "too early");
    end_load_and_expect_success();
    assert_int_equal(masters_active(pawld.port), MASTERS);
    cut_all_connections();
    wait_all_active_within(BUSY_MS);
    expect_kept(&kept);
}

/* A password of a URL stays as it is. */
static void password_of_a_url_is_not_of_the_file(void **state)
{
    char url[PATH_BYTES];
    command_all("CONFIG SET requirepass %s", "old");
    command(0, "CONFIG SET requirepass fixed");
    (void)snprintf(url, sizeof(url), "redis://:fixed@127.0.0.1:%u",
                   (unsigned)fleet->master[0].port);
    redis_fleet_readdress(fleet, 0, url);
    serve();
    command(1, "CONFIG SET requirepass new");
    command(2, "CONFIG SET requirepass new");
    write_password("new\n");
    reload_and_expect(RELOADED);
    cut_all_connections();
    wait_all_active_within(BUSY_MS);
    assert_false(process_wrote(pawld.process, "does not accept the new password"));
}

#define PASSWORD_CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest cases[] = {
    PASSWORD_CASE(password_of_all_masters_changes_under_load),
    PASSWORD_CASE(connection_goes_on_when_its_master_changes_the_password),
    PASSWORD_CASE(master_that_refused_the_old_password_votes_within_a_second),
    PASSWORD_CASE(password_of_a_user_changes),
    PASSWORD_CASE(broken_file_keeps_the_old_password),
    PASSWORD_CASE(password_that_masters_refuse_costs_no_vote),
    PASSWORD_CASE(password_of_a_url_is_not_of_the_file),
};

CASE_MAIN(cases, NULL, NULL)
