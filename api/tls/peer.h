/* The certificate of a client: who is believed. Private to api/tls/. */
#ifndef API_TLS_PEER_H
#define API_TLS_PEER_H

#include "api/tls/bounds.h"
#include "fence/protocol/error.h"

#include <gnutls/gnutls.h>

struct api_tls_files;

/* Looks at what the client of @session presented. Believed is a certificate that
 * - an authority of the CA file signed itself: authorities that the client sent count for nothing;
 *   or anybody whose certificate may sign could sign one with another name;
 * - may not sign;
 * - is valid now, and is for clients where it has a purpose;
 * - has at most one common name, of plain text.
 *
 * 0: @ret_subject is the common name, "" for none or one that is too long. A negative error of
 * GnuTLS: @ret_why is a sentence without a full stop. */
FENCE_CHECKED int api_tls_peer_verify(gnutls_session_t session, const struct api_tls_files *files,
                                      char ret_subject[static API_TLS_SUBJECT_MAX],
                                      char ret_why[static API_TLS_PEER_WHY_MAX]);

#endif
