#include "api/tls/session.h"

#include "api/tls/files.h"
#include "api/tls/peer.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum {
    AHEAD_SIZE = 2048,       /* bytes read at once: GnuTLS asks for a record's head and its rest */
    HANDSHAKE_RECORD = 0x16, /* RFC 8446, section 5.1 */
    HANDSHAKE_MAX = 128 * 1024, /* bytes of a handshake, both ways: chains, names of authorities */
    WARNINGS_MAX = 8,           /* warning alerts before one read ends */
    SESSION_WHY_MAX = 256,
};

struct api_tls_session {
    struct api_tls *tls;
    struct api_tls_files *files;
    gnutls_session_t session;
    int fd;
    enum api_tls_state state;
    bool began;          /* something came */
    bool short_of;       /* the kernel had fewer bytes than requested */
    bool ended;          /* goodbye was said */
    size_t stuck;        /* bytes that GnuTLS accepted and could not send yet */
    unsigned begin, end; /* in ahead */
    char why[SESSION_WHY_MAX];
    char subject[API_TLS_SUBJECT_MAX];
    char ahead[AHEAD_SIZE];
};

/* ---- the socket ------------------------------------------------------------------------------ */

static ssize_t pull_failed(struct api_tls_session *session, int error)
{
    gnutls_transport_set_errno(session->session, error);
    return -1;
}

/* Reads ahead, so that a record takes one system call. Not during the handshake: the request behind
 * it must stay in the kernel, where libmicrohttpd notices it. */
static ssize_t fill_ahead(struct api_tls_session *session, size_t wanted)
{
    const size_t most = session->state == API_TLS_BEGINS && wanted < sizeof(session->ahead)
                            ? wanted
                            : sizeof(session->ahead);
    const ssize_t got = recvfrom(session->fd, session->ahead, most, MSG_DONTWAIT, NULL, NULL);
    if (got <= 0)
        return got;
    assert(session->begin == session->end && (size_t)got <= most);
    session->begin = 0;
    session->end = (unsigned)got;
    session->short_of = (size_t)got < most;
    if (!session->began && session->ahead[0] != HANDSHAKE_RECORD) {
        session->state = API_TLS_PLAIN;
        errno = EPROTO;
        return -1;
    }
    session->began = true;
    return got;
}

static ssize_t pull(gnutls_transport_ptr_t context, void *buffer, size_t size)
{
    struct api_tls_session *session = context;
    assert(session->begin <= session->end && session->end <= sizeof(session->ahead));
    if (session->begin == session->end) {
        if (session->short_of)
            return pull_failed(session, EAGAIN);
        const ssize_t got = fill_ahead(session, size);
        if (got <= 0)
            return got < 0 ? pull_failed(session, errno) : 0;
    }
    const size_t have = session->end - session->begin;
    const size_t taken = size < have ? size : have;
    memcpy(buffer, session->ahead + session->begin, taken);
    session->begin += (unsigned)taken;
    return (ssize_t)taken;
}

static ssize_t push(gnutls_transport_ptr_t context, const void *bytes, size_t size)
{
    struct api_tls_session *session = context;
    const ssize_t sent = sendto(session->fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL, NULL, 0);
    return sent >= 0 ? sent : pull_failed(session, errno);
}

/* ---- who the client is ----------------------------------------------------------------------- */

static void note_why(struct api_tls_session *session, const char *text)
{
    if (session->why[0] != '\0')
        return;
    (void)snprintf(session->why, sizeof(session->why), "%s", text);
    for (size_t len = strlen(session->why); len > 0 && strchr(" .", session->why[len - 1]); len--)
        session->why[len - 1] = '\0';
}

/* GnuTLS calls this during the handshake, which fails if this returns an error. */
static int verify_client(gnutls_session_t raw)
{
    struct api_tls_session *session = gnutls_session_get_ptr(raw);
    assert(session->session == raw && session->files->asks);
    char why[API_TLS_PEER_WHY_MAX] = "";
    const int error = api_tls_peer_verify(raw, session->files, session->subject, why);
    if (error < 0 && why[0] != '\0')
        note_why(session, why);
    return error;
}

/* ---- the handshake --------------------------------------------------------------------------- */

static bool is_warning(int error)
{
    return error == GNUTLS_E_WARNING_ALERT_RECEIVED || error == GNUTLS_E_INTERRUPTED;
}

static ssize_t fail_with(struct api_tls_session *session, int error)
{
    if (session->state != API_TLS_PLAIN)
        session->state = API_TLS_FAILED;
    if (error == GNUTLS_E_AGAIN)
        note_why(session, "a client does not read the data of the TLS handshake");
    else if (error != GNUTLS_E_PREMATURE_TERMINATION && error != GNUTLS_E_PULL_ERROR &&
             error != GNUTLS_E_PUSH_ERROR)
        note_why(session, gnutls_strerror(error));
    errno = EPROTO;
    return -1;
}

/* The flight of the service fits into what a fresh socket takes. A client that does not read it
 * hinders only itself. */
static ssize_t run_handshake(struct api_tls_session *session)
{
    int error = GNUTLS_E_WARNING_ALERT_RECEIVED;
    assert(session->state == API_TLS_BEGINS);
    for (int i = 0; i < WARNINGS_MAX && is_warning(error); i++)
        error = gnutls_handshake(session->session);
    if (error == GNUTLS_E_AGAIN && gnutls_record_get_direction(session->session) == 0) {
        errno = EAGAIN;
        return -1;
    }
    if (error < 0) {
        if (session->state != API_TLS_PLAIN && error != GNUTLS_E_AGAIN)
            (void)gnutls_alert_send_appropriate(session->session, error);
        return fail_with(session, error);
    }
    assert(session->state == API_TLS_BEGINS);
    session->state = API_TLS_STANDS;
    return 1;
}

static int set_up_session(struct api_tls_session *session)
{
    const struct api_tls_files *files = session->files;
    gnutls_certificate_request_t request = GNUTLS_CERT_IGNORE;
    if (files->asks)
        request = files->optional ? GNUTLS_CERT_REQUEST : GNUTLS_CERT_REQUIRE;
    if (gnutls_init(&session->session,
                    GNUTLS_SERVER | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL | GNUTLS_NO_TICKETS) < 0)
        return FENCE_ENOMEM;
    if (gnutls_priority_set(session->session, files->priorities) < 0 ||
        gnutls_credentials_set(session->session, GNUTLS_CRD_CERTIFICATE, files->credentials) < 0)
        return FENCE_ENOMEM;
    gnutls_session_set_ptr(session->session, session);
    gnutls_certificate_server_set_request(session->session, request);
    if (files->asks)
        gnutls_session_set_verify_function(session->session, verify_client);
    gnutls_transport_set_ptr(session->session, session);
    gnutls_transport_set_pull_function(session->session, pull);
    gnutls_transport_set_push_function(session->session, push);
    gnutls_handshake_set_timeout(session->session, 0); /* the connection has one */
    gnutls_handshake_set_max_packet_length(session->session, HANDSHAKE_MAX);
    return 0;
}

/* GnuTLS sends each message of a handshake by itself. Nagle's algorithm (RFC 896) would hold the
 * second one back until the client acknowledges the first, which takes it 40 ms on Linux. A socket
 * of the file system has no such option. */
static void send_at_once(int fd)
{
    const int on = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

int api_tls_session_new(struct api_tls *tls, int fd, struct api_tls_session **ret_session)
{
    struct api_tls_session *session = calloc(1, sizeof(*session));
    if (session == NULL)
        return FENCE_ENOMEM;
    assert(tls != NULL && fd >= 0);
    session->tls = tls;
    session->fd = fd;
    session->files = api_tls_files_take(tls);
    send_at_once(fd);
    const int result = set_up_session(session);
    if (result != 0) {
        api_tls_session_free(session);
        return result;
    }
    *ret_session = session;
    return 0;
}

void api_tls_session_free(struct api_tls_session *session)
{
    if (session == NULL)
        return;
    if (session->session != NULL)
        gnutls_deinit(session->session);
    api_tls_files_give_back(session->tls, session->files);
    free(session);
}

bool api_tls_session_greet(struct api_tls_session *session)
{
    session->short_of = false;
    return session->state != API_TLS_BEGINS || run_handshake(session) >= 0 || errno != EAGAIN;
}

/* ---- reading and writing --------------------------------------------------------------------- */

ssize_t api_tls_session_read(struct api_tls_session *session, void *buffer, size_t size)
{
    ssize_t got = 0;
    session->short_of = false;
    if (session->state == API_TLS_BEGINS && run_handshake(session) < 0)
        return -1;
    if (session->state != API_TLS_STANDS) {
        errno = EPROTO;
        return -1;
    }
    for (int i = 0; i < WARNINGS_MAX && (i == 0 || is_warning((int)got)); i++)
        got = gnutls_record_recv(session->session, buffer, size);
    if (got >= 0)
        return got;
    if (got == GNUTLS_E_AGAIN) {
        errno = EAGAIN;
        return -1;
    }
    if (got == GNUTLS_E_PREMATURE_TERMINATION)
        return 0; /* disconnected without a goodbye: an incomplete request is not carried out */
    return fail_with(session, (int)got);
}

bool api_tls_session_is_drained(const struct api_tls_session *session)
{
    return session->short_of && session->begin == session->end &&
           gnutls_record_check_pending(session->session) == 0;
}

static ssize_t sent_of(struct api_tls_session *session, ssize_t sent, size_t size)
{
    if (sent >= 0)
        return sent;
    if (sent == GNUTLS_E_AGAIN || sent == GNUTLS_E_INTERRUPTED) {
        assert(session->stuck == 0 || session->stuck == size);
        session->stuck = size;
        errno = EAGAIN;
        return -1;
    }
    errno = EPIPE;
    return -1;
}

bool api_tls_session_flush(struct api_tls_session *session)
{
    if (session->stuck == 0)
        return true;
    const ssize_t sent = gnutls_record_send(session->session, NULL, 0);
    if (sent_of(session, sent, session->stuck) < 0)
        return false;
    session->stuck = 0;
    return true;
}

ssize_t api_tls_session_write(struct api_tls_session *session, const void *bytes, size_t size)
{
    if (session->state != API_TLS_STANDS || session->ended) {
        errno = EPIPE;
        return -1;
    }
    if (session->stuck > 0) { /* GnuTLS has the first of these bytes */
        const size_t taken = session->stuck;
        return api_tls_session_flush(session) ? (ssize_t)taken : -1;
    }
    const size_t most = gnutls_record_get_max_size(session->session);
    const size_t piece = size < most ? size : most;
    return sent_of(session, gnutls_record_send(session->session, bytes, piece), piece);
}

void api_tls_session_end(struct api_tls_session *session)
{
    if (session->ended || session->state != API_TLS_STANDS)
        return;
    if (api_tls_session_flush(session))
        (void)gnutls_bye(session->session, GNUTLS_SHUT_WR);
    session->ended = true;
}

enum api_tls_state api_tls_session_state(const struct api_tls_session *session)
{
    return session->state;
}

const char *api_tls_session_why(const struct api_tls_session *session)
{
    return session->why;
}

const char *api_tls_session_subject(const struct api_tls_session *session)
{
    return session->subject;
}
