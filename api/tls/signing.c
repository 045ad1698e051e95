#include "api/tls/signing.h"

#include <stddef.h>

static bool is_authority(gnutls_x509_crt_t cert, int *ret_path_length)
{
    unsigned critical = 0, authority = 0;
    *ret_path_length = -1;
    return gnutls_x509_crt_get_basic_constraints(cert, &critical, &authority, ret_path_length) >=
               0 &&
           authority != 0;
}

bool api_tls_may_sign(gnutls_x509_crt_t cert)
{
    int path_length = -1;
    unsigned usage = 0, critical = 0;
    if (is_authority(cert, &path_length))
        return true;
    return gnutls_x509_crt_get_key_usage(cert, &usage, &critical) == 0 &&
           (usage & GNUTLS_KEY_KEY_CERT_SIGN) != 0;
}

bool api_tls_signs_without_end(gnutls_x509_crt_t cert)
{
    int path_length = -1;
    return is_authority(cert, &path_length) && path_length < 0;
}
