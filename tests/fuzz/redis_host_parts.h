/* The parts of the server that lends the module its functions: its state, and the functions of its
 * files. Private to redis_host*.c. */
#ifndef TESTS_FUZZ_REDIS_HOST_PARTS_H
#define TESTS_FUZZ_REDIS_HOST_PARTS_H

#include "storage/redis/module/api.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ENTRIES_MAX = 2048,
    COMMANDS_MAX = 8,
    HEARD_MAX = 16,
    NEST_MAX = 8,
};

struct redis_ctx {
    int (*look_up)(const char *name, void *ret_function);
};

struct redis_string {
    size_t len;
    char *bytes;
};

struct host_entry {
    struct redis_string *name; /* NULL: free */
    struct redis_string *value;
    long long expires_ms;
};

/* The input is too short to fill it. */
struct host_table {
    struct host_entry entries[ENTRIES_MAX];
    unsigned used; /* the first of these; the rest are free */
};

struct host {
    struct host_table keys;
    struct host_table fields; /* of the fleet hash, which is there while it has one */
    struct {
        const char *name;
        redis_command_fn *run;
    } commands[COMMANDS_MAX];
    unsigned commands_count;
    struct {
        struct redis_event event;
        redis_event_fn *heard;
    } events[HEARD_MAX];
    unsigned events_count;
    redis_key_event_fn *changed[HEARD_MAX];
    unsigned changed_count;
    uint64_t now_us;
    bool full;
    unsigned open;   /* keys */
    unsigned writes; /* of this command */
    bool refused;
    long owed[NEST_MAX]; /* elements that the answer still needs, of each array in the one before */
    unsigned depth;
    unsigned answers; /* on the top */
};

extern struct host host;

/* redis_host_store.c: strings, and tables of them. */
struct redis_string *host_string_new(struct redis_ctx *ctx, const char *bytes, size_t len);
void host_string_free(struct redis_ctx *ctx, struct redis_string *string);
const char *host_string_bytes(const struct redis_string *string, size_t *ret_len);
struct host_entry *host_find(struct host_table *table, const char *name, size_t len);
void host_drop(struct host_entry *entry);
struct host_entry *host_put(struct host_table *table, const char *name, size_t len,
                            const char *value, size_t value_len);
void host_empty(struct host_table *table);
long long host_wall_ms(void);
void host_tell_changed(struct redis_string *name, int type, const char *event);
struct host_entry *host_live(const char *name, size_t len);

/* redis_host_keys.c: keys that are opened, and the fleet hash. */
struct redis_key *host_key_open(struct redis_ctx *ctx, struct redis_string *name, int mode);
void host_key_close(struct redis_key *key);
int host_key_type(struct redis_key *key);
size_t host_key_len(struct redis_key *key);
int host_key_delete(struct redis_key *key);
char *host_key_bytes(struct redis_key *key, size_t *ret_len, int mode);
int host_key_set(struct redis_key *key, struct redis_string *value);
int host_key_resize(struct redis_key *key, size_t len);
long long host_key_expiry(struct redis_key *key);
int host_key_set_expiry(struct redis_key *key, long long expires_ms);
int host_hash_get(struct redis_key *key, int flags, ...);
int host_hash_set(struct redis_key *key, int flags, ...);

/* redis_host_answers.c: the bytes that go out. */
int host_replicate(struct redis_ctx *ctx, const char *command, const char *format, ...);
int host_publish(struct redis_ctx *ctx, struct redis_string *channel, struct redis_string *message);
int host_answer_integer(struct redis_ctx *ctx, long long integer);
int host_answer_array(struct redis_ctx *ctx, long len);
int host_answer_bytes(struct redis_ctx *ctx, const char *bytes, size_t len);
int host_answer_error(struct redis_ctx *ctx, const char *text);
int host_wrong_arity(struct redis_ctx *ctx);

#endif
