/* A file in PEM, read as a whole. Private to api/tls/. */
#ifndef API_TLS_PEM_H
#define API_TLS_PEM_H

#include "api/tls/bounds.h"
#include "fence/protocol/error.h"

#include <gnutls/gnutls.h>

/* Writes "@what @path: @why" to @ret_why. Always FENCE_EINVAL. */
FENCE_CHECKED int api_tls_tell(char ret_why[static API_TLS_WHY_MAX], const char *what,
                               const char *path, const char *why);

/* Reads the file @path; api_tls_pem_wipe() is the caller's duty. FENCE_EINVAL: the file cannot be
 * read, is too large, or looks half written: the last line does not end, a block has no end, or
 * text follows the last block. FENCE_ENOMEM. */
FENCE_CHECKED int api_tls_pem_read(const char *what, const char *path, gnutls_datum_t *ret_data,
                                   char ret_why[static API_TLS_WHY_MAX]);

/* Overwrites and frees. */
void api_tls_pem_wipe(gnutls_datum_t *data);

#endif
