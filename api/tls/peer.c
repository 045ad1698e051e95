#include "api/tls/peer.h"

#include "api/tls/files.h"
#include "api/tls/signing.h"

#include <assert.h>
#include <gnutls/x509.h>
#include <stdio.h>
#include <string.h>

static int refuse_peer(char ret_why[static API_TLS_PEER_WHY_MAX], const char *why)
{
    (void)snprintf(ret_why, API_TLS_PEER_WHY_MAX, "a client's certificate was rejected: %.200s",
                   why);
    return GNUTLS_E_CERTIFICATE_ERROR;
}

static int refuse_status(char ret_why[static API_TLS_PEER_WHY_MAX], unsigned status)
{
    gnutls_datum_t text = {.data = NULL};
    (void)gnutls_certificate_verification_status_print(status, GNUTLS_CRT_X509, &text, 0);
    const int result =
        refuse_peer(ret_why, text.data != NULL ? (const char *)text.data : "it is not valid");
    gnutls_free(text.data);
    return result;
}

/* ---- the chain ------------------------------------------------------------------------------- */

/* Reports whether @cert alone leads to the CA file, without what else the client sent. */
static bool is_signed_by_file(const struct api_tls_files *files, gnutls_x509_crt_t cert)
{
    gnutls_x509_trust_list_t trusted = NULL;
    unsigned status = 0;
    gnutls_certificate_get_trust_list(files->credentials, &trusted);
    return gnutls_x509_trust_list_verify_crt2(trusted, &cert, 1, NULL, 0, 0, &status, NULL) == 0 &&
           status == 0;
}

static int verify_chain(gnutls_session_t session, const struct api_tls_files *files,
                        gnutls_x509_crt_t cert, unsigned count,
                        char ret_why[static API_TLS_PEER_WHY_MAX])
{
    assert(count > 0);
    gnutls_typed_vdata_st purpose = {
        .type = GNUTLS_DT_KEY_PURPOSE_OID,
        .data = (unsigned char *)GNUTLS_KP_TLS_WWW_CLIENT,
    };
    unsigned status = 0;
    const int error = gnutls_certificate_verify_peers(session, &purpose, 1, &status);
    if (error != 0 || status != 0)
        return refuse_status(ret_why, status);
    if (count > 1 && !is_signed_by_file(files, cert))
        return refuse_peer(ret_why, "no CA of the CA file signed it directly; add its CA to the "
                                    "file of --tls-client-ca");
    return 0;
}

static int check_signs_nothing(gnutls_x509_crt_t cert, const char *subject,
                               char ret_why[static API_TLS_PEER_WHY_MAX])
{
    char why[API_TLS_PEER_WHY_MAX];
    if (!api_tls_may_sign(cert))
        return 0;
    (void)snprintf(why, sizeof(why),
                   "'%s' can sign other certificates (CA:TRUE); create the certificate again "
                   "with CA:FALSE (server/TLS.md)",
                   subject);
    return refuse_peer(ret_why, why);
}

/* ---- the name -------------------------------------------------------------------------------- */

/* GnuTLS writes "#" and hexadecimal digits for what is no text, such as a name with a NUL in it. */
static bool is_plain_name(const char *name, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)name[i] < ' ' || name[i] == 0x7f)
            return false;
    return size > 0 && name[0] != '#';
}

/* The common name number @index. */
static int name_at(gnutls_x509_crt_t cert, unsigned index, char *ret_name, size_t *size)
{
    return gnutls_x509_crt_get_dn_by_oid(cert, GNUTLS_OID_X520_COMMON_NAME, index, 0, ret_name,
                                         size);
}

static int take_subject(gnutls_x509_crt_t cert, char ret_subject[static API_TLS_SUBJECT_MAX],
                        char ret_why[static API_TLS_PEER_WHY_MAX])
{
    char name[API_TLS_SUBJECT_MAX], second[API_TLS_SUBJECT_MAX];
    size_t size = sizeof(name), second_size = sizeof(second);
    ret_subject[0] = '\0';
    if (name_at(cert, 1, second, &second_size) != GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE)
        return refuse_peer(ret_why,
                           "it has more than one common name; create one with a single name");
    const int error = name_at(cert, 0, name, &size);
    if (error == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE || error == GNUTLS_E_SHORT_MEMORY_BUFFER)
        return 0;
    if (error != 0 || !is_plain_name(name, size))
        return refuse_peer(ret_why, "its common name is empty or not plain text");
    assert(size < API_TLS_SUBJECT_MAX);
    memcpy(ret_subject, name, size);
    ret_subject[size] = '\0';
    return 0;
}

/* ---- all of it ------------------------------------------------------------------------------- */

int api_tls_peer_verify(gnutls_session_t session, const struct api_tls_files *files,
                        char ret_subject[static API_TLS_SUBJECT_MAX],
                        char ret_why[static API_TLS_PEER_WHY_MAX])
{
    unsigned count = 0;
    gnutls_x509_crt_t cert = NULL;
    assert(files->asks);
    const gnutls_datum_t *peers = gnutls_certificate_get_peers(session, &count);
    ret_subject[0] = '\0';
    if (count == 0 && files->optional)
        return 0;
    if (peers == NULL || count == 0) {
        (void)snprintf(ret_why, API_TLS_PEER_WHY_MAX, "a client presented no certificate");
        return GNUTLS_E_NO_CERTIFICATE_FOUND;
    }
    int result = gnutls_x509_crt_init(&cert);
    if (result < 0)
        return result;
    result = gnutls_x509_crt_import(cert, &peers[0], GNUTLS_X509_FMT_DER);
    if (result < 0)
        (void)refuse_peer(ret_why, "it cannot be read");
    if (result == 0)
        result = verify_chain(session, files, cert, count, ret_why);
    if (result == 0)
        result = take_subject(cert, ret_subject, ret_why);
    if (result == 0)
        result = check_signs_nothing(cert, ret_subject, ret_why);
    gnutls_x509_crt_deinit(cert);
    return result;
}
