#include "api/tls/keys.h"

#include "api/tls/files.h"
#include "api/tls/pem.h"
#include "api/tls/signing.h"

#include <assert.h>
#include <gnutls/x509.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct api_tls {
    struct api_tls_config config; /* its strings are owned */
    pthread_mutex_t lock;
    struct api_tls_files *latest;
};

/* ---- one reading ----------------------------------------------------------------------------- */

/* The state of the chain's first certificate now. */
static const char *find_date_fault(gnutls_x509_crt_t cert)
{
    const time_t now = time(NULL);
    if (gnutls_x509_crt_get_expiration_time(cert) < now)
        return "the certificate has expired; create a new one";
    if (gnutls_x509_crt_get_activation_time(cert) > now)
        return "the certificate is not valid yet; check its dates and this machine's clock";
    return NULL;
}

/* Logs a warning. The service continues: a refused restart would stop all locks, and this machine
 * already has the key. */
static void warn_of(const struct api_tls_config *config, const char *what, const char *path,
                    const char *why)
{
    char sentence[API_TLS_WHY_MAX];
    (void)snprintf(sentence, sizeof(sentence), "%s %s: %s", what, path, why);
    if (config->warn != NULL)
        config->warn(sentence);
}

/* Reports whether @issuer, by its name, signed @cert. */
static bool is_issuer_of(gnutls_x509_crt_t issuer, gnutls_x509_crt_t cert)
{
    return gnutls_x509_crt_check_issuer(cert, issuer) != 0;
}

/* Reports whether the earlier chain had one more certificate at this place: a cut between two
 * certificates leaves a file that looks whole. */
static bool lacks_issuer(const struct api_tls_files *files, const struct api_tls_files *before)
{
    assert(files->chain_count > 0);
    gnutls_x509_crt_t last = files->chain[files->chain_count - 1];
    if (before == NULL || is_issuer_of(last, last))
        return false;
    for (unsigned i = 1; i < before->chain_count; i++)
        if (is_issuer_of(before->chain[i], last))
            return true;
    return false;
}

static const char *find_chain_fault(const struct api_tls_files *files,
                                    const struct api_tls_files *before)
{
    const char *fault = files->chain_count > API_TLS_CHAIN_MAX ? "the chain is too long" : NULL;
    for (unsigned i = 0; i < files->chain_count && fault == NULL; i++)
        fault = find_date_fault(files->chain[i]);
    if (fault == NULL && lacks_issuer(files, before))
        fault = "the intermediate CA is missing, but the old file had it: the file may be "
                "truncated; write a complete new file, and rename it over this file";
    return fault;
}

static int load_chain(struct api_tls_files *files, const struct api_tls_config *config,
                      const gnutls_datum_t *data, const struct api_tls_files *before,
                      char ret_why[static API_TLS_WHY_MAX])
{
    const int error = gnutls_x509_crt_list_import2(&files->chain, &files->chain_count, data,
                                                   GNUTLS_X509_FMT_PEM, 0);
    if (error < 0 || files->chain_count == 0)
        return api_tls_tell(ret_why, "the certificate", config->cert,
                            "it is not a certificate in PEM");
    const char *fault = find_chain_fault(files, before);
    if (fault != NULL)
        return api_tls_tell(ret_why, "the certificate", config->cert, fault);
    if (api_tls_may_sign(files->chain[0]))
        warn_of(config, "the certificate", config->cert,
                "it can sign other certificates (CA:TRUE); create the certificate again with "
                "CA:FALSE (server/TLS.md)");
    return 0;
}

static const char *key_fault(int error)
{
    switch (error) {
    case GNUTLS_E_CERTIFICATE_KEY_MISMATCH:
        return "the key does not match the certificate";
    case GNUTLS_E_DECRYPTION_FAILED:
        return "the key is encrypted; use a key that is not encrypted";
    default:
        return "it is not a usable key in PEM";
    }
}

static int load_pair(struct api_tls_files *files, const struct api_tls_config *config,
                     const struct api_tls_files *before, char ret_why[static API_TLS_WHY_MAX])
{
    gnutls_datum_t cert = {.data = NULL}, key = {.data = NULL};
    int result = api_tls_pem_read("the certificate", config->cert, &cert, ret_why);
    if (result == 0)
        result = load_chain(files, config, &cert, before, ret_why);
    if (result == 0)
        result = api_tls_pem_read("the key", config->key, &key, ret_why);
    if (result == 0) {
        const int error = gnutls_certificate_set_x509_key_mem2(files->credentials, &cert, &key,
                                                               GNUTLS_X509_FMT_PEM, NULL, 0);
        if (error < 0)
            result = api_tls_tell(ret_why, "the key", config->key, key_fault(error));
    }
    api_tls_pem_wipe(&cert);
    api_tls_pem_wipe(&key);
    return result;
}

/* The path length bounds what other programs trust. This service trusts no intermediate CA
 * (peer.h), for any path length. */
static void check_authorities(const struct api_tls_config *config, const gnutls_datum_t *data)
{
    gnutls_x509_crt_t *certs = NULL;
    unsigned count = 0;
    bool unbounded = false;
    if (gnutls_x509_crt_list_import2(&certs, &count, data, GNUTLS_X509_FMT_PEM, 0) < 0)
        return;
    for (unsigned i = 0; i < count; i++) {
        unbounded = unbounded || api_tls_signs_without_end(certs[i]);
        gnutls_x509_crt_deinit(certs[i]);
    }
    gnutls_free(certs);
    if (unbounded)
        warn_of(config, "the client CA", config->client_ca,
                "it has no path length limit, so it could sign a certificate that signs further "
                "certificates; renew the CA with pathlen:0 (server/TLS.md)");
}

static int load_client_ca(struct api_tls_files *files, const struct api_tls_config *config,
                          char ret_why[static API_TLS_WHY_MAX])
{
    gnutls_datum_t data = {NULL, 0};
    assert(files->credentials != NULL && !files->asks);
    if (config->client_ca == NULL)
        return 0;
    int result = api_tls_pem_read("the client CA", config->client_ca, &data, ret_why);
    if (result == 0 &&
        gnutls_certificate_set_x509_trust_mem(files->credentials, &data, GNUTLS_X509_FMT_PEM) < 1)
        result = api_tls_tell(ret_why, "the client CA", config->client_ca,
                              "it has no certificate in PEM");
    if (result == 0)
        check_authorities(config, &data);
    api_tls_pem_wipe(&data);
    files->asks = true;
    files->optional = config->client_optional;
    return result;
}

/* The minimum holds for any setting. */
static const char *find_weakness(gnutls_priority_t priorities)
{
    const unsigned *list = NULL;
    int count = gnutls_priority_protocol_list(priorities, &list);
    for (int i = 0; i < count; i++)
        if (list[i] < GNUTLS_TLS1_2)
            return "TLS before 1.2";
    count = gnutls_priority_cipher_list(priorities, &list);
    for (int i = 0; i < count; i++)
        if (list[i] == GNUTLS_CIPHER_NULL || list[i] == GNUTLS_CIPHER_ARCFOUR_128 ||
            list[i] == GNUTLS_CIPHER_3DES_CBC)
            return "a cipher that is broken";
    return NULL;
}

static int load_priorities(struct api_tls_files *files, const char *text,
                           char ret_why[static API_TLS_WHY_MAX])
{
    const char *at = NULL;
    if (gnutls_priority_init(&files->priorities, text, &at) < 0) {
        files->priorities = NULL;
        (void)snprintf(ret_why, API_TLS_WHY_MAX,
                       "GnuTLS rejects the priority string from '%.40s' on",
                       at != NULL ? at : text);
        return FENCE_EINVAL;
    }
    const char *weakness = find_weakness(files->priorities);
    if (weakness == NULL)
        return 0;
    (void)snprintf(ret_why, API_TLS_WHY_MAX,
                   "the priorities allow %s; remove that, as in NORMAL:-VERS-ALL:+VERS-TLS1.3",
                   weakness);
    return FENCE_EINVAL;
}

static void files_free(struct api_tls_files *files)
{
    if (files == NULL)
        return;
    if (files->credentials != NULL)
        gnutls_certificate_free_credentials(files->credentials);
    for (unsigned i = 0; i < files->chain_count; i++)
        gnutls_x509_crt_deinit(files->chain[i]);
    gnutls_free(files->chain);
    if (files->priorities != NULL)
        gnutls_priority_deinit(files->priorities);
    free(files);
}

/* @before: what is in force, which stays the caller's; NULL: nothing. */
static int files_new(const struct api_tls_config *config, const struct api_tls_files *before,
                     struct api_tls_files **ret_files, char ret_why[static API_TLS_WHY_MAX])
{
    int result = FENCE_ENOMEM;
    struct api_tls_files *files = calloc(1, sizeof(*files));
    if (files == NULL || gnutls_certificate_allocate_credentials(&files->credentials) < 0)
        goto out;
    files->users = 1;
    assert(config->priorities != NULL && config->cert != NULL && config->key != NULL);
    result = load_priorities(files, config->priorities, ret_why);
    if (result == 0)
        result = load_pair(files, config, before, ret_why);
    if (result == 0)
        result = load_client_ca(files, config, ret_why);
    if (result != 0)
        goto out;
    *ret_files = files;
    files = NULL;
out:
    files_free(files);
    return result;
}

/* ---- users ----------------------------------------------------------------------------------- */

struct api_tls_files *api_tls_files_take(struct api_tls *tls)
{
    (void)pthread_mutex_lock(&tls->lock);
    struct api_tls_files *files = tls->latest;
    assert(files != NULL && files->users > 0);
    files->users++;
    (void)pthread_mutex_unlock(&tls->lock);
    return files;
}

void api_tls_files_give_back(struct api_tls *tls, struct api_tls_files *files)
{
    (void)pthread_mutex_lock(&tls->lock);
    assert(files->users > 0);
    const bool unused = --files->users == 0;
    (void)pthread_mutex_unlock(&tls->lock);
    if (unused)
        files_free(files);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static char *copy(const char *text)
{
    return text != NULL ? strdup(text) : NULL;
}

static bool copy_config(const struct api_tls_config *from, struct api_tls_config *to)
{
    *to = (struct api_tls_config){
        .cert = copy(from->cert),
        .key = copy(from->key),
        .client_ca = copy(from->client_ca),
        .client_optional = from->client_optional,
        .warn = from->warn,
        .priorities = copy(from->priorities != NULL ? from->priorities : API_TLS_PRIORITIES),
    };
    return to->cert != NULL && to->key != NULL && to->priorities != NULL &&
           (to->client_ca != NULL) == (from->client_ca != NULL);
}

int api_tls_new(const struct api_tls_config *config, struct api_tls **ret_tls,
                char ret_why[static API_TLS_WHY_MAX])
{
    int result = FENCE_ENOMEM;
    ret_why[0] = '\0';
    struct api_tls *tls = calloc(1, sizeof(*tls));
    if (tls == NULL)
        return FENCE_ENOMEM;
    (void)pthread_mutex_init(&tls->lock, NULL);
    if (!copy_config(config, &tls->config))
        goto out;
    result = files_new(&tls->config, NULL, &tls->latest, ret_why);
    if (result != 0)
        goto out;
    *ret_tls = tls;
    tls = NULL;
out:
    api_tls_free(tls);
    return result;
}

int api_tls_reload(struct api_tls *tls, char ret_why[static API_TLS_WHY_MAX])
{
    struct api_tls_files *fresh = NULL;
    ret_why[0] = '\0';
    struct api_tls_files *before = api_tls_files_take(tls);
    const int result = files_new(&tls->config, before, &fresh, ret_why);
    api_tls_files_give_back(tls, before);
    if (result != 0)
        return result;
    (void)pthread_mutex_lock(&tls->lock);
    struct api_tls_files *old = tls->latest;
    tls->latest = fresh;
    (void)pthread_mutex_unlock(&tls->lock);
    api_tls_files_give_back(tls, old);
    return 0;
}

void api_tls_free(struct api_tls *tls)
{
    if (tls == NULL)
        return;
    if (tls->latest != NULL)
        api_tls_files_give_back(tls, tls->latest);
    (void)pthread_mutex_destroy(&tls->lock);
    free((char *)tls->config.cert);
    free((char *)tls->config.key);
    free((char *)tls->config.client_ca);
    free((char *)tls->config.priorities);
    free(tls);
}
