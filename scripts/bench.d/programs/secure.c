#include "scripts/bench.d/programs/secure.h"

#include <err.h>
#include <errno.h>
#include <gnutls/gnutls.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum {
    AHEAD_BYTES = 4096
};

struct secure {
    gnutls_session_t session;
    int fd;
    bool stands; /* the handshake is over, and nothing waits any more */
    size_t begin, end;
    char ahead[AHEAD_BYTES];
};

/* Reads ahead, so that a record takes one system call and not two. */
static ssize_t pull_ahead(gnutls_transport_ptr_t context, void *buffer, size_t size)
{
    struct secure *secure = context;
    if (secure->begin == secure->end) {
        const ssize_t got = recv(secure->fd, secure->ahead, sizeof(secure->ahead),
                                 secure->stands ? MSG_DONTWAIT : 0);
        if (got <= 0) {
            gnutls_transport_set_errno(secure->session, errno);
            return got;
        }
        secure->begin = 0;
        secure->end = (size_t)got;
    }
    const size_t have = secure->end - secure->begin;
    const size_t taken = size < have ? size : have;
    memcpy(buffer, secure->ahead + secure->begin, taken);
    secure->begin += taken;
    return (ssize_t)taken;
}

static ssize_t push_through(gnutls_transport_ptr_t context, const void *bytes, size_t size)
{
    const struct secure *secure = context;
    return send(secure->fd, bytes, size, MSG_NOSIGNAL);
}

struct secure *secure_new(int fd)
{
    static gnutls_certificate_credentials_t nobody;
    struct secure *secure = calloc(1, sizeof(*secure));
    if (secure == NULL || (nobody == NULL && gnutls_certificate_allocate_credentials(&nobody) < 0))
        err(1, "cannot start");
    secure->fd = fd;
    if (gnutls_init(&secure->session, GNUTLS_CLIENT | GNUTLS_NO_SIGNAL) < 0 ||
        gnutls_set_default_priority(secure->session) < 0 ||
        gnutls_credentials_set(secure->session, GNUTLS_CRD_CERTIFICATE, nobody) < 0)
        errx(1, "cannot set up TLS");
    gnutls_transport_set_ptr(secure->session, secure);
    gnutls_transport_set_pull_function(secure->session, pull_ahead);
    gnutls_transport_set_push_function(secure->session, push_through);
    gnutls_handshake_set_timeout(secure->session, 0);
    int error = 0;
    do
        error = gnutls_handshake(secure->session);
    while (error < 0 && !gnutls_error_is_fatal(error));
    if (error < 0)
        errx(1, "the service does not shake hands: %s", gnutls_strerror(error));
    secure->stands = true;
    return secure;
}

void secure_free(struct secure *secure)
{
    if (secure == NULL)
        return;
    gnutls_deinit(secure->session);
    free(secure);
}

bool secure_send(struct secure *secure, const char *bytes, size_t len)
{
    return gnutls_record_send(secure->session, bytes, len) == (ssize_t)len;
}

ssize_t secure_receive(struct secure *secure, char *buffer, size_t size)
{
    const ssize_t got = gnutls_record_recv(secure->session, buffer, size);
    if (got >= 0)
        return got;
    errno = got == GNUTLS_E_AGAIN || got == GNUTLS_E_INTERRUPTED ? EAGAIN : EPROTO;
    return -1;
}

bool secure_has_more(const struct secure *secure)
{
    return secure->begin < secure->end || gnutls_record_check_pending(secure->session) > 0;
}
