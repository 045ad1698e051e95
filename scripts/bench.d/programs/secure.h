/* A client's TLS for load: one session a connection, nothing verified. As cheap as it can be, since
 * a generator shares two cores with what it loads. */
#ifndef SCRIPTS_BENCH_D_PROGRAMS_SECURE_H
#define SCRIPTS_BENCH_D_PROGRAMS_SECURE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct secure;

/* Shakes hands on @fd, a blocking socket that stays the caller's. Ends the program where that
 * fails. */
struct secure *secure_new(int fd);
void secure_free(struct secure *secure);

/* Sends all of it: false, if it cannot. */
bool secure_send(struct secure *secure, const char *bytes, size_t len);

/* recv(2) with MSG_DONTWAIT. */
ssize_t secure_receive(struct secure *secure, char *buffer, size_t size);

/* Whether bytes have come that secure_receive() gave out to nobody yet. */
bool secure_has_more(const struct secure *secure);

#endif
