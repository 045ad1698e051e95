/* One reading of the files. It lives as long as a session needs it. Private to api/tls/. */
#ifndef API_TLS_FILES_H
#define API_TLS_FILES_H

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdbool.h>

struct api_tls;

struct api_tls_files {
    unsigned users; /* guarded by the lock of its struct api_tls */
    gnutls_certificate_credentials_t credentials;
    gnutls_priority_t priorities;
    gnutls_x509_crt_t *chain; /* the service's own */
    unsigned chain_count;
    bool asks;     /* the service asks clients for a certificate */
    bool optional; /* clients may have none */
};

/* The latest one; it is given back once. Any thread. */
struct api_tls_files *api_tls_files_take(struct api_tls *tls);
void api_tls_files_give_back(struct api_tls *tls, struct api_tls_files *files);

#endif
