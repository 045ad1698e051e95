#include "tests/lib/tls.h"

#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/lib/tempdir.h"

#include <errno.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    OPENSSL_TIMEOUT_MS = 30000,
    COMMAND_BYTES = 2048,
    PATH_BYTES = 256,
};

/* ---- the services' certificate --------------------------------------------------------------- */

static char *folder;
static char ca_path[PATH_BYTES], cert_path[PATH_BYTES], key_path[PATH_BYTES];
static const struct tls_side service = {.ca = ca_path, .cert = cert_path, .key = key_path};

bool tls_everywhere(void)
{
    return getenv("PAWL_TEST_TLS") != NULL;
}

static void remove_folder(void)
{
    tempdir_remove(folder);
}

static void make_certificates(void)
{
    static const char ec[] = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc -days 2";
    char command[COMMAND_BYTES], log[PATH_BYTES];
    folder = tempdir_new();
    (void)atexit(remove_folder);
    (void)snprintf(ca_path, sizeof(ca_path), "%s/ca.pem", folder);
    (void)snprintf(cert_path, sizeof(cert_path), "%s/service.pem", folder);
    (void)snprintf(key_path, sizeof(key_path), "%s/service.key", folder);
    (void)snprintf(log, sizeof(log), "%s/openssl.log", folder);
    (void)snprintf(
        command, sizeof(command),
        "cd %s && openssl req -x509 %s " TLS_AUTHORITY
        " -keyout ca.key -out ca.pem -subj /CN=ca && openssl req -x509 %s " TLS_SERVICE
        " -CA ca.pem -CAkey ca.key -keyout service.key -out service.pem -subj /CN=service"
        " -addext subjectAltName=IP:127.0.0.1",
        folder, ec, ec);
    const char *const argv[] = {"sh", "-c", command, NULL};
    if (process_run(argv, log, OPENSSL_TIMEOUT_MS) != 0)
        fail_msg("openssl made no certificates; see %s", log);
}

const struct tls_side *tls_service(void)
{
    if (folder == NULL)
        make_certificates();
    return &service;
}

/* ---- the client's side ----------------------------------------------------------------------- */

struct tls_client {
    gnutls_session_t session;
    gnutls_certificate_credentials_t credentials;
};

static bool set_up(struct tls_client *client, int fd, const struct tls_side *side)
{
    const char *priorities = side->priorities ? side->priorities : "NORMAL";
    if (gnutls_certificate_allocate_credentials(&client->credentials) < 0 ||
        gnutls_init(&client->session, GNUTLS_CLIENT | GNUTLS_NO_SIGNAL) < 0 ||
        gnutls_priority_set_direct(client->session, priorities, NULL) < 0 ||
        gnutls_credentials_set(client->session, GNUTLS_CRD_CERTIFICATE, client->credentials) < 0)
        return false;
    if (side->ca && gnutls_certificate_set_x509_trust_file(client->credentials, side->ca,
                                                           GNUTLS_X509_FMT_PEM) < 1)
        fail_msg("no authority in %s", side->ca);
    if (side->cert && gnutls_certificate_set_x509_key_file(client->credentials, side->cert,
                                                           side->key, GNUTLS_X509_FMT_PEM) < 0)
        fail_msg("no certificate and key in %s and %s", side->cert, side->key);
    if (side->ca)
        gnutls_session_set_verify_cert(client->session, "127.0.0.1", 0);
    gnutls_transport_set_int(client->session, fd);
    return true;
}

struct tls_client *tls_client_new(int fd, const struct tls_side *side)
{
    struct tls_client *client = calloc(1, sizeof(*client));
    assert_non_null(client);
    int error = set_up(client, fd, side) ? 0 : GNUTLS_E_INTERNAL_ERROR;
    assert_int_equal(error, 0);
    do
        error = gnutls_handshake(client->session);
    while (error < 0 && !gnutls_error_is_fatal(error) && error != GNUTLS_E_AGAIN);
    if (error == 0)
        return client;
    tls_client_free(client);
    return NULL;
}

void tls_client_free(struct tls_client *client)
{
    if (!client)
        return;
    gnutls_deinit(client->session);
    gnutls_certificate_free_credentials(client->credentials);
    free(client);
}

/* As errno tells it. */
static ssize_t result_of(ssize_t result)
{
    if (result >= 0)
        return result;
    if (result == GNUTLS_E_AGAIN)
        errno = EAGAIN;
    else
        errno = result == GNUTLS_E_INTERRUPTED ? EINTR : ECONNRESET;
    return -1;
}

ssize_t tls_client_send(struct tls_client *client, const void *bytes, size_t len)
{
    return result_of(gnutls_record_send(client->session, bytes, len));
}

ssize_t tls_client_receive(struct tls_client *client, void *buffer, size_t size)
{
    return result_of(gnutls_record_recv(client->session, buffer, size));
}

void tls_client_peer(const struct tls_client *client, char *ret_name, size_t cap)
{
    unsigned count = 0;
    gnutls_x509_crt_t cert = NULL;
    const gnutls_datum_t *peers = gnutls_certificate_get_peers(client->session, &count);
    assert_true(count > 0);
    assert_int_equal(gnutls_x509_crt_init(&cert), 0);
    assert_int_equal(gnutls_x509_crt_import(cert, &peers[0], GNUTLS_X509_FMT_DER), 0);
    size_t size = cap;
    assert_int_equal(
        gnutls_x509_crt_get_dn_by_oid(cert, GNUTLS_OID_X520_COMMON_NAME, 0, 0, ret_name, &size), 0);
    gnutls_x509_crt_deinit(cert);
}
