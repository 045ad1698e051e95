/* Which certificates may sign others. Private to api/tls/. */
#ifndef API_TLS_SIGNING_H
#define API_TLS_SIGNING_H

#include <gnutls/x509.h>
#include <stdbool.h>

/* Reports CA:TRUE, or a key usage with keyCertSign. */
bool api_tls_may_sign(gnutls_x509_crt_t cert);

/* Reports whether a CA may make further CAs: its certificate has no path length. */
bool api_tls_signs_without_end(gnutls_x509_crt_t cert);

#endif
