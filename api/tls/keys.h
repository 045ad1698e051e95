/* The certificate, the key and the CA for clients, as read from files. They can be read again:
 * established connections keep the old ones, and later connections use the new ones. */
#ifndef API_TLS_KEYS_H
#define API_TLS_KEYS_H

#include "api/tls/bounds.h"
#include "fence/protocol/error.h"

#include <stdbool.h>

/* TLS 1.2 and 1.3, with key exchanges that forward secrecy has and ciphers that authenticate
 * (RFC 9325, section 4.2). */
#define API_TLS_PRIORITIES                                                                         \
    "NONE:+VERS-TLS1.3:+VERS-TLS1.2:+ECDHE-ECDSA:+ECDHE-RSA:+AES-256-GCM:+CHACHA20-POLY1305:"      \
    "+AES-128-GCM:+AEAD:+SHA256:+SHA384:+GROUP-X25519:+GROUP-SECP256R1:+GROUP-SECP384R1:"          \
    "+SIGN-ALL:+COMP-NULL:%SERVER_PRECEDENCE:%PROFILE_MEDIUM"

struct api_tls_config {
    const char *cert;       /* PEM file: the certificate, then the intermediate certificates */
    const char *key;        /* file, PEM, not encrypted */
    const char *client_ca;  /* PEM file: the CA for clients' certificates; NULL: no certificate is
                             * requested */
    bool client_optional;   /* a client need not present a certificate; an invalid one is always
                             * refused */
    const char *priorities; /* for GnuTLS; NULL: API_TLS_PRIORITIES */
    /* Gets a sentence about each risk in the files. May be NULL. */
    void (*warn)(const char *sentence);
};

struct api_tls;

/* Reads the files; @config is copied. FENCE_EINVAL: a file cannot be used, or a setting is wrong;
 * @ret_why is a sentence about it. FENCE_ENOMEM. */
FENCE_CHECKED int api_tls_new(const struct api_tls_config *config, struct api_tls **ret_tls,
                              char ret_why[static API_TLS_WHY_MAX]);

/* Reads the files again, for later connections. On an error of api_tls_new() the old files stay in
 * use. Any thread. */
FENCE_CHECKED int api_tls_reload(struct api_tls *tls, char ret_why[static API_TLS_WHY_MAX]);

/* No session of it may be left. NULL is fine. */
void api_tls_free(struct api_tls *tls);

#endif
