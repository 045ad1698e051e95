/* A pawld that speaks TLS, and certificates of two authorities, for the cases of system.https. */
#ifndef TESTS_SYSTEM_HTTPS_HTTPS_H
#define TESTS_SYSTEM_HTTPS_HTTPS_H

#include "tests/lib/http.h"

#include <stdint.h>

enum {
    HTTPS_PATH_BYTES = 256,
};

extern struct https {
    char *certs;  /* folder of the certificates, of all cases */
    char *folder; /* folder of the case; the paths of files are in it, but for @ca */
    char data[HTTPS_PATH_BYTES], log[HTTPS_PATH_BYTES];
    char cert[HTTPS_PATH_BYTES], key[HTTPS_PATH_BYTES];
    char ca[HTTPS_PATH_BYTES]; /* the authority of "first", "second" and "app" */
    uint16_t port;
    struct process *pawld;
} https;

/* Of all cases: "first" and "second" are for servers, "app" and "plain" for clients. Of clients,
 * "stranger" is of another authority, "server-only" has another purpose, and "expired" and "early"
 * are of another time. Of servers, "old-service" and "early-service" are of another time. */
int https_make_certificates(void **state);
int https_remove_certificates(void **state);

/* For each case. https_setup() installs "first"; https_setup_served() starts pawld with it, too.
 * pawld has to end cleanly. */
int https_setup(void **state);
int https_setup_served(void **state);
int https_teardown(void **state);

/* Runs a line of shell in @folder, which has to succeed. */
void https_shell(const char *folder, const char *command);

/* Makes the certificate <name>.pem with its key, signed by @authority, for @cn. @more: options of
 * openssl req -x509, such as TLS_CLIENT; without TLS_LEAF it may sign others. */
void https_certify(const char *name, const char *authority, const char *cn, const char *more);

/* The certificate that the service shows from its next reading on: the certificate @cert with the
 * key of @key. */
void https_install(const char *cert, const char *key);

/* Starts pawld with @options (NULL: none more), and waits until it votes. */
void https_serve(const char *const options[]);

/* Stops pawld, which has to end cleanly. */
void https_stop(void);

/* Expects pawld not to start, and to say @words. */
void https_expect_no_start(const char *const options[], int status, const char *words);

/* Connects with the certificate of @name (NULL: none). NULL: the handshake failed. */
struct http *https_connect(const char *name, const char *priorities);

/* The status of the answer to GET /livez; 0: there is none. Closes. */
int https_ask(struct http *http);

#define HTTPS_CASE(name)   cmocka_unit_test_setup_teardown(name, https_setup, https_teardown)
#define HTTPS_SERVED(name) cmocka_unit_test_setup_teardown(name, https_setup_served, https_teardown)

#endif
