#include "scripts/bench.d/programs/hello.h"

#include <err.h>
#include <errno.h>
#include <gnutls/gnutls.h>
#include <string.h>

enum {
    HELLO_MAX = 4096,
};

struct recorded {
    char bytes[HELLO_MAX];
    size_t len;
    gnutls_session_t session;
};

static ssize_t keep(gnutls_transport_ptr_t context, const void *bytes, size_t size)
{
    struct recorded *recorded = context;
    if (recorded->len + size > HELLO_MAX)
        errx(1, "a TLS hello is longer than %d bytes", HELLO_MAX);
    memcpy(recorded->bytes + recorded->len, bytes, size);
    recorded->len += size;
    return (ssize_t)size;
}

static ssize_t nothing_came(gnutls_transport_ptr_t context, void *buffer, size_t size)
{
    const struct recorded *recorded = context;
    (void)buffer, (void)size;
    gnutls_transport_set_errno(recorded->session, EAGAIN);
    return -1;
}

size_t hello_write(char *bytes, size_t size)
{
    struct recorded recorded = {.len = 0};
    gnutls_certificate_credentials_t credentials = NULL;
    if (gnutls_init(&recorded.session, GNUTLS_CLIENT | GNUTLS_NONBLOCK) != 0 ||
        gnutls_certificate_allocate_credentials(&credentials) != 0 ||
        gnutls_priority_set_direct(recorded.session, "NORMAL", NULL) != 0 ||
        gnutls_credentials_set(recorded.session, GNUTLS_CRD_CERTIFICATE, credentials) != 0)
        errx(1, "GnuTLS cannot make a session");
    gnutls_transport_set_ptr(recorded.session, &recorded);
    gnutls_transport_set_push_function(recorded.session, keep);
    gnutls_transport_set_pull_function(recorded.session, nothing_came);
    if (gnutls_handshake(recorded.session) != GNUTLS_E_AGAIN)
        errx(1, "GnuTLS wrote no hello");
    gnutls_deinit(recorded.session);
    gnutls_certificate_free_credentials(credentials);
    if (recorded.len > size)
        errx(1, "a TLS hello is longer than %zu bytes", size);
    memcpy(bytes, recorded.bytes, recorded.len);
    return recorded.len;
}
