/* Certificates made with openssl, in the folder of the fleet of the case that runs. */
#ifndef TESTS_SYSTEM_CERTIFICATES_H
#define TESTS_SYSTEM_CERTIFICATES_H

/* <authority>.pem unless it is there, and <name>.pem that it signed, each with the key beside it as
 * <name>.key. The certificate is for @name, and for 127.0.0.1 where @name is "loopback". */
void certify(const char *authority, const char *name);

/* Runs a line of shell, which has to succeed. @format is printf's. */
void shell(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
