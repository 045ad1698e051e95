/* Files of certificates: what is told of bad ones, and reading them again while clients are
 * served. */
#include "tests/lib/case.h"
#include "tests/lib/pawl.h"
#include "tests/lib/process.h"
#include "tests/lib/text.h"
#include "tests/lib/tls.h"
#include "tests/lib/wait.h"
#include "tests/system/https/https.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    TIMEOUT_MS = 20000,
    PATH_BYTES = HTTPS_PATH_BYTES,
    COMMAND_BYTES = 2048,
    NAME_BYTES = 64,
    CROWD = 8,
    RELOADS = 10,
};

static void files_that_cannot_be_used_are_told(void **state)
{
    char ca[PATH_BYTES];
    (void)snprintf(ca, sizeof(ca), "%s/no.pem", https.folder);
    https_shell(https.folder, "rm cert.pem key.pem");
    https_expect_no_start(NULL, 1, "No such file");
    https_install("first", "second");
    https_expect_no_start(NULL, 1, "does not match");
    https_install("old-service", "old-service");
    https_expect_no_start(NULL, 1, "has expired");
    https_install("early-service", "early-service");
    https_expect_no_start(NULL, 1, "not valid yet");
    https_install("first", "first");
    https_expect_no_start((const char *const[]){"--tls-client-ca", ca, NULL}, 1, "No such file");
    https_expect_no_start((const char *const[]){"--tls-client-ca", https.key, NULL}, 1,
                          "no certificate");
    https_expect_no_start((const char *const[]){"--tls-client", "maybe", NULL}, 2, "--tls-client");
    assert_int_equal(access(https.data, F_OK), -1); /* nothing was made */
}

static void options_that_lack_each_other_are_told(void **state)
{
    char *program = pawl_program("pawld");
    const char *const lacking[][2] = {
        {"--tls-cert", https.cert}, {"--tls-key", https.key}, {"--tls-client-ca", https.ca}};
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(
            process_run((const char *const[]){program, "--data", https.data, "--listen",
                                              "127.0.0.1:0", lacking[i][0], lacking[i][1], NULL},
                        https.log, TIMEOUT_MS),
            2);
    assert_int_equal(process_run((const char *const[]){program, "--data", https.data, "--listen",
                                                       "https://127.0.0.1:0", NULL},
                                 https.log, TIMEOUT_MS),
                     2);
    char *said = text_read(https.log, 0);
    assert_non_null(strstr(said, "needs --tls-cert"));
    free(said);
    free(program);
}

static void expect_shown(const char *cn)
{
    char name[NAME_BYTES] = "";
    struct http *http = https_connect(NULL, NULL);
    assert_non_null(http);
    http_peer(http, name, sizeof(name));
    assert_string_equal(name, cn);
    assert_int_equal(https_ask(http), 200);
}

static void reload(const char *line)
{
    char *before = text_read(https.log, 0);
    const size_t had = strlen(before);
    free(before);
    process_signal(https.pawld, SIGHUP);
    for (int i = 0; i < TIMEOUT_MS / 10; i++) {
        char *since = text_read(https.log, (off_t)had);
        const bool told = strstr(since, line) != NULL;
        free(since);
        if (told)
            return;
        wait_ms(10);
    }
    fail_msg("no line with %s", line);
}

static void bad_files_leave_the_old_ones(void **state)
{
    char ca[PATH_BYTES], command[COMMAND_BYTES];
    (void)snprintf(ca, sizeof(ca), "%s/clients.pem", https.folder);
    (void)snprintf(command, sizeof(command), "cp %s clients.pem", https.ca);
    https_shell(https.folder, command);
    https_serve((const char *const[]){"--tls-client-ca", ca, "--tls-client", "optional", NULL});
    https_install("second", "first");
    reload("the certificates were not reloaded: the key ");
    expect_shown("first");
    https_install("old-service", "old-service");
    reload("has expired");
    expect_shown("first");
    https_install("second", "second");
    https_shell(https.folder, "rm key.pem");
    reload("No such file");
    expect_shown("first");
    https_shell(https.folder, "echo nonsense > cert.pem");
    reload("it is not a certificate");
    https_install("second", "second");
    https_shell(https.folder, "echo nonsense > clients.pem");
    reload("the client CA");
    expect_shown("first");
    assert_int_equal(https_ask(https_connect("app", NULL)), 200);
    https_shell(https.folder, command);
    reload("reloaded: certificates");
    expect_shown("second");
}

/* A chain that is cut between two certificates is whole as far as anybody can see, but for what it
 * was before. */
static void chain_that_lost_its_authority_leaves_the_old_one(void **state)
{
    https_shell(https.certs,
                "{ test -e between.pem || openssl req -x509 -newkey ec -pkeyopt "
                "ec_paramgen_curve:prime256v1 -noenc -days 2 -CA theirs.pem -CAkey theirs.key "
                "-keyout between.key -out between.pem -subj /CN=between " TLS_AUTHORITY "; }");
    https_certify("chained", "between", "chained", TLS_SERVICE);
    https_certify("next", "between", "next", TLS_SERVICE);
    https_install("chained", "chained");
    https_shell(https.folder, "cp cert.pem leaf.pem");
    char command[COMMAND_BYTES];
    (void)snprintf(command, sizeof(command), "cat leaf.pem %s/between.pem >cert.pem", https.certs);
    https_shell(https.folder, command);
    https_serve(NULL);
    https_install("next", "next");
    reload("the intermediate CA is missing, but the old file had it");
    (void)snprintf(command, sizeof(command), "cat %s/between.pem >>cert.pem", https.certs);
    https_shell(https.folder, command);
    reload("reloaded: certificates");
    https_install("first", "first"); /* signed by another authority: nothing is missing */
    reload("reloaded: certificates");
}

/* Another authority of clients holds for those that come later. */
static void authority_of_clients_is_read_again(void **state)
{
    char ca[PATH_BYTES], command[COMMAND_BYTES];
    (void)snprintf(ca, sizeof(ca), "%s/clients.pem", https.folder);
    (void)snprintf(command, sizeof(command), "cp %s/theirs.pem clients.pem", https.certs);
    https_shell(https.folder, command);
    https_serve((const char *const[]){"--tls-client-ca", ca, NULL});
    struct http *stays = https_connect("stranger", NULL);
    assert_int_equal(https_ask(https_connect("app", NULL)), 0);
    assert_int_equal(https_ask(https_connect("stranger", NULL)), 200);
    (void)snprintf(command, sizeof(command), "cp %s clients.pem", https.ca);
    https_shell(https.folder, command);
    reload("reloaded: certificates");
    assert_int_equal(https_ask(https_connect("app", NULL)), 200);
    assert_int_equal(https_ask(https_connect("stranger", NULL)), 0);
    assert_int_equal(https_ask(stays), 200);
}

static atomic_bool over;
static atomic_uint asked, dropped;

/* Keeps one connection for the whole test. */
static void *keep_asking(void *unused)
{
    struct http *http = https_connect(NULL, NULL);
    while (!atomic_load(&over)) {
        struct http_response response;
        http_request(http, "GET", "/livez", NULL, NULL, &response);
        atomic_fetch_add(&asked, 1);
        atomic_fetch_add(&dropped, response.status != 200);
        http_response_fini(&response);
    }
    http_close(http);
    return NULL;
}

static void reload_under_load_drops_nobody(void **state)
{
    pthread_t crowd[CROWD];
    https_serve((const char *const[]){"--workers", "2", NULL});
    atomic_store(&over, false);
    atomic_store(&asked, 0);
    atomic_store(&dropped, 0);
    for (int i = 0; i < CROWD; i++)
        assert_int_equal(pthread_create(&crowd[i], NULL, keep_asking, NULL), 0);
    for (int i = 1; i <= RELOADS; i++) {
        const char *now = i % 2 ? "second" : "first";
        https_install(now, now);
        reload("reloaded: certificates");
        expect_shown(now);
        expect_shown(now);
    }
    atomic_store(&over, true);
    for (int i = 0; i < CROWD; i++)
        assert_int_equal(pthread_join(crowd[i], NULL), 0);
    assert_int_equal(atomic_load(&dropped), 0);
    assert_true(atomic_load(&asked) > CROWD * RELOADS);
}

static const struct CMUnitTest cases[] = {
    HTTPS_CASE(files_that_cannot_be_used_are_told),
    HTTPS_CASE(options_that_lack_each_other_are_told),
    HTTPS_CASE(bad_files_leave_the_old_ones),
    HTTPS_CASE(chain_that_lost_its_authority_leaves_the_old_one),
    HTTPS_CASE(authority_of_clients_is_read_again),
    HTTPS_CASE(reload_under_load_drops_nobody),
};

CASE_MAIN(cases, https_make_certificates, https_remove_certificates)
