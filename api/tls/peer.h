/* The check of a client's certificate. Private to api/tls/. */
#ifndef API_TLS_PEER_H
#define API_TLS_PEER_H

#include "api/tls/bounds.h"
#include "fence/protocol/error.h"

#include <gnutls/gnutls.h>

struct api_tls_files;

/* Checks the certificate that the client of @session presented. It is accepted if
 * - a CA in the CA file signed it directly: CAs that the client sent do not count; otherwise any
 *   certificate that may sign could sign one with another name;
 * - it may not sign;
 * - it is valid now, and is for clients if it has a purpose;
 * - it has at most one common name, of plain text.
 *
 * Returns 0: @ret_subject is the common name, "" for none or one that is too long. A negative error
 * of GnuTLS: @ret_why is a sentence without a full stop. */
FENCE_CHECKED int api_tls_peer_verify(gnutls_session_t session, const struct api_tls_files *files,
                                      char ret_subject[static API_TLS_SUBJECT_MAX],
                                      char ret_why[static API_TLS_PEER_WHY_MAX]);

#endif
