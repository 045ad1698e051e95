/* Checks whether a PEM file that other programs will read is complete. */
#ifndef API_TLS_CHECK_H
#define API_TLS_CHECK_H

#include "api/tls/bounds.h"
#include "fence/protocol/error.h"

/* Checks whether the file @path may be used. FENCE_EINVAL: it cannot be read, or looks half
 * written; @ret_why is a sentence that begins with @what. FENCE_ENOMEM. */
FENCE_CHECKED int api_tls_check_file(const char *what, const char *path,
                                     char ret_why[static API_TLS_WHY_MAX]);

#endif
