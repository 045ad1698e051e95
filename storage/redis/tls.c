#include "storage/redis/tls.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>

#include <hiredis/hiredis.h>
#include <hiredis/hiredis_ssl.h>

struct storage_tls {
    SSL_CTX *shared;
};

bool storage_tls_is_built(void)
{
    return true;
}

/* ---- the files ------------------------------------------------------------------------------- */

/* Says what OpenSSL has against @path, and returns false. */
static bool refuse_file(const char *path, const char *what,
                        char ret_why[static STORAGE_TLS_WHY_MAX])
{
    const unsigned long error = ERR_peek_last_error();
    const char *reason = ERR_SYSTEM_ERROR(error) ? NULL : ERR_reason_error_string(error);
    snprintf(ret_why, STORAGE_TLS_WHY_MAX, "%s is not a readable %s in PEM%s%s", path, what,
             reason ? ": " : "", reason ? reason : "");
    return false;
}

/* Gives no passphrase: OpenSSL would otherwise ask for one at the terminal. */
static int give_no_passphrase(char *buffer, int size, int writes, void *context)
{
    (void)writes, (void)context;
    if (size > 0)
        buffer[0] = '\0';
    return -1;
}

static bool load_files(SSL_CTX *shared, const struct storage_tls_files *files,
                       char ret_why[static STORAGE_TLS_WHY_MAX])
{
    SSL_CTX_set_default_passwd_cb(shared, give_no_passphrase);
    if (files->ca ? SSL_CTX_load_verify_locations(shared, files->ca, NULL) != 1
                  : SSL_CTX_set_default_verify_paths(shared) != 1)
        return refuse_file(files->ca ? files->ca : "the system's store", "certificate", ret_why);
    if (!files->cert)
        return true;
    if (SSL_CTX_use_certificate_chain_file(shared, files->cert) != 1)
        return refuse_file(files->cert, "certificate", ret_why);
    if (SSL_CTX_use_PrivateKey_file(shared, files->key, SSL_FILETYPE_PEM) != 1)
        return refuse_file(files->key, "key of that certificate, without a passphrase,", ret_why);
    return true;
}

int storage_tls_new(const struct storage_tls_files *files, struct storage_tls **ret_tls,
                    char ret_why[static STORAGE_TLS_WHY_MAX])
{
    struct storage_tls *tls = calloc(1, sizeof(*tls));
    SSL_CTX *shared = SSL_CTX_new(TLS_client_method());
    int error = tls && shared ? 0 : FENCE_ENOMEM;
    ERR_clear_error();
    if (!error && !load_files(shared, files, ret_why))
        error = FENCE_EINVAL;
    ERR_clear_error();
    if (error) {
        SSL_CTX_free(shared);
        free(tls);
        return error;
    }
    (void)SSL_CTX_set_min_proto_version(shared, TLS1_2_VERSION);
    SSL_CTX_set_verify(shared, SSL_VERIFY_PEER, NULL);
    tls->shared = shared;
    *ret_tls = tls;
    return 0;
}

void storage_tls_free(struct storage_tls *tls)
{
    if (!tls)
        return;
    SSL_CTX_free(tls->shared);
    free(tls);
}

/* ---- a connection ---------------------------------------------------------------------------- */

/* Requires that the certificate is for @host. A name is also sent to the master (SNI). */
static bool expect_host(SSL *ssl, const char *host)
{
    struct in6_addr address;
    if (inet_pton(AF_INET, host, &address) == 1 || inet_pton(AF_INET6, host, &address) == 1)
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1;
    return SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1;
}

/* Reports whether something was wrong with the TLS of @ssl, which failed just now. Writes it to
 * @ret_text.
 */
static bool was_wrong(const SSL *ssl, char *ret_text, size_t cap)
{
    const long verified = SSL_get_verify_result(ssl);
    const unsigned long error = ERR_peek_last_error();
    const char *reason = ERR_SYSTEM_ERROR(error) ? NULL : ERR_reason_error_string(error);
    if (verified != X509_V_OK)
        snprintf(ret_text, cap, "its certificate is not trusted: %s",
                 X509_verify_cert_error_string(verified));
    else if (reason)
        snprintf(ret_text, cap, "TLS: %s", reason);
    ERR_clear_error();
    return verified != X509_V_OK || reason;
}

/* hiredis owns the SSL from here on. Its own setup (redisInitiateSSLWithContext()) would verify the
 * CA, and not the name. The handshake begins here. If the master is quick it may also end here. */
int storage_tls_start(const struct storage_tls *tls, const char *host, redisContext *context,
                      char ret_why[static STORAGE_TLS_WHY_MAX])
{
    SSL *ssl = SSL_new(tls->shared);
    if (ssl && expect_host(ssl, host) && redisInitiateSSL(context, ssl) == REDIS_OK) {
        context->privdata = ssl;
        return 0;
    }
    if (!ssl || !was_wrong(ssl, ret_why, STORAGE_TLS_WHY_MAX))
        snprintf(ret_why, STORAGE_TLS_WHY_MAX, "%s",
                 context->err ? context->errstr : "TLS could not be started");
    SSL_free(ssl);
    return FENCE_EIO;
}

bool storage_tls_is_spoken(const redisContext *context)
{
    return context->privdata != NULL;
}

void storage_tls_forget_errors(void)
{
    ERR_clear_error();
}

bool storage_tls_wrong(const redisContext *context, char *ret_text, size_t cap)
{
    ret_text[0] = '\0';
    return context->privdata && was_wrong(context->privdata, ret_text, cap);
}
