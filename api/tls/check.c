#include "api/tls/check.h"

#include "api/tls/pem.h"

int api_tls_check_file(const char *what, const char *path, char ret_why[static API_TLS_WHY_MAX])
{
    gnutls_datum_t data = {NULL, 0};
    const int result = api_tls_pem_read(what, path, &data, ret_why);
    api_tls_pem_wipe(&data);
    return result;
}
