/* The CPU time of a process: /proc/PID. */
#ifndef TESTS_SYSTEM_USAGE_H
#define TESTS_SYSTEM_USAGE_H

struct process;

/* Milliseconds of a processor so far. */
long usage_cpu_ms(const struct process *process);

/* The kilobytes that proc(5) has under @field ("VmRSS:") of the status. */
long usage_memory_kb(const struct process *process, const char *field);

#endif
