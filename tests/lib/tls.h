/* TLS for tests: certificates made with openssl, and the client's side of a connection.
 *
 * With PAWL_TEST_TLS in the environment a test of plain HTTP runs over TLS, unchanged: the services
 * that tests/lib/pawl.h starts speak it, and so do the connections of tests/lib/http.h. */
#ifndef TESTS_LIB_TLS_H
#define TESTS_LIB_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Options of openssl req -x509 for an authority, and for what it signs. Without them each
 * certificate may sign others. */
#define TLS_AUTHORITY                                                                              \
    "-addext basicConstraints=critical,CA:TRUE,pathlen:0 "                                         \
    "-addext keyUsage=critical,keyCertSign,cRLSign"
#define TLS_LEAF                                                                                   \
    "-addext basicConstraints=critical,CA:FALSE -addext keyUsage=critical,digitalSignature"
#define TLS_SERVICE TLS_LEAF " -addext extendedKeyUsage=serverAuth"
#define TLS_CLIENT  TLS_LEAF " -addext extendedKeyUsage=clientAuth"

/* Files in PEM; NULL: none. */
struct tls_side {
    const char *ca;         /* the CA to trust; NULL: any */
    const char *cert, *key; /* its certificate */
    const char *priorities; /* priorities of GnuTLS; NULL: NORMAL */
};

struct tls_client;

/* True if PAWL_TEST_TLS is set. */
bool tls_everywhere(void);

/* Then: the certificate of the services, which is for 127.0.0.1, and its authority. Made once in a
 * process. */
const struct tls_side *tls_service(void);

/* Shakes hands on @fd, a blocking socket that stays the caller's. NULL: it failed. */
struct tls_client *tls_client_new(int fd, const struct tls_side *side);
void tls_client_free(struct tls_client *client);

/* send(2) and recv(2). A goodbye of the peer is the end; an end without one is -1 with
 * ECONNRESET. */
ssize_t tls_client_send(struct tls_client *client, const void *bytes, size_t len);
ssize_t tls_client_receive(struct tls_client *client, void *buffer, size_t size);

/* The common name in the peer's certificate. */
void tls_client_peer(const struct tls_client *client, char *ret_name, size_t cap);

#endif
