/* The functions of Redis' module API that the module calls (redis.io, "Modules API reference"),
 * under names of our own. A server lends each of them by its name when it loads the module. All but
 * the last are of Redis 7.0 or earlier. They belong to the thread that runs commands. */
#ifndef STORAGE_REDIS_MODULE_API_H
#define STORAGE_REDIS_MODULE_API_H

#include "fence/base/checked.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct redis_ctx;
struct redis_string;
struct redis_key;
struct redis_reply;
struct redis_command;

enum {
    REDIS_OK = 0,
    REDIS_ERR = 1,
    REDIS_API_VERSION = 1,
};

/* Modes of a key. */
enum {
    REDIS_READ = 1 << 0,
    REDIS_WRITE = 1 << 1,
};

/* Types of a key. */
enum {
    REDIS_KEY_EMPTY = 0,
    REDIS_KEY_STRING = 1,
    REDIS_KEY_HASH = 3,
};

/* Types of a reply. */
enum {
    REDIS_REPLY_IS_STRING = 0,
    REDIS_REPLY_IS_ARRAY = 3,
};

/* How fields of a hash are named. */
enum {
    REDIS_HASH_STRINGS = 0,
    REDIS_HASH_TEXTS = 1 << 2, /* terminated */
};

/* Events of a server: what it tells, and the version of what it hands over. */
enum {
    REDIS_EVENT_ROLE_CHANGED = 0,
    REDIS_EVENT_FLUSH = 2,
    REDIS_EVENT_LOADING = 3,
    REDIS_EVENT_CRON = 8,
    REDIS_EVENT_SWAP = 11,
    REDIS_EVENT_FORK_CHILD = 13,
    REDIS_EVENT_CONFIG = 16,
    REDIS_EVENT_VERSION = 1,
};

/* Events of keys. */
enum {
    REDIS_KEY_GENERIC = 1 << 2,
    REDIS_KEY_STRING_WRITTEN = 1 << 3,
    REDIS_KEY_EXPIRED = 1 << 8,
    REDIS_KEY_EVICTED = 1 << 9,
};

/* The flags of a server's state that the module looks at. */
enum {
    REDIS_STATE_MASTER = 1 << 2,
    REDIS_STATE_FULL = 1 << 10, /* it uses more memory than its limit */
};

#define REDIS_NO_EXPIRY (-1LL)

/* In place of the value of a field: the field is removed. */
#define REDIS_FIELD_REMOVED ((struct redis_string *)1L)

typedef int redis_command_fn(struct redis_ctx *ctx, struct redis_string **argv, int argc);

/* It goes by value, as a server has it. */
struct redis_event {
    uint64_t id;
    uint64_t version;
};

typedef void redis_event_fn(struct redis_ctx *ctx, struct redis_event event, uint64_t what,
                            void *data);
typedef int redis_key_event_fn(struct redis_ctx *ctx, int type, const char *event,
                               struct redis_string *key);

struct redis_api {
    void (*set_module)(struct redis_ctx *ctx, const char *name, int version, int api_version);
    int (*create_command)(struct redis_ctx *ctx, const char *name, redis_command_fn *command,
                          const char *flags, int first_key, int last_key, int key_step);
    int (*wrong_arity)(struct redis_ctx *ctx);
    int (*state)(struct redis_ctx *ctx);
    long long (*wall_ms)(void);
    uint64_t (*now_us)(void);
    int (*database)(struct redis_ctx *ctx);

    struct redis_string *(*string_new)(struct redis_ctx *ctx, const char *bytes, size_t len);
    void (*string_free)(struct redis_ctx *ctx, struct redis_string *string);
    const char *(*string_bytes)(const struct redis_string *string, size_t *ret_len);

    struct redis_key *(*key_open)(struct redis_ctx *ctx, struct redis_string *name, int mode);
    void (*key_close)(struct redis_key *key);
    int (*key_type)(struct redis_key *key);
    size_t (*key_len)(struct redis_key *key);
    int (*key_delete)(struct redis_key *key);
    char *(*key_bytes)(struct redis_key *key, size_t *ret_len, int mode);
    int (*key_resize)(struct redis_key *key, size_t len);
    int (*key_set)(struct redis_key *key, struct redis_string *value);
    long long (*key_expiry)(struct redis_key *key);
    int (*key_set_expiry)(struct redis_key *key, long long expires_ms);
    int (*hash_get)(struct redis_key *key, int flags, ...);
    int (*hash_set)(struct redis_key *key, int flags, ...);

    struct redis_reply *(*call)(struct redis_ctx *ctx, const char *command, const char *format,
                                ...);
    int (*reply_type)(struct redis_reply *reply);
    const char *(*reply_bytes)(struct redis_reply *reply, size_t *ret_len);
    size_t (*reply_len)(struct redis_reply *reply);
    struct redis_reply *(*reply_element)(struct redis_reply *reply, size_t i);
    void (*reply_free)(struct redis_reply *reply);

    int (*replicate)(struct redis_ctx *ctx, const char *command, const char *format, ...);
    int (*publish)(struct redis_ctx *ctx, struct redis_string *channel,
                   struct redis_string *message);

    int (*on_event)(struct redis_ctx *ctx, struct redis_event event, redis_event_fn *heard);
    int (*on_key_event)(struct redis_ctx *ctx, int types, redis_key_event_fn *heard);

    int (*answer_integer)(struct redis_ctx *ctx, long long integer);
    int (*answer_array)(struct redis_ctx *ctx, long len);
    int (*answer_bytes)(struct redis_ctx *ctx, const char *bytes, size_t len);
    int (*answer_error)(struct redis_ctx *ctx, const char *text);

    /* From Redis 7.2; NULL in earlier ones, where ACL categories leave out commands of modules. */
    struct redis_command *(*command_of)(struct redis_ctx *ctx, const char *name);
    int (*set_categories)(struct redis_command *command, const char *categories);
};

extern struct redis_api redis;

/* Counts the command @name to these categories, where the server can. False: it refused. */
FENCE_CHECKED bool storage_module_categorize(struct redis_ctx *ctx, const char *name,
                                             const char *categories);

/* Looks up all functions. False: the server lacks one, and is too old. */
FENCE_CHECKED bool storage_module_api_init(struct redis_ctx *ctx);

#endif
