/* Certificates that sign others: what the holder of a client's or a service's key can make. */
#include "tests/lib/case.h"
#include "tests/lib/pawl.h"
#include "tests/lib/process.h"
#include "tests/lib/text.h"
#include "tests/lib/tls.h"
#include "tests/system/https/https.h"

#include <gnutls/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TIMEOUT_MS = 20000,
    PATH_BYTES = HTTPS_PATH_BYTES,
    COMMAND_BYTES = 2048,
    ARGS_MAX = 24,
    DAY_S = 86400,
};

/* As server/TLS.md said: CA:TRUE is the default of openssl req -x509. */
#define OLD_CLIENT  "-addext extendedKeyUsage=clientAuth"
#define OLD_SERVICE "-addext subjectAltName=IP:127.0.0.1"
#define SERVICE     TLS_SERVICE " -addext subjectAltName=IP:127.0.0.1"
#define BETWEEN                                                                                    \
    "-addext basicConstraints=critical,CA:TRUE,pathlen:0 -addext keyUsage=critical,keyCertSign"

/* <name>.pem, with the certificate of @authority behind it. */
static void certify_below(const char *name, const char *authority, const char *cn, const char *more)
{
    char command[COMMAND_BYTES];
    https_certify(name, authority, cn, more);
    (void)snprintf(command, sizeof(command), "cat %s.pem >>%s.pem", authority, name);
    https_shell(https.certs, command);
}

/* "root" is an authority without a path length. */
static int make_all(void **state)
{
    static const char ec[] = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc";
    char command[COMMAND_BYTES];
    assert_int_equal(https_make_certificates(state), 0);
    (void)snprintf(command, sizeof(command),
                   "openssl req -x509 %s -days 2 -keyout root.key -out root.pem -subj /CN=root",
                   ec);
    https_shell(https.certs, command);
    https_certify("honest", "root", "orders", TLS_CLIENT);
    https_certify("old-client", "root", "orders", OLD_CLIENT);
    certify_below("forged", "old-client", "admin", TLS_CLIENT);
    https_certify("between", "root", "between", BETWEEN);
    certify_below("below", "between", "orders", TLS_CLIENT);
    https_certify("two-names", "root", "orders/CN=admin", TLS_CLIENT);
    https_certify("two-in-one", "root", "orders+CN=admin", TLS_CLIENT " -multivalue-rdn");
    https_certify("only-signs", "root", "orders",
                  "-addext basicConstraints=critical,CA:FALSE "
                  "-addext keyUsage=digitalSignature,keyCertSign");
    https_certify("honest-service", "root", "pawld", SERVICE);
    https_certify("old-service-ca", "root", "pawld", OLD_SERVICE);
    certify_below("fake-service", "old-service-ca", "pawld", SERVICE);
    certify_below("below-service", "between", "pawld", SERVICE);
    https_shell(https.certs, "cat root.pem between.pem >both.pem");
    return 0;
}

static void serve_clients_of(const char *authority)
{
    char ca[PATH_BYTES];
    (void)snprintf(ca, sizeof(ca), "%s/%s.pem", https.certs, authority);
    https_serve((const char *const[]){"--tls-client-ca", ca, NULL});
}

static void expect_served(const char *name, bool served)
{
    static const char *const protocols[] = {"NORMAL:-VERS-ALL:+VERS-TLS1.3",
                                            "NORMAL:-VERS-ALL:+VERS-TLS1.2"};
    for (size_t i = 0; i < 2; i++)
        if (https_ask(https_connect(name, protocols[i])) != (served ? 200 : 0))
            fail_msg("%s %s served with %s", name, served ? "is not" : "is", protocols[i]);
}

static void client_cannot_make_itself_another_one(void **state)
{
    serve_clients_of("root");
    expect_served("honest", true);
    expect_served("forged", false);
    process_wait_line(https.pawld, "no CA of the CA file signed it directly", TIMEOUT_MS, NULL, 0);
}

static void client_that_may_sign_is_refused_by_its_name(void **state)
{
    serve_clients_of("root");
    expect_served("old-client", false);
    expect_served("only-signs", false);
    process_wait_line(
        https.pawld, "'orders' can sign other certificates .CA:TRUE.; create the certificate again",
        TIMEOUT_MS, NULL, 0);
}

static void authority_between_is_believed_only_from_the_file(void **state)
{
    serve_clients_of("root");
    expect_served("below", false);
    https_stop();
    serve_clients_of("both");
    expect_served("below", true);
    expect_served("honest", true);
    expect_served("forged", false);
}

static gnutls_datum_t file_of(const char *name, const char *ending)
{
    char path[PATH_BYTES];
    gnutls_datum_t data = {NULL, 0};
    (void)snprintf(path, sizeof(path), "%s/%s%s", https.certs, name, ending);
    assert_int_equal(gnutls_load_file(path, &data), 0);
    return data;
}

static gnutls_x509_privkey_t key_of(const char *name)
{
    gnutls_x509_privkey_t key = NULL;
    gnutls_datum_t data = file_of(name, ".key");
    assert_int_equal(gnutls_x509_privkey_init(&key), 0);
    assert_int_equal(gnutls_x509_privkey_import2(key, &data, GNUTLS_X509_FMT_PEM, NULL, 0), 0);
    gnutls_free(data.data);
    return key;
}

static void set_parts(gnutls_x509_crt_t cert, gnutls_x509_privkey_t key, const char *cn,
                      unsigned len)
{
    assert_int_equal(gnutls_x509_crt_set_version(cert, 3), 0);
    assert_int_equal(gnutls_x509_crt_set_serial(cert, "\x17", 1), 0);
    assert_int_equal(gnutls_x509_crt_set_activation_time(cert, time(NULL) - DAY_S), 0);
    assert_int_equal(gnutls_x509_crt_set_expiration_time(cert, time(NULL) + DAY_S), 0);
    assert_int_equal(gnutls_x509_crt_set_dn_by_oid(cert, GNUTLS_OID_X520_COMMON_NAME, 1, cn, len),
                     0);
    assert_int_equal(gnutls_x509_crt_set_basic_constraints(cert, 0, -1), 0);
    assert_int_equal(gnutls_x509_crt_set_key(cert, key), 0);
}

/* "odd", signed by root, whose common name is the DER @cn: openssl takes no such. */
static void certify_bytes(const char *cn, unsigned len)
{
    gnutls_x509_crt_t root = NULL, cert = NULL;
    gnutls_datum_t data = file_of("root", ".pem"), made = {NULL, 0};
    gnutls_x509_privkey_t root_key = key_of("root"), key = key_of("honest");
    char path[PATH_BYTES];
    assert_int_equal(gnutls_x509_crt_init(&root), 0);
    assert_int_equal(gnutls_x509_crt_init(&cert), 0);
    assert_int_equal(gnutls_x509_crt_import(root, &data, GNUTLS_X509_FMT_PEM), 0);
    set_parts(cert, key, cn, len);
    assert_int_equal(gnutls_x509_crt_sign2(cert, root, root_key, GNUTLS_DIG_SHA256, 0), 0);
    assert_int_equal(gnutls_x509_crt_export2(cert, GNUTLS_X509_FMT_PEM, &made), 0);
    (void)snprintf(path, sizeof(path), "%s/odd.pem", https.certs);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(made.data, 1, made.size, file), made.size);
    assert_int_equal(fclose(file), 0);
    https_shell(https.certs, "cp honest.key odd.key");
    gnutls_free(data.data);
    gnutls_free(made.data);
    gnutls_x509_crt_deinit(root);
    gnutls_x509_crt_deinit(cert);
    gnutls_x509_privkey_deinit(root_key);
    gnutls_x509_privkey_deinit(key);
}

static void client_has_one_common_name_of_plain_text(void **state)
{
    serve_clients_of("root");
    expect_served("two-names", false);
    expect_served("two-in-one", false);
    process_wait_line(https.pawld, "more than one common name", TIMEOUT_MS, NULL, 0);
    certify_bytes("\x0c\x06orders", 8);
    expect_served("odd", true);
    static const struct {
        const char *cn;
        unsigned len;
    } odd[] = {{"\x0c\x0e"
                "admin\0.example",
                16},
               {"\x0c\x06"
                "admin\0",
                8},
               {"\x0c\x06"
                "ad\nmin",
                8},
               {"\x0c\x04\x1b[2J", 6},
               {"\x0c\0", 2}};
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        certify_bytes(odd[i].cn, odd[i].len);
        expect_served("odd", false);
    }
    process_wait_line(https.pawld, "not plain text", TIMEOUT_MS, NULL, 0);
}

static void service_that_may_sign_is_warned_of_and_serves(void **state)
{
    char ca[PATH_BYTES];
    (void)snprintf(ca, sizeof(ca), "%s/root.pem", https.certs);
    https_install("old-service-ca", "old-service-ca");
    https_serve((const char *const[]){"--tls-client-ca", ca, "--tls-client", "optional", NULL});
    assert_true(
        process_wrote(https.pawld, "warning .*cert.pem: it can sign other certificates .CA:TRUE."));
    assert_true(process_wrote(https.pawld, "warning .*root.pem: it has no path length"));
    https_stop();
    https_install("first", "first");
    https_serve((const char *const[]){"--tls-client-ca", https.ca, NULL});
    assert_false(process_wrote(https.pawld, "may sign|path length"));
}

static const char python_script[] =
    "import pawl, sys\n"
    "with pawl.Client(sys.argv[1], call_timeout=2).lock('python', ttl=30) as lock:\n"
    "    print('token', lock.token)\n";

static const char node_script[] =
    "import { Client } from './api/client/node/pawl.mjs';"
    "const client = new Client({ servers: [process.argv[1]], callTimeoutMs: 2000 });"
    "await client.withLock('node', { ttlMs: 30000 }, async (lock) => {"
    "    console.log('token', String(lock.token)); });";

/* Each client of ours asks the service, and gets a token where it believes it. */
static void expect_believed(const char *service, bool believed)
{
    char url[64], ca[PATH_BYTES + 16], log[PATH_BYTES];
    char *pawl = pawl_program("pawl");
    const char *const clients[][7] = {
        {pawl, "acquire", service, "--json", "--wait=1s", NULL},
        {"python3", "-B", "-c", python_script, url, NULL},
        {"node", "--input-type=module", "-e", node_script, url, NULL}};
    char server[80];
    https_install(service, service);
    https_serve(NULL);
    (void)snprintf(url, sizeof(url), "https://127.0.0.1:%u", (unsigned)https.port);
    (void)snprintf(server, sizeof(server), "PAWL_SERVER=%s", url);
    (void)snprintf(ca, sizeof(ca), "PAWL_CA_FILE=%s/root.pem", https.certs);
    (void)snprintf(log, sizeof(log), "%s/client.log", https.folder);
    for (size_t i = 0; i < 3; i++) {
        const char *argv[ARGS_MAX] = {"env", ca, server, "PYTHONPATH=api/client/python"};
        memcpy(argv + 4, clients[i], sizeof(clients[i]));
        (void)remove(log);
        const bool got = process_run(argv, log, TIMEOUT_MS) == 0;
        char *said = text_read(log, 0);
        if (got != believed || (strstr(said, "token") != NULL) != believed ||
            (strstr(said, "is not a CA") == NULL) != believed)
            fail_msg("%s with %s: %s", clients[i][0], service, said);
        free(said);
    }
    free(pawl);
    https_stop();
}

static void our_clients_refuse_a_service_that_a_service_made(void **state)
{
    expect_believed("honest-service", true);
    expect_believed("old-service-ca", true); /* it is the holder of its own key */
    expect_believed("below-service", true);
    expect_believed("fake-service", false);
}

static const struct CMUnitTest cases[] = {
    HTTPS_CASE(client_cannot_make_itself_another_one),
    HTTPS_CASE(client_that_may_sign_is_refused_by_its_name),
    HTTPS_CASE(authority_between_is_believed_only_from_the_file),
    HTTPS_CASE(client_has_one_common_name_of_plain_text),
    HTTPS_CASE(service_that_may_sign_is_warned_of_and_serves),
    HTTPS_CASE(our_clients_refuse_a_service_that_a_service_made),
};

CASE_MAIN(cases, make_all, https_remove_certificates)
