/* The first message of a TLS client, recorded: it costs its sender nothing more than to send it. */
#ifndef SCRIPTS_BENCH_D_PROGRAMS_HELLO_H
#define SCRIPTS_BENCH_D_PROGRAMS_HELLO_H

#include <stddef.h>

/* Writes a hello of TLS 1.3 into @bytes, which has room for @size. Returns its length. Ends the
 * program, saying why, if it cannot. Any thread, one at a time. */
size_t hello_write(char *bytes, size_t size);

#endif
