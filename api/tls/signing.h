/* Which certificates may sign others. Private to api/tls/. */
#ifndef API_TLS_SIGNING_H
#define API_TLS_SIGNING_H

#include <gnutls/x509.h>
#include <stdbool.h>

/* CA:TRUE, or a key usage with keyCertSign. */
bool api_tls_may_sign(gnutls_x509_crt_t cert);

/* An authority whose certificate lets it make further authorities: no path length. */
bool api_tls_signs_without_end(gnutls_x509_crt_t cert);

#endif
