#include "tests/system/https/https.h"

#include "tests/lib/case.h"
#include "tests/lib/pawl.h"
#include "tests/lib/port.h"
#include "tests/lib/process.h"
#include "tests/lib/tempdir.h"
#include "tests/lib/text.h"
#include "tests/lib/tls.h"
#include "tests/system/workdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TIMEOUT_MS = 20000,
    PATH_BYTES = HTTPS_PATH_BYTES,
    COMMAND_BYTES = 2048,
    ARGS_MAX = 24,
};

struct https https;

#define CN(text) "-subj /CN=" text
#define EC       "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc"
#define SERVICE  TLS_SERVICE " -addext subjectAltName=IP:127.0.0.1,DNS:localhost"

void https_shell(const char *folder, const char *command)
{
    char line[COMMAND_BYTES], log[PATH_BYTES];
    (void)snprintf(line, sizeof(line), "cd %s && %s", folder, command);
    (void)snprintf(log, sizeof(log), "%s/shell.log", https.certs);
    const char *const argv[] = {"sh", "-c", line, NULL};
    if (process_run(argv, log, TIMEOUT_MS) != 0)
        fail_msg("%s failed; see %s", line, log);
}

void https_certify(const char *name, const char *authority, const char *cn, const char *more)
{
    char command[COMMAND_BYTES];
    (void)snprintf(command, sizeof(command),
                   "openssl req -x509 " EC
                   " -days 2 -CA %s.pem -CAkey %s.key -keyout %s.key -out %s.pem -subj '/CN=%s' %s",
                   authority, authority, name, name, cn, more);
    https_shell(https.certs, command);
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
    https_shell(https.certs, command);
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
    "basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\n"
    "subjectAltName=IP:127.0.0.1\n[client]\nbasicConstraints=critical,CA:FALSE\n"
    "keyUsage=critical,digitalSignature\nextendedKeyUsage=clientAuth\n";

static void write_text(const char *name, const char *text)
{
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof(path), "%s/%s", https.certs, name);
    workdir_write(path, text);
}

int https_make_certificates(void **state)
{
    https.certs = tempdir_new();
    write_text("ca.conf", ca_conf);
    write_text("index.txt", "");
    write_text("serial", "1000\n");
    https_shell(https.certs, "openssl req -x509 " EC " " TLS_AUTHORITY
                             " -days 2 -keyout ours.key -out ours.pem " CN("ours"));
    https_shell(https.certs, "openssl req -x509 " EC " " TLS_AUTHORITY
                             " -days 2 -keyout theirs.key -out theirs.pem " CN("ours"));
    https_certify("first", "ours", "first", SERVICE);
    https_certify("second", "ours", "second", SERVICE);
    https_certify("app", "ours", "orders-app", TLS_CLIENT);
    https_certify("plain", "ours", "no purpose", TLS_LEAF);
    https_certify("stranger", "theirs", "orders-app", TLS_CLIENT);
    https_certify("server-only", "ours", "orders-app", TLS_SERVICE);
    certify_between("expired", PAST_FROM, PAST_TO, "client");
    certify_between("early", FUTURE_FROM, FUTURE_TO, "client");
    certify_between("old-service", PAST_FROM, PAST_TO, "service");
    certify_between("early-service", FUTURE_FROM, FUTURE_TO, "service");
    return 0;
}

int https_remove_certificates(void **state)
{
    tempdir_remove(https.certs);
    return 0;
}

int https_setup(void **state)
{
    https.folder = tempdir_new();
    (void)snprintf(https.data, sizeof(https.data), "%s/data", https.folder);
    (void)snprintf(https.log, sizeof(https.log), "%s/log", https.folder);
    (void)snprintf(https.cert, sizeof(https.cert), "%s/cert.pem", https.folder);
    (void)snprintf(https.key, sizeof(https.key), "%s/key.pem", https.folder);
    (void)snprintf(https.ca, sizeof(https.ca), "%s/ours.pem", https.certs);
    https_install("first", "first");
    return 0;
}

int https_setup_served(void **state)
{
    (void)https_setup(state);
    https_serve(NULL);
    return 0;
}

int https_teardown(void **state)
{
    https_stop();
    process_kill_all();
    tempdir_remove(https.folder);
    return 0;
}

void https_install(const char *cert, const char *key)
{
    char command[COMMAND_BYTES];
    (void)snprintf(command, sizeof(command), "cp %s/%s.pem cert.pem && cp %s/%s.key key.pem",
                   https.certs, cert, https.certs, key);
    https_shell(https.folder, command);
}

static const char *const *arguments(const char *program, const char *listen,
                                    const char *const options[])
{
    static const char *args[ARGS_MAX + 1];
    const char *const common[] = {program,      "--data",   https.data,  "--listen", listen,
                                  "--tls-cert", https.cert, "--tls-key", https.key};
    unsigned count = sizeof(common) / sizeof(common[0]);
    memcpy(args, common, sizeof(common));
    for (; options != NULL && *options != NULL && count < ARGS_MAX; options++)
        args[count++] = *options;
    args[count] = NULL;
    return args;
}

void https_serve(const char *const options[])
{
    char listen[32];
    char *program = pawl_program("pawld");
    https.port = port_free();
    (void)snprintf(listen, sizeof(listen), "127.0.0.1:%u", (unsigned)https.port);
    https.pawld = process_start(arguments(program, listen, options), https.log);
    process_wait_line(https.pawld, "votes$", TIMEOUT_MS, NULL, 0);
    free(program);
}

void https_stop(void)
{
    assert_int_equal(process_stop(https.pawld), 0);
    https.pawld = NULL;
}

void https_expect_no_start(const char *const options[], int status, const char *words)
{
    char *program = pawl_program("pawld");
    (void)remove(https.log);
    assert_int_equal(process_run(arguments(program, "127.0.0.1:0", options), https.log, TIMEOUT_MS),
                     status);
    char *said = text_read(https.log, 0);
    if (strstr(said, words) == NULL)
        fail_msg("nothing about %s in %s", words, said);
    free(said);
    free(program);
}

struct http *https_connect(const char *name, const char *priorities)
{
    char cert[PATH_BYTES], key[PATH_BYTES];
    struct tls_side side = {.ca = https.ca, .priorities = priorities};
    if (name != NULL) {
        (void)snprintf(cert, sizeof(cert), "%s/%s.pem", https.certs, name);
        (void)snprintf(key, sizeof(key), "%s/%s.key", https.certs, name);
        side.cert = cert;
        side.key = key;
    }
    return http_connect_tls(https.port, &side);
}

int https_ask(struct http *http)
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
