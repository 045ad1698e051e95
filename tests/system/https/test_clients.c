/* Certificates of clients: who is believed, and how the clients of this project show theirs. */
#include "tests/lib/case.h"
#include "tests/lib/pawl.h"
#include "tests/lib/process.h"
#include "tests/lib/text.h"
#include "tests/system/https/https.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TIMEOUT_MS = 20000,
    PATH_BYTES = HTTPS_PATH_BYTES,
    COMMAND_BYTES = 2048,
    ARGS_MAX = 24,
};

static void client_has_to_show_a_certificate_of_the_authority(void **state)
{
    https_serve((const char *const[]){"--tls-client-ca", https.ca, NULL});
    assert_int_equal(https_ask(https_connect("app", NULL)), 200);
    assert_int_equal(https_ask(https_connect("app", "NORMAL:-VERS-ALL:+VERS-TLS1.2")), 200);
    assert_int_equal(https_ask(https_connect("plain", NULL)), 200);
    static const char *const refused[] = {NULL, "stranger", "server-only", "expired", "early"};
    static const char *const protocols[] = {"NORMAL", "NORMAL:-VERS-ALL:+VERS-TLS1.2"};
    for (size_t p = 0; p < 2; p++) {
        for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
            if (https_ask(https_connect(refused[i], protocols[p])) != 0)
                fail_msg("%s was served (%s)", refused[i] ? refused[i] : "none", protocols[p]);
        if (p > 0)
            break; /* the log tells only a few of a kind in a second */
        process_wait_line(https.pawld, "certificate was rejected: .*expired", TIMEOUT_MS, NULL, 0);
        process_wait_line(https.pawld, "certificate was rejected: .*not yet valid", TIMEOUT_MS,
                          NULL, 0);
        process_wait_line(https.pawld, "certificate was rejected: .*issuer is unknown", TIMEOUT_MS,
                          NULL, 0);
    }
}

static void certificate_that_is_optional_has_to_be_good_all_the_same(void **state)
{
    https_serve(
        (const char *const[]){"--tls-client-ca", https.ca, "--tls-client", "optional", NULL});
    assert_int_equal(https_ask(https_connect(NULL, NULL)), 200);
    assert_int_equal(https_ask(https_connect("app", NULL)), 200);
    assert_int_equal(https_ask(https_connect("expired", NULL)), 0);
}

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
    (void)snprintf(ca, sizeof(ca), "PAWL_CA_FILE=%s", https.ca);
    (void)snprintf(cert, sizeof(cert), "PAWL_CERT=%s/%s.pem", https.certs, name ? name : "");
    (void)snprintf(key, sizeof(key), "PAWL_CERT_KEY=%s/%s.key", https.certs, name ? name : "");
    (void)snprintf(log, sizeof(log), "%s/client.log", https.folder);
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
    https_serve((const char *const[]){"--tls-client-ca", https.ca, NULL});
    (void)snprintf(url, sizeof(url), "https://127.0.0.1:%u", (unsigned)https.port);
    expect_client(by_pawl, "app", url, true);
    expect_client(by_pawl, NULL, url, false);
    expect_client(by_python, "app", url, true);
    expect_client(by_python, "stranger", url, false);
    expect_client(by_node, "app", url, true);
    expect_client(by_node, NULL, url, false);
    free(pawl);
}

static void client_without_a_certificate_is_told_so(void **state)
{
    char url[64];
    char *pawl = pawl_program("pawl");
    const char *const words[] = {pawl, "fleet", "--server", NULL};
    int status = 0;
    https_serve((const char *const[]){"--tls-client-ca", https.ca, NULL});
    (void)snprintf(url, sizeof(url), "https://127.0.0.1:%u", (unsigned)https.port);
    char *said = run_client(words, NULL, url, &status);
    if (status != 125 || strstr(said, "certificate required") == NULL)
        fail_msg("ended with %d and said: %s", status, said);
    free(said);
    free(pawl);
}

/* Options of pawl go before the environment, and its command has them. */
static void options_of_pawl_are_for_its_command_too(void **state)
{
    char command[COMMAND_BYTES], log[PATH_BYTES];
    char *pawl = pawl_program("pawl");
    https_serve((const char *const[]){"--tls-client-ca", https.ca, NULL});
    (void)snprintf(log, sizeof(log), "%s/client.log", https.folder);
    (void)snprintf(command, sizeof(command),
                   "PAWL_CERT=/nowhere '%s' --server https://127.0.0.1:%u --ca-file %s --cert "
                   "%s/app.pem --cert-key %s/app.key lock outer -- '%s' acquire inner --json",
                   pawl, (unsigned)https.port, https.ca, https.certs, https.certs, pawl);
    assert_int_equal(process_run((const char *const[]){"sh", "-c", command, NULL}, log, TIMEOUT_MS),
                     0);
    char *said = text_read(log, 0);
    assert_non_null(strstr(said, "token"));
    free(said);
    free(pawl);
}

static void server_of_another_authority_is_not_believed(void **state)
{
    char url[64], theirs[PATH_BYTES], log[PATH_BYTES];
    char *pawl = pawl_program("pawl");
    (void)snprintf(url, sizeof(url), "https://127.0.0.1:%u", (unsigned)https.port);
    (void)snprintf(theirs, sizeof(theirs), "%s/theirs.pem", https.certs);
    (void)snprintf(log, sizeof(log), "%s/client.log", https.folder);
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
}

static const struct CMUnitTest cases[] = {
    HTTPS_CASE(client_has_to_show_a_certificate_of_the_authority),
    HTTPS_CASE(certificate_that_is_optional_has_to_be_good_all_the_same),
    HTTPS_CASE(our_clients_show_their_certificates),
    HTTPS_CASE(client_without_a_certificate_is_told_so),
    HTTPS_CASE(options_of_pawl_are_for_its_command_too),
    HTTPS_SERVED(server_of_another_authority_is_not_believed),
};

CASE_MAIN(cases, https_make_certificates, https_remove_certificates)
