/* What can be seen of the servers from outside: their memory, and how often scripts are called. */
#ifndef SCRIPTS_BENCH_D_PROGRAMS_OUTSIDE_H
#define SCRIPTS_BENCH_D_PROGRAMS_OUTSIDE_H

#include <stdint.h>
#include <sys/types.h>

/* Connects to 127.0.0.1:@port, without delays for small packets. Ends the program, saying why, if
 * it cannot. */
int outside_connect(uint16_t port);

/* Bytes of the process's memory that are in use (RSS), without what the kernel keeps for it. */
uint64_t outside_memory(pid_t pid);

/* How many script calls (EVALSHA) the Redis server at 127.0.0.1:@port has been sent. */
uint64_t outside_script_calls(uint16_t port);

#endif
