/* TLS on pawld's own ports: who is believed, what is refused, and certificates that are read again
 * while clients are served. */
#include "tests/lib/case.h"
#include "tests/lib/pawl.h"
#include "tests/lib/port.h"
#include "tests/lib/process.h"
#include "tests/lib/tempdir.h"
#include "tests/lib/text.h"
#include "tests/lib/tls.h"
#include "tests/lib/wait.h"
#include "tests/system/calls.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    TIMEOUT_MS = 20000,
    PATH_BYTES = 256,
    COMMAND_BYTES = 2048,
    NAME_BYTES = 64,
    ARGS_MAX = 24,
    BODY_MAX = 64 * 1024,
    CROWD = 8,
    RELOADS = 10,
};

#define CN(text) "-subj /CN=" text
#define EC       "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc"
#define CLIENT   "-addext extendedKeyUsage=clientAuth"
#define SERVICE  "-addext subjectAltName=IP:127.0.0.1,DNS:localhost"

/* ---- certificates ---------------------------------------------------------------------------- */

static char *certs; /* folder, of all cases */

/* Runs a line of shell in the folder, which has to succeed. */
static void shell_in(const char *folder, const char *command)
{
    char line[COMMAND_BYTES], log[PATH_BYTES];
    (void)snprintf(line, sizeof(line), "cd %s && %s", folder, command);
    (void)snprintf(log, sizeof(log), "%s/shell.log", certs);
    const char *const argv[] = {"sh", "-c", line, NULL};
    if (process_run(argv, log, TIMEOUT_MS) != 0)
        fail_msg("%s failed; see %s", line, log);
}

/* A certificate <name>.pem with its key, signed by @authority, for @cn. @days: as openssl ca takes
 * them, "-days 2" or a range. */
static void certify_for(const char *name, const char *authority, const char *cn, const char *more)
{
    char command[COMMAND_BYTES];
    (void)snprintf(command, sizeof(command),
                   "openssl req -x509 " EC
                   " -days 2 -CA %s.pem -CAkey %s.key -keyout %s.key -out %s.pem -subj '/CN=%s' %s",
                   authority, authority, name, name, cn, more);
    shell_in(certs, command);
}

/* The same between two dates, as faketime would have it: openssl ca alone takes dates. */
static void certify_between(const char *name, const char *from, const char *to, const char *section)
{
    char command[COMMAND_BYTES];
    (void)snprintf(command, sizeof(command),
                   "openssl req -new " EC " -keyout %s.key -out %s.csr -subj /CN=%s && "
                   "openssl ca -batch -config ca.conf -extensions %s -startdate %s -enddate %s "
                   "-in %s.csr -out %s.pem -notext",
                   name, name, name, section, from, to, name, name);
    shell_in(certs, command);
}

#define PAST_FROM   "20200101000000Z"
#define PAST_TO     "20210101000000Z"
#define FUTURE_FROM "20900101000000Z"
#define FUTURE_TO   "20910101000000Z"

static const char ca_conf[] =
    "[ca]\ndefault_ca=d\n[d]\nnew_certs_dir=.\ndatabase=index.txt\n"
    "serial=serial\ncertificate=ours.pem\nprivate_key=ours.key\n"
    "default_md=sha256\npolicy=p\nunique_subject=no\n[p]\n"
    "commonName=supplied\n[service]\n"
    "subjectAltName=IP:127.0.0.1\n[client]\nextendedKeyUsage=clientAuth\n";

static void write_text(const char *name, const char *text)
{
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof(path), "%s/%s", certs, name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    (void)fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static int make_all(void **state)
{
    (void)state;
    certs = tempdir_new();
    write_text("ca.conf", ca_conf);
    write_text("index.txt", "");
    write_text("serial", "1000\n");
    shell_in(certs, "openssl req -x509 " EC " -days 2 -keyout ours.key -out ours.pem " CN("ours"));
    shell_in(certs,
             "openssl req -x509 " EC " -days 2 -keyout theirs.key -out theirs.pem " CN("ours"));
    certify_for("first", "ours", "first", SERVICE);
    certify_for("second", "ours", "second", SERVICE);
    certify_for("app", "ours", "orders-app", CLIENT);
    certify_for("plain", "ours", "no purpose", "");
    certify_for("stranger", "theirs", "orders-app", CLIENT);
    certify_for("server-only", "ours", "orders-app", "-addext extendedKeyUsage=serverAuth");
    certify_between("expired", PAST_FROM, PAST_TO, "client");
    certify_between("early", FUTURE_FROM, FUTURE_TO, "client");
    certify_between("old-service", PAST_FROM, PAST_TO, "service");
    certify_between("early-service", FUTURE_FROM, FUTURE_TO, "service");
    return 0;
}

static int remove_all(void **state)
{
    (void)state;
    tempdir_remove(certs);
    return 0;
}

/* ---- the service ----------------------------------------------------------------------------- */

static char *folder; /* of the case */
static char data_path[PATH_BYTES], log_path[PATH_BYTES];
static char cert_path[PATH_BYTES], key_path[PATH_BYTES], ca_path[PATH_BYTES];
static uint16_t port;
static struct process *pawld;

static int start(void **state)
{
    (void)state;
    folder = tempdir_new();
    (void)snprintf(data_path, sizeof(data_path), "%s/data", folder);
    (void)snprintf(log_path, sizeof(log_path), "%s/log", folder);
    (void)snprintf(cert_path, sizeof(cert_path), "%s/cert.pem", folder);
    (void)snprintf(key_path, sizeof(key_path), "%s/key.pem", folder);
    (void)snprintf(ca_path, sizeof(ca_path), "%s/ours.pem", certs);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    process_kill_all();
    tempdir_remove(folder);
    return 0;
}

/* What the service shows from its next reading on. */
static void install(const char *cert, const char *key)
{
    char command[COMMAND_BYTES];
    (void)snprintf(command, sizeof(command), "cp %s/%s.pem cert.pem && cp %s/%s.key key.pem", certs,
                   cert, certs, key);
    shell_in(folder, command);
}

static const char *const *arguments(const char *program, const char *listen,
                                    const char *const options[])
{
    static const char *args[ARGS_MAX + 1];
    const char *const common[] = {program,      "--data",  data_path,   "--listen", listen,
                                  "--tls-cert", cert_path, "--tls-key", key_path};
    unsigned count = sizeof(common) / sizeof(common[0]);
    memcpy(args, common, sizeof(common));
    for (; options != NULL && *options != NULL && count < ARGS_MAX; options++)
        args[count++] = *options;
    args[count] = NULL;
    return args;
}

static void serve(const char *const options[])
{
    char listen[32];
    char *program = pawl_program("pawld");
    port = port_free();
    (void)snprintf(listen, sizeof(listen), "127.0.0.1:%u", (unsigned)port);
    pawld = process_start(arguments(program, listen, options), log_path);
    process_wait_line(pawld, "votes$", TIMEOUT_MS, NULL, 0);
    free(program);
}

/* Where it is expected not to start; what it says has to have @words in it. */
static void expect_no_start(const char *const options[], int status, const char *words)
{
    char *program = pawl_program("pawld");
    (void)remove(log_path);
    assert_int_equal(process_run(arguments(program, "127.0.0.1:0", options), log_path, TIMEOUT_MS),
                     status);
    char *said = text_read(log_path, 0);
    if (strstr(said, words) == NULL)
        fail_msg("nothing about %s in %s", words, said);
    free(said);
    free(program);
}

static struct http *connect_as(const char *name, const char *priorities)
{
    char cert[PATH_BYTES], key[PATH_BYTES];
    struct tls_side side = {.ca = ca_path, .priorities = priorities};
    if (name != NULL) {
        (void)snprintf(cert, sizeof(cert), "%s/%s.pem", certs, name);
        (void)snprintf(key, sizeof(key), "%s/%s.key", certs, name);
        side.cert = cert;
        side.key = key;
    }
    return http_connect_tls(port, &side);
}

/* The status of the answer to GET /livez; 0: there is none. Closes. */
static int ask(struct http *http)
{
    struct http_response response;
    if (http == NULL)
        return 0;
    http_request(http, "GET", "/livez", NULL, NULL, &response);
    const int status = response.status;
    http_response_fini(&response);
    http_close(http);
    return status;
}

/* ---- serving --------------------------------------------------------------------------------- */

static void locks_are_granted_over_tls(void **state)
{
    struct http_response response;
    (void)state;
    install("first", "first");
    serve(NULL);
    assert_true(process_wrote(pawld, "listening on 127.0.0.1:[0-9]+, TLS$"));
    struct http *holder = connect_as(NULL, NULL);
    struct http *waiter = connect_as(NULL, NULL);
    http_request(holder, "POST", "/v1/locks/orders", NULL, "{\"ttl_ms\": 60000}", &response);
    struct grant grant = grant_of(&response);
    http_response_fini(&response);

    /* One that is parked, and is answered when the lock is released. */
    static const char wait[] = "POST /v1/locks/orders HTTP/1.1\r\nHost: localhost\r\n"
                               "Content-Length: 18\r\n\r\n{\"wait_ms\": 60000}";
    assert_true(http_send(waiter, wait, strlen(wait)));
    char headers[256];
    (void)snprintf(headers, sizeof(headers), "Lock-Id: %s\r\n", grant.lock_id);
    http_request(holder, "DELETE", "/v1/locks/orders", headers, NULL, &response);
    assert_int_equal(response.status, 200);
    http_response_fini(&response);
    http_receive(waiter, false, &response);
    assert_true(grant_of(&response).token > grant.token);
    http_response_fini(&response);
    http_close(holder);
    http_close(waiter);
    assert_int_equal(process_stop(pawld), 0);
}

static bool nobody_waits(void *arg)
{
    struct http_response response;
    http_request(arg, "GET", "/v1/fleet", NULL, NULL, &response);
    const bool none = http_integer(&response, "waiting") == 0;
    http_response_fini(&response);
    return none;
}

static bool somebody_waits(void *arg)
{
    return !nobody_waits(arg);
}

/* With a goodbye, and without. */
static void waiter_that_leaves_is_out_of_the_line(void **state)
{
    static const char wait[] = "POST /v1/locks/orders HTTP/1.1\r\nHost: localhost\r\n"
                               "Content-Length: 18\r\n\r\n{\"wait_ms\": 60000}";
    struct http_response response;
    (void)state;
    install("first", "first");
    serve(NULL);
    struct http *holder = connect_as(NULL, NULL);
    http_request(holder, "POST", "/v1/locks/orders", NULL, "{\"ttl_ms\": 60000}", &response);
    assert_int_equal(response.status, 201);
    http_response_fini(&response);
    for (int resets = 0; resets <= 1; resets++) {
        struct http *waiter = connect_as(NULL, NULL);
        assert_true(http_send(waiter, wait, strlen(wait)));
        assert_true(wait_until(somebody_waits, holder, TIMEOUT_MS));
        const struct linger now = {.l_onoff = 1};
        if (resets)
            (void)setsockopt(http_fd(waiter), SOL_SOCKET, SO_LINGER, &now, sizeof(now));
        http_close(waiter);
        assert_true(wait_until(nobody_waits, holder, TIMEOUT_MS));
    }
    http_close(holder);
    assert_int_equal(process_stop(pawld), 0);
}

/* A body of one record is 16 KiB at most: these come in several. */
static void bodies_of_any_size_are_read(void **state)
{
    static const size_t sizes[] = {1000, 16 * 1024 - 10, 16 * 1024 + 10, BODY_MAX, BODY_MAX + 1};
    static char body[BODY_MAX + 2];
    (void)state;
    install("first", "first");
    serve(NULL);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct http_response response;
        struct http *http = connect_as(NULL, NULL);
        memset(body, ' ', sizes[i]);
        memcpy(body, "{}", 2);
        body[sizes[i]] = '\0';
        http_request(http, "POST", "/v1/locks/a", NULL, body, &response);
        assert_int_equal(response.status, sizes[i] > BODY_MAX ? 413 : i == 0 ? 201 : 409);
        http_response_fini(&response);
        http_close(http);
    }
    assert_int_equal(process_stop(pawld), 0);
}

/* One record with many requests, more than the buffer of a connection: what GnuTLS has left is not
 * forgotten. */
static void requests_of_one_record_are_all_answered(void **state)
{
    enum {
        REQUESTS = 300
    };
    static const char one[] = "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n";
    static char all[REQUESTS * sizeof(one) + 1];
    (void)state;
    install("first", "first");
    serve(NULL);
    size_t len = 0;
    for (int i = 0; i < REQUESTS; i++)
        len += (size_t)snprintf(all + len, sizeof(all) - len, "%s", one);
    struct http *http = connect_as(NULL, NULL);
    assert_true(http_send(http, all, len));
    for (int i = 0; i < REQUESTS; i++) {
        struct http_response response;
        http_receive(http, false, &response);
        assert_int_equal(response.status, 200);
        http_response_fini(&response);
    }
    http_close(http);
    assert_int_equal(process_stop(pawld), 0);
}

/* Records that were there before the service looked: the kernel tells of them once. */
static void records_that_come_together_are_all_answered(void **state)
{
    enum {
        RECORDS = 100
    };
    static const char one[] = "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n";
    (void)state;
    install("first", "first");
    serve((const char *const[]){"--workers", "1", NULL});
    struct http *http = connect_as(NULL, NULL);
    for (int records = 1; records <= RECORDS; records += 11) {
        process_signal(pawld, SIGSTOP);
        for (int i = 0; i < records; i++)
            assert_true(http_send(http, one, strlen(one)));
        process_signal(pawld, SIGCONT);
        for (int i = 0; i < records; i++) {
            struct http_response response;
            http_receive(http, false, &response);
            assert_int_equal(response.status, 200);
            http_response_fini(&response);
        }
    }
    http_close(http);
    assert_int_equal(process_stop(pawld), 0);
}

/* The last answer of a connection, and the goodbye behind it. */
static void connection_ends_with_a_goodbye(void **state)
{
    static const char last[] =
        "GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    static const char bad[] = "GET /livez HTTP/1.1\r\nHost: localhost\r\n: x\r\n\r\n";
    char bytes[4096];
    (void)state;
    install("first", "first");
    serve(NULL);
    for (int i = 0; i < 2; i++) {
        struct http *http = connect_as(NULL, NULL);
        const char *request = i == 0 ? last : bad;
        assert_true(http_send(http, request, strlen(request)));
        ssize_t got = 1;
        size_t len = 0;
        while (got > 0) {
            got = http_receive_bytes(http, bytes + len, sizeof(bytes) - 1 - len);
            len += got > 0 ? (size_t)got : 0;
        }
        bytes[len] = '\0';
        assert_int_equal(strncmp(bytes, i == 0 ? "HTTP/1.1 200" : "HTTP/1.1 400", 12), 0);
        assert_int_equal(got, 0); /* and not a connection that was cut */
        http_close(http);
    }
    assert_int_equal(process_stop(pawld), 0);
}

static void plain_http_is_told_to_speak_tls(void **state)
{
    (void)state;
    install("first", "first");
    serve(NULL);
    const struct http_response *response = call(port, "POST", "/v1/locks/a", NULL, "{}");
    EXPECT_PROBLEM(response, 400, "invalid", 0);
    assert_non_null(strstr(http_string(response, "detail"), "https://"));
    assert_int_equal(ask(connect_as(NULL, NULL)), 200);
    assert_int_equal(process_stop(pawld), 0);
}

static void one_port_can_stay_plain(void **state)
{
    char plain[32], said[NAME_BYTES];
    (void)state;
    install("first", "first");
    (void)snprintf(plain, sizeof(plain), "http://127.0.0.1:0");
    serve((const char *const[]){"--listen", plain, NULL});
    process_wait_line(pawld, "listening on 127.0.0.1:([0-9]+)$", TIMEOUT_MS, said, sizeof(said));
    const uint16_t other = (uint16_t)strtoul(said, NULL, 10);
    assert_int_equal(call(other, "GET", "/livez", NULL, NULL)->status, 200);
    assert_int_equal(ask(connect_as(NULL, NULL)), 200);
    assert_int_equal(process_stop(pawld), 0);
}

static void old_protocols_are_refused(void **state)
{
    (void)state;
    install("first", "first");
    serve(NULL);
    assert_int_equal(ask(connect_as(NULL, "NORMAL:-VERS-ALL:+VERS-TLS1.3")), 200);
    assert_int_equal(ask(connect_as(NULL, "NORMAL:-VERS-ALL:+VERS-TLS1.2")), 200);
    assert_int_equal(ask(connect_as(NULL, "NORMAL:-VERS-ALL:+VERS-TLS1.1")), 0);
    assert_int_equal(ask(connect_as(NULL, "NORMAL:-VERS-ALL:+VERS-TLS1.0")), 0);
    assert_int_equal(ask(connect_as(NULL, "NORMAL:-VERS-ALL:+VERS-TLS1.2:-KX-ALL:+RSA")), 0);
    assert_int_equal(ask(connect_as(NULL, "NORMAL:-VERS-ALL:+VERS-TLS1.2:-CIPHER-ALL:"
                                          "+AES-128-CBC")),
                     0);
    assert_int_equal(process_stop(pawld), 0);
}

static void priorities_can_be_narrowed_and_not_lowered(void **state)
{
    (void)state;
    install("first", "first");
    serve((const char *const[]){"--tls-priorities", "NORMAL:-VERS-ALL:+VERS-TLS1.3", NULL});
    assert_int_equal(ask(connect_as(NULL, "NORMAL:-VERS-ALL:+VERS-TLS1.2")), 0);
    assert_int_equal(ask(connect_as(NULL, NULL)), 200);
    assert_int_equal(process_stop(pawld), 0);
    expect_no_start((const char *const[]){"--tls-priorities", "NORMAL:+VERS-TLS1.1", NULL}, 1,
                    "TLS before 1.2");
    expect_no_start((const char *const[]){"--tls-priorities", "NONSENSE", NULL}, 1, "NONSENSE");
}

/* ---- clients that stall ---------------------------------------------------------------------- */

static bool has_ended(void *arg)
{
    struct pollfd end = {.fd = http_fd(arg), .events = POLLRDHUP};
    return poll(&end, 1, 0) > 0;
}

/* One that says nothing, one whose hello stops half-way, and one that sends a byte at a time. */
static void handshake_that_stalls_is_ended(void **state)
{
    static const unsigned char hello[] = {0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3};
    (void)state;
    install("first", "first");
    serve((const char *const[]){"--head-timeout-ms", "800", NULL});
    const uint64_t began_ms = wait_now_ms();
    struct http *stalled[3];
    for (int i = 0; i < 3; i++)
        stalled[i] = http_connect(port);
    assert_true(http_send(stalled[1], hello, sizeof(hello)));
    for (size_t i = 0; i < sizeof(hello) && !has_ended(stalled[2]); i++) {
        (void)http_send(stalled[2], hello + i, 1);
        wait_ms(100);
    }
    for (int i = 0; i < 3; i++) {
        assert_true(wait_until(has_ended, stalled[i], TIMEOUT_MS));
        http_close(stalled[i]);
    }
    assert_true(wait_now_ms() - began_ms >= 700);
    assert_int_equal(ask(connect_as(NULL, NULL)), 200);
    assert_int_equal(process_stop(pawld), 0);
}

/* Those that stall in a handshake make room for others. */
static void handshakes_that_stall_are_ended_for_others(void **state)
{
    enum {
        ROOM = 32,
        STALLED = 48
    };
    struct http *stalled[STALLED];
    (void)state;
    install("first", "first");
    serve((const char *const[]){"--max-connections", "32", "--workers", "1", NULL});
    for (int i = 0; i < STALLED; i++) {
        stalled[i] = http_connect(port);
        (void)http_send(stalled[i], "\x16\x03\x01", 3);
    }
    const uint64_t began_ms = wait_now_ms();
    assert_int_equal(ask(connect_as(NULL, NULL)), 200);
    assert_true(wait_now_ms() - began_ms < 9000); /* before their time is up */
    int ended = 0;
    for (int i = 0; i < STALLED; i++) {
        ended += has_ended(stalled[i]);
        http_close(stalled[i]);
    }
    assert_in_range(ended, STALLED - ROOM + 1, STALLED);
    assert_int_equal(process_stop(pawld), 0);
}

/* ---- clients' certificates ------------------------------------------------------------------- */

static void client_has_to_show_a_certificate_of_the_authority(void **state)
{
    (void)state;
    install("first", "first");
    serve((const char *const[]){"--tls-client-ca", ca_path, NULL});
    assert_int_equal(ask(connect_as("app", NULL)), 200);
    assert_int_equal(ask(connect_as("app", "NORMAL:-VERS-ALL:+VERS-TLS1.2")), 200);
    assert_int_equal(ask(connect_as("plain", NULL)), 200);
    static const char *const refused[] = {NULL, "stranger", "server-only", "expired", "early"};
    static const char *const protocols[] = {"NORMAL", "NORMAL:-VERS-ALL:+VERS-TLS1.2"};
    for (size_t p = 0; p < 2; p++) {
        for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
            if (ask(connect_as(refused[i], protocols[p])) != 0)
                fail_msg("%s was served (%s)", refused[i] ? refused[i] : "none", protocols[p]);
        if (p > 0)
            break; /* the log tells only a few of a kind in a second */
        process_wait_line(pawld, "certificate is refused: .*expired", TIMEOUT_MS, NULL, 0);
        process_wait_line(pawld, "certificate is refused: .*not yet valid", TIMEOUT_MS, NULL, 0);
        process_wait_line(pawld, "certificate is refused: .*issuer is unknown", TIMEOUT_MS, NULL,
                          0);
    }
    assert_int_equal(process_stop(pawld), 0);
}

static void certificate_that_is_optional_has_to_be_good_all_the_same(void **state)
{
    (void)state;
    install("first", "first");
    serve((const char *const[]){"--tls-client-ca", ca_path, "--tls-client", "optional", NULL});
    assert_int_equal(ask(connect_as(NULL, NULL)), 200);
    assert_int_equal(ask(connect_as("app", NULL)), 200);
    assert_int_equal(ask(connect_as("expired", NULL)), 0);
    assert_int_equal(process_stop(pawld), 0);
}

/* ---- our own clients ------------------------------------------------------------------------- */

static const char python_script[] =
    "import pawl, sys\n"
    "with pawl.Client(sys.argv[1]).lock('python', ttl=30) as lock: print('token', lock.token)\n";

static const char node_script[] =
    "import { Client } from './api/client/node/pawl.mjs';"
    "const client = new Client({ servers: [process.argv[1]] });"
    "await client.withLock('node', { ttlMs: 30000 }, async (lock) => {"
    "    console.log('token', String(lock.token)); });";

/* Runs @words with the certificate of @name (NULL: none) in the environment, and @url at the
 * end; returns what it wrote, which the caller frees, and its exit status. */
static char *run_client(const char *const words[], const char *name, const char *url,
                        int *ret_status)
{
    char cert[PATH_BYTES + 16], key[PATH_BYTES + 16], ca[PATH_BYTES + 16], log[PATH_BYTES];
    const char *argv[ARGS_MAX + 1] = {"env", ca, "PYTHONPATH=api/client/python"};
    unsigned count = 3;
    (void)snprintf(ca, sizeof(ca), "PAWL_CA_FILE=%s", ca_path);
    (void)snprintf(cert, sizeof(cert), "PAWL_CERT=%s/%s.pem", certs, name ? name : "");
    (void)snprintf(key, sizeof(key), "PAWL_CERT_KEY=%s/%s.key", certs, name ? name : "");
    (void)snprintf(log, sizeof(log), "%s/client.log", folder);
    if (name != NULL) {
        argv[count++] = cert;
        argv[count++] = key;
    }
    for (; *words != NULL && count < ARGS_MAX - 1; words++)
        argv[count++] = *words;
    argv[count++] = url;
    (void)remove(log);
    *ret_status = process_run(argv, log, TIMEOUT_MS);
    return text_read(log, 0);
}

static void expect_client(const char *const words[], const char *name, const char *url, bool served)
{
    int status = -1;
    char *said = run_client(words, name, url, &status);
    if ((status == 0 && strstr(said, "token")) != served)
        fail_msg("%s with %s ended with %d: %s", words[0], name ? name : "nothing", status, said);
    free(said);
}

static void our_clients_show_their_certificates(void **state)
{
    char url[64];
    char *pawl = pawl_program("pawl");
    const char *const by_pawl[] = {pawl, "acquire", "pawl", "--json", "--server", NULL};
    const char *const by_python[] = {"python3", "-B", "-c", python_script, NULL};
    const char *const by_node[] = {"node", "--input-type=module", "-e", node_script, NULL};
    (void)state;
    install("first", "first");
    serve((const char *const[]){"--tls-client-ca", ca_path, NULL});
    (void)snprintf(url, sizeof(url), "https://127.0.0.1:%u", (unsigned)port);
    expect_client(by_pawl, "app", url, true);
    expect_client(by_pawl, NULL, url, false);
    expect_client(by_python, "app", url, true);
    expect_client(by_python, "stranger", url, false);
    expect_client(by_node, "app", url, true);
    expect_client(by_node, NULL, url, false);
    free(pawl);
    assert_int_equal(process_stop(pawld), 0);
}

/* Options of pawl go before the environment, and its command has them. */
static void options_of_pawl_are_for_its_command_too(void **state)
{
    char command[COMMAND_BYTES], log[PATH_BYTES];
    char *pawl = pawl_program("pawl");
    (void)state;
    install("first", "first");
    serve((const char *const[]){"--tls-client-ca", ca_path, NULL});
    (void)snprintf(log, sizeof(log), "%s/client.log", folder);
    (void)snprintf(command, sizeof(command),
                   "PAWL_CERT=/nowhere '%s' --server https://127.0.0.1:%u --ca-file %s --cert "
                   "%s/app.pem --cert-key %s/app.key lock outer -- '%s' acquire inner --json",
                   pawl, (unsigned)port, ca_path, certs, certs, pawl);
    assert_int_equal(process_run((const char *const[]){"sh", "-c", command, NULL}, log, TIMEOUT_MS),
                     0);
    char *said = text_read(log, 0);
    assert_non_null(strstr(said, "token"));
    free(said);
    free(pawl);
    assert_int_equal(process_stop(pawld), 0);
}

static void server_of_another_authority_is_not_believed(void **state)
{
    char url[64], theirs[PATH_BYTES], log[PATH_BYTES];
    char *pawl = pawl_program("pawl");
    (void)state;
    install("first", "first");
    serve(NULL);
    (void)snprintf(url, sizeof(url), "https://127.0.0.1:%u", (unsigned)port);
    (void)snprintf(theirs, sizeof(theirs), "%s/theirs.pem", certs);
    (void)snprintf(log, sizeof(log), "%s/client.log", folder);
    assert_int_equal(process_run((const char *const[]){pawl, "--server", url, "--ca-file", theirs,
                                                       "fleet", NULL},
                                 log, TIMEOUT_MS),
                     125);
    char *said = text_read(log, 0);
    assert_non_null(strstr(said, "certificate"));
    free(said);
    assert_int_equal(process_run((const char *const[]){pawl, "--server", url, "--ca-file",
                                                       "/nowhere.pem", "fleet", NULL},
                                 log, TIMEOUT_MS),
                     125);
    free(pawl);
    assert_int_equal(process_stop(pawld), 0);
}

/* ---- files ----------------------------------------------------------------------------------- */

static void files_that_cannot_be_used_are_told(void **state)
{
    char ca[PATH_BYTES];
    (void)state;
    (void)snprintf(ca, sizeof(ca), "%s/no.pem", folder);
    expect_no_start(NULL, 1, "No such file");
    install("first", "second");
    expect_no_start(NULL, 1, "does not match");
    install("old-service", "old-service");
    expect_no_start(NULL, 1, "has expired");
    install("early-service", "early-service");
    expect_no_start(NULL, 1, "not valid yet");
    install("first", "first");
    expect_no_start((const char *const[]){"--tls-client-ca", ca, NULL}, 1, "No such file");
    expect_no_start((const char *const[]){"--tls-client-ca", key_path, NULL}, 1, "no certificate");
    expect_no_start((const char *const[]){"--tls-client", "maybe", NULL}, 2, "--tls-client");
    assert_int_equal(access(data_path, F_OK), -1); /* nothing was made */
}

static void options_that_lack_each_other_are_told(void **state)
{
    char *program = pawl_program("pawld");
    const char *const lacking[][2] = {
        {"--tls-cert", cert_path}, {"--tls-key", key_path}, {"--tls-client-ca", ca_path}};
    (void)state;
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(
            process_run((const char *const[]){program, "--data", data_path, "--listen",
                                              "127.0.0.1:0", lacking[i][0], lacking[i][1], NULL},
                        log_path, TIMEOUT_MS),
            2);
    assert_int_equal(process_run((const char *const[]){program, "--data", data_path, "--listen",
                                                       "https://127.0.0.1:0", NULL},
                                 log_path, TIMEOUT_MS),
                     2);
    char *said = text_read(log_path, 0);
    assert_non_null(strstr(said, "needs --tls-cert"));
    free(said);
    free(program);
}

/* ---- reading again --------------------------------------------------------------------------- */

static void expect_shown(const char *cn)
{
    char name[NAME_BYTES] = "";
    struct http *http = connect_as(NULL, NULL);
    assert_non_null(http);
    http_peer(http, name, sizeof(name));
    assert_string_equal(name, cn);
    assert_int_equal(ask(http), 200);
}

static void reload(const char *line)
{
    char *before = text_read(log_path, 0);
    const size_t had = strlen(before);
    free(before);
    process_signal(pawld, SIGHUP);
    for (int i = 0; i < TIMEOUT_MS / 10; i++) {
        char *since = text_read(log_path, (off_t)had);
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
    (void)state;
    (void)snprintf(ca, sizeof(ca), "%s/clients.pem", folder);
    (void)snprintf(command, sizeof(command), "cp %s clients.pem", ca_path);
    shell_in(folder, command);
    install("first", "first");
    serve((const char *const[]){"--tls-client-ca", ca, "--tls-client", "optional", NULL});
    install("second", "first");
    reload("the certificates stay as they are: the key ");
    expect_shown("first");
    install("old-service", "old-service");
    reload("has expired");
    expect_shown("first");
    install("second", "second");
    shell_in(folder, "rm key.pem");
    reload("No such file");
    expect_shown("first");
    shell_in(folder, "echo nonsense > cert.pem");
    reload("it is no certificate");
    install("second", "second");
    shell_in(folder, "echo nonsense > clients.pem");
    reload("the authority of clients");
    expect_shown("first");
    assert_int_equal(ask(connect_as("app", NULL)), 200);
    shell_in(folder, command);
    reload("reloaded: certificates");
    expect_shown("second");
    assert_int_equal(process_stop(pawld), 0);
}

/* Another authority of clients holds for those that come later. */
static void authority_of_clients_is_read_again(void **state)
{
    char ca[PATH_BYTES], command[COMMAND_BYTES];
    (void)state;
    (void)snprintf(ca, sizeof(ca), "%s/clients.pem", folder);
    (void)snprintf(command, sizeof(command), "cp %s/theirs.pem clients.pem", certs);
    shell_in(folder, command);
    install("first", "first");
    serve((const char *const[]){"--tls-client-ca", ca, NULL});
    struct http *stays = connect_as("stranger", NULL);
    assert_int_equal(ask(connect_as("app", NULL)), 0);
    assert_int_equal(ask(connect_as("stranger", NULL)), 200);
    (void)snprintf(command, sizeof(command), "cp %s clients.pem", ca_path);
    shell_in(folder, command);
    reload("reloaded: certificates");
    assert_int_equal(ask(connect_as("app", NULL)), 200);
    assert_int_equal(ask(connect_as("stranger", NULL)), 0);
    assert_int_equal(ask(stays), 200);
    assert_int_equal(process_stop(pawld), 0);
}

static atomic_bool over;
static atomic_uint asked, dropped;

/* Keeps one connection for the whole test. */
static void *keep_asking(void *unused)
{
    (void)unused;
    struct http *http = connect_as(NULL, NULL);
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
    (void)state;
    install("first", "first");
    serve((const char *const[]){"--workers", "2", NULL});
    atomic_store(&over, false);
    atomic_store(&asked, 0);
    atomic_store(&dropped, 0);
    for (int i = 0; i < CROWD; i++)
        assert_int_equal(pthread_create(&crowd[i], NULL, keep_asking, NULL), 0);
    for (int i = 1; i <= RELOADS; i++) {
        const char *now = i % 2 ? "second" : "first";
        install(now, now);
        reload("reloaded: certificates");
        expect_shown(now);
        expect_shown(now);
    }
    atomic_store(&over, true);
    for (int i = 0; i < CROWD; i++)
        assert_int_equal(pthread_join(crowd[i], NULL), 0);
    assert_int_equal(atomic_load(&dropped), 0);
    assert_true(atomic_load(&asked) > CROWD * RELOADS);
    assert_int_equal(process_stop(pawld), 0);
}

#define HTTPS_CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)

static const struct CMUnitTest cases[] = {
    HTTPS_CASE(locks_are_granted_over_tls),
    HTTPS_CASE(waiter_that_leaves_is_out_of_the_line),
    HTTPS_CASE(bodies_of_any_size_are_read),
    HTTPS_CASE(requests_of_one_record_are_all_answered),
    HTTPS_CASE(records_that_come_together_are_all_answered),
    HTTPS_CASE(connection_ends_with_a_goodbye),
    HTTPS_CASE(plain_http_is_told_to_speak_tls),
    HTTPS_CASE(one_port_can_stay_plain),
    HTTPS_CASE(old_protocols_are_refused),
    HTTPS_CASE(priorities_can_be_narrowed_and_not_lowered),
    HTTPS_CASE(handshake_that_stalls_is_ended),
    HTTPS_CASE(handshakes_that_stall_are_ended_for_others),
    HTTPS_CASE(client_has_to_show_a_certificate_of_the_authority),
    HTTPS_CASE(certificate_that_is_optional_has_to_be_good_all_the_same),
    HTTPS_CASE(our_clients_show_their_certificates),
    HTTPS_CASE(options_of_pawl_are_for_its_command_too),
    HTTPS_CASE(server_of_another_authority_is_not_believed),
    HTTPS_CASE(files_that_cannot_be_used_are_told),
    HTTPS_CASE(options_that_lack_each_other_are_told),
    HTTPS_CASE(bad_files_leave_the_old_ones),
    HTTPS_CASE(authority_of_clients_is_read_again),
    HTTPS_CASE(reload_under_load_drops_nobody),
};

CASE_MAIN(cases, make_all, remove_all)
