/* A server of one thread that lends the module for Redis its functions
 * (storage/redis/module/api.h): a few keys, a clock that stands until it is moved, and no network.
 * Each string has exactly the bytes that it needs, so that a sanitizer meets a read behind its end.
 */
#ifndef TESTS_FUZZ_REDIS_HOST_H
#define TESTS_FUZZ_REDIS_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    REDIS_HOST_ARGS_MAX = 96,
};

/* Bytes of an argument. */
struct redis_host_text {
    const char *at;
    size_t len;
};

/* Begins with no key, and loads the module. redis_host_end() unloads it, and frees all. */
void redis_host_begin(void);
void redis_host_end(void);

/* Runs a command of the module. Aborts if the module does not answer it exactly once. */
void redis_host_run(const struct redis_host_text args[], unsigned count);

/* Keys as another client writes them. @value NULL: the key, or the field, is removed. */
void redis_host_set(const char *name, const char *value, size_t len);
void redis_host_set_field(const char *field, const char *value, size_t len);

void redis_host_flush(void);
void redis_host_pass(uint64_t ms);
void redis_host_tick(void); /* the cron */
void redis_host_fill(bool full);

/* How often the last command wrote; and whether it answered an error. */
unsigned redis_host_writes(void);
bool redis_host_refused(void);

#endif
