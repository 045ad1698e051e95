/* The TLS session of one connection, on the service's side: the calls of a non-blocking socket,
 * with the handshake inside the first reads. One thread at a time. */
#ifndef API_TLS_SESSION_H
#define API_TLS_SESSION_H

#include "api/tls/bounds.h"
#include "fence/protocol/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct api_tls;
struct api_tls_session;

enum api_tls_state {
    API_TLS_BEGINS, /* nothing came yet, or the handshake is under way */
    API_TLS_STANDS,
    API_TLS_PLAIN,  /* the bytes are not TLS */
    API_TLS_FAILED, /* the handshake, or a record */
};

/* A session on the socket @fd, which stays the caller's, with the keys that @tls has now. @tls is
 * borrowed. FENCE_ENOMEM. */
FENCE_CHECKED int api_tls_session_new(struct api_tls *tls, int fd,
                                      struct api_tls_session **ret_session);

/* Frees the session without sending anything to the client. NULL is fine. */
void api_tls_session_free(struct api_tls_session *session);

/* Continues the handshake. Returns true if it is done, or failed; see the state. It reads no byte
 * behind the handshake. */
bool api_tls_session_greet(struct api_tls_session *session);

/* As recv(2): continues the handshake, then reads the client's bytes. It asks the kernel for bytes
 * until there are none, so it fits an edge-triggered socket. 0: the client said goodbye, or has
 * disconnected. -1 with EAGAIN, or with EPROTO: see the state. */
ssize_t api_tls_session_read(struct api_tls_session *session, void *buffer, size_t size);

/* Reports whether a next read can only say EAGAIN before the kernel has more. */
bool api_tls_session_is_drained(const struct api_tls_session *session);

/* send(2). After EAGAIN the same bytes have to be given again. May send less. */
ssize_t api_tls_session_write(struct api_tls_session *session, const void *bytes, size_t size);

/* Sends the bytes that EAGAIN left. Returns false if they still cannot be sent. */
bool api_tls_session_flush(struct api_tls_session *session);

/* Says goodbye (close_notify), once, as far as the kernel takes it. */
void api_tls_session_end(struct api_tls_session *session);

enum api_tls_state api_tls_session_state(const struct api_tls_session *session);

/* Returns why the state is FAILED, as a sentence without a full stop; "" if the client just
 * disconnected. */
const char *api_tls_session_why(const struct api_tls_session *session);

/* The common name in the client's certificate, which was verified; "" without one. */
const char *api_tls_session_subject(const struct api_tls_session *session);

#endif
