/* A file in PEM that others will read: whether it is whole. */
#ifndef API_TLS_CHECK_H
#define API_TLS_CHECK_H

#include "api/tls/bounds.h"
#include "fence/protocol/error.h"

/* Reads the file @path and says whether it may be used: FENCE_EINVAL where it cannot be read, or
 * looks half written. The text @what begins the sentence @ret_why. FENCE_ENOMEM. */
FENCE_CHECKED int api_tls_check_file(const char *what, const char *path,
                                     char ret_why[static API_TLS_WHY_MAX]);

#endif
