/* Connections to the servers, and what can be seen of them from outside: their memory, and how
 * often scripts are called. */
#ifndef SCRIPTS_BENCH_D_PROGRAMS_OUTSIDE_H
#define SCRIPTS_BENCH_D_PROGRAMS_OUTSIDE_H

#include "tests/lib/answer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Lets the process have @wanted descriptors. Ends the program, saying why, if it may not. */
void outside_raise_descriptors(unsigned wanted);

/* Connects to 127.0.0.1:@port, without delays for small packets. Ends the program, saying why, if
 * it cannot. */
int outside_connect(uint16_t port);

/* Reads one answer from @fd into @input, which has room for @size bytes; the strings of
 * *@ret_answer are there. False: the connection ended, or no answer of that size came. */
bool outside_receive(int fd, char *input, size_t size, struct answer *ret_answer);

/* Bytes of the process's memory that are in use (RSS), without what the kernel keeps for it. */
uint64_t outside_memory(pid_t pid);

/* How many script calls (EVALSHA) the Redis server at 127.0.0.1:@port has been sent. */
uint64_t outside_script_calls(uint16_t port);

#endif
